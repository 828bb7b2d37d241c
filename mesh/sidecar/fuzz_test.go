package sidecar

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/mesh"
)

// stand is an application that notes where it was asked.
type stand struct{ asked []*http.Request }

func (s *stand) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "" {
		return nil, errors.New("no Host in request URL") // as net/http has it; kubelet fails such a path in the same way
	}
	s.asked = append(s.asked, r)
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusTeapot)
	_, _ = io.WriteString(w, "mine")
	return w.Result(), nil
}

// FuzzRequest sends any request to the probes' port, for a probe with any path:
// nothing may panic, every answer says whose it is, and whatever the request says,
// nobody but the pod is asked, at the port of the probe.
func FuzzRequest(f *testing.F) {
	f.Add([]byte("GET /osm-liveness-probe/app HTTP/1.1\r\nHost: a\r\nX-A: b\r\n\r\n"), "/live", "HTTP", "a.example")
	f.Add([]byte("GET /osm-liveness-probe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), "http://other.example/x?y#z", "HTTPS", "")
	f.Add([]byte("GET http://other.example/osm-liveness-probe/app HTTP/1.1\r\n\r\n"), "mailto:x", "", "\n")
	f.Add([]byte("CONNECT other.example:443 HTTP/1.1\r\n\r\n"), "//user:secret@other.example/", "http", "")
	f.Fuzz(func(t *testing.T, data []byte, path, scheme, host string) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			t.Skip()
		}
		route := mesh.Route{Container: "app", Kind: fact.Liveness, Probe: *get(path, 14001, v1.URIScheme(scheme))}
		route.Probe.HTTPGet.HTTPHeaders = []v1.HTTPHeader{{Name: "Host", Value: host}}
		p := newProbes(fact.Liveness, mesh.SidecarConfig{Form: mesh.Default, Routes: []mesh.Route{route}}, nil, slog.New(slog.DiscardHandler))
		application := &stand{}
		p.client.Transport = application
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 15901}))
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r.WithContext(ctx))
		by := w.Header().Get(mesh.AnsweredBy)
		if by != mesh.Sidecar && by != mesh.Application {
			t.Fatalf("%d is answered by %q", w.Code, by)
		}
		if (by == mesh.Application) != (w.Code == http.StatusTeapot && w.Body.String() == "mine") {
			t.Fatalf("%d %q is said to be of the %s", w.Code, w.Body, by)
		}
		for _, asked := range application.asked {
			if asked.URL.Host != "192.0.2.7:14001" || asked.Method != http.MethodGet {
				t.Fatalf("it asked %s %s", asked.Method, asked.URL)
			}
		}
	})
}
