// Command sidecar is the program of the image sidecar: it stands in for the proxies of
// other meshes, as far as a node's probes meet them, and for the application beside one.
//
//	sidecar istio    15021 /healthz/ready, 15020 /app-health/… by $ISTIO_KUBE_APP_PROBERS;
//	                 15006 takes TLS only, as mutual TLS does
//	sidecar linkerd  4191 /ready and /live, 4143 to $APP, HOST:PORT
//	sidecar app HOST:PORT STATUS
//
// Each says that it is not ready with $READY=503, and the first two end after $ENDS.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	// The first process of a container gets no signal that it does not ask for.
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-ends
		os.Exit(0)
	}()
	if after, err := time.ParseDuration(os.Getenv("ENDS")); err == nil {
		time.AfterFunc(after, func() { os.Exit(3) })
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sidecar:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "istio":
		return istio()
	case len(args) == 1 && args[0] == "linkerd":
		return linkerd()
	case len(args) == 3 && args[0] == "app":
		code, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return serve(args[1], says(code, "orders are not loaded\n"))
	}
	return errors.New("usage: sidecar istio | linkerd | app HOST:PORT STATUS")
}

// says answers everything alike.
func says(code int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body)) // who has gone does not read it
	})
}

// ready is the proxy's own readiness.
func ready() http.Handler {
	code, err := strconv.Atoi(os.Getenv("READY"))
	if err != nil {
		code = http.StatusOK
	}
	return says(code, http.StatusText(code)+"\n")
}

func serve(address string, h http.Handler) error {
	return (&http.Server{Addr: address, Handler: h, ReadHeaderTimeout: time.Minute}).ListenAndServe()
}

// istio is Istio's agent beside its proxy (istio, pilot/cmd/pilot-agent/status).
func istio() error {
	var probers map[string]struct {
		HTTPGet *struct {
			Path   string `json:"path"`
			Port   int    `json:"port"`
			Scheme string `json:"scheme"`
		} `json:"httpGet"`
		TimeoutSeconds int `json:"timeoutSeconds"`
	}
	if text := os.Getenv("ISTIO_KUBE_APP_PROBERS"); text != "" {
		if err := json.Unmarshal([]byte(text), &probers); err != nil {
			return err
		}
	}
	failed := make(chan error)
	go func() { failed <- serve(":15021", ready()) }()
	go func() {
		failed <- serve(":15020", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, ok := probers[r.URL.Path]
			if !ok || p.HTTPGet == nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			client := http.Client{Timeout: time.Duration(max(p.TimeoutSeconds, 1)) * time.Second}
			answer, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d%s", p.HTTPGet.Port, p.HTTPGet.Path))
			if err != nil {
				fmt.Fprintln(os.Stderr, "Request to probe app failed:", err)
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			defer answer.Body.Close()
			w.WriteHeader(answer.StatusCode) // status and body alone are handed on
			_, _ = io.Copy(w, io.LimitReader(answer.Body, 10<<10))
		}))
	}()
	go func() { failed <- strict(":15006") }()
	return <-failed
}

// strict ends every connection that does not begin as one with TLS does.
func strict(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			first := make([]byte, 1)
			if _, err := conn.Read(first); err != nil || first[0] != 0x16 {
				if tcp, ok := conn.(*net.TCPConn); ok {
					_ = tcp.SetLinger(0) // a reset, as Envoy's
				}
			}
		}()
	}
}

// linkerd is Linkerd's proxy: what it cannot hand on it answers itself, and says so.
func linkerd() error {
	failed := make(chan error)
	go func() { failed <- serve(":4191", ready()) }()
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: os.Getenv("APP")})
	to.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, err error) {
		w.Header().Set("l5d-proxy-connection", "close")
		w.Header().Set("l5d-proxy-error", cmp.Or(reason(err), err.Error()))
		w.WriteHeader(http.StatusBadGateway)
	}
	go func() { failed <- serve(":4143", to) }()
	return <-failed
}

// reason is an error in the proxy's words.
func reason(err error) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "logical service: endpoint: connect error: Connection refused (os error 111)"
	}
	return ""
}
