package probe

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
)

// userAgent names the Kubernetes release whose behaviour this package has, as
// servers that treat probes specially expect it.
const userAgent = "kube-probe/1.37"

// maxWire bounds the request that the fast way sends in one write.
const maxWire = 16 << 10

// get is an httpGet probe's request.
type get struct {
	url    string
	header http.Header
	// http2 says that HTTP/2 is spoken from the first byte, without TLS.
	http2 bool
	// wire has the request's bytes, nil where only net/http can send it.
	wire []byte
}

// Patience is the header by which a patient request tells Whylet's mesh sidecar
// how long it is waited for (as Go writes durations). Without it the sidecar gives
// the application the probe's own timeout.
const Patience = "X-Whylet-Patience"

// sidecarPaths is how the paths of rewritten probes begin.
const sidecarPaths = "/osm-"

// patient adds that header to a probe that goes to the sidecar.
func patient(spec *v1.Probe, patience time.Duration) *v1.Probe {
	if spec == nil || spec.HTTPGet == nil || !strings.HasPrefix(spec.HTTPGet.Path, sidecarPaths) {
		return spec
	}
	spec = spec.DeepCopy()
	spec.HTTPGet.HTTPHeaders = append(spec.HTTPGet.HTTPHeaders, v1.HTTPHeader{Name: Patience, Value: patience.String()})
	return spec
}

// newGet builds the request by kubelet's rules (pkg/probe/http/request.go): a
// User-Agent and an Accept header unless the probe has its own, an empty Accept
// meaning none.
func newGet(h *v1.HTTPGetAction, address string) (*get, error) {
	scheme := strings.ToLower(string(h.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	u, err := url.Parse(h.Path)
	if err != nil {
		u = &url.URL{Path: h.Path} // sent as it is written, as kubelet does
	}
	u.Scheme, u.Host = scheme, address
	g := &get{url: u.String(), header: http.Header{}, http2: h.Protocol != nil && *h.Protocol == v1.HTTPProtocolHTTP2}
	for _, one := range h.HTTPHeaders {
		g.header.Add(one.Name, one.Value)
	}
	if _, ok := g.header["User-Agent"]; !ok {
		g.header.Set("User-Agent", userAgent)
	}
	if _, ok := g.header["Accept"]; !ok {
		g.header.Set("Accept", "*/*")
	} else if g.header.Get("Accept") == "" {
		g.header.Del("Accept")
	}
	req, err := g.request(context.Background())
	if err != nil {
		return nil, err
	}
	if scheme == "http" && req.URL.User == nil && !g.http2 {
		g.wire = record(req)
	}
	return g, nil
}

func (g *get) request(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header = g.header.Clone()
	req.Host = g.header.Get("Host")
	return req, nil
}

// record has net/http send the request to nobody, and returns the bytes it
// wrote, or nil when it refused to. So the fast way's requests are net/http's to
// the last byte.
func record(req *http.Request) []byte {
	r := &recorder{sent: make(chan struct{})}
	transport := &http.Transport{
		DisableKeepAlives:  true,
		DisableCompression: true,
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return r, nil },
	}
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(r.sent) }}
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err == nil { // never: the recorder has no answer
		_ = res.Body.Close()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wrote) > maxWire {
		return nil
	}
	return r.wrote
}

// recorder is a connection that takes a request and then ends.
type recorder struct {
	deadConn
	mu    sync.Mutex
	wrote []byte
	sent  chan struct{} // closed when the request is written
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrote = append(r.wrote, b...)
	return len(b), nil
}

func (r *recorder) Read([]byte) (int, error) {
	<-r.sent
	return 0, io.EOF
}
