package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"whylet.dev/whylet/web/timeline"
)

// Ask makes the document anew, as things are now.
type Ask func(context.Context) (timeline.Document, error)

// Serve serves the page on a free port of 127.0.0.1 until ctx ends, and calls ready with
// its address once it can be opened. The address has a secret in it: what the page shows
// is what its user may see, and not what everybody on the machine may. The error is that
// of the first question, or of the port.
func Serve(ctx context.Context, ask Ask, ready func(url string)) error {
	first, err := ask(ctx)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serving the page: %w", err)
	}
	secret := rand.Text()
	host := l.Addr().String()
	server := &http.Server{
		Handler:           guarded(host, newFace(ask, first).handler("/"+secret+"/")),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	ready("http://" + host + "/" + secret + "/")
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the page: %w", err)
	}
	return nil
}

// face asks again at most every second, however many look.
type face struct {
	ask Ask

	mu   sync.Mutex
	last timeline.Document
	at   time.Time
}

const askAgain = time.Second

func newFace(ask Ask, first timeline.Document) *face {
	return &face{ask: ask, last: first, at: time.Now()}
}

func (f *face) document(ctx context.Context) (timeline.Document, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.at) < askAgain {
		return f.last, nil
	}
	d, err := f.ask(ctx)
	if err == nil {
		f.last, f.at = d, time.Now()
	}
	return d, err
}

// handler has the page at a path, and its data below.
func (f *face) handler(path string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path+"{$}", func(w http.ResponseWriter, r *http.Request) {
		d, err := f.document(r.Context())
		var page bytes.Buffer
		if err == nil {
			err = write(&page, d, true)
		}
		reply(w, "text/html; charset=utf-8", page.Bytes(), err)
	})
	mux.HandleFunc("GET "+path+"timeline.json", func(w http.ResponseWriter, r *http.Request) {
		d, err := f.document(r.Context())
		var text []byte
		if err == nil {
			text, err = data(d)
		}
		reply(w, "application/json", text, err)
	})
	return mux
}

func reply(w http.ResponseWriter, kind string, body []byte, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(body) // who went away does not want it
}

// guarded answers only who asked for this very host, so that no page of another name
// that was pointed at 127.0.0.1 can read it, and nobody may frame or keep the page.
func guarded(host string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != host {
			http.Error(w, "ask "+host, http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy(true)+"; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
