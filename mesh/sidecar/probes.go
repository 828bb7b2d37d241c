package sidecar

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/probe"
)

// Headers that say how long the application took to answer, and how much the
// sidecar itself added until it passed the answer on, both in milliseconds.
const (
	upstreamTime = "X-Whylet-Upstream-Service-Time"
	ownTime      = "X-Whylet-Sidecar-Service-Time"
)

// setTimes writes them: the request came in, the application was asked, and its
// answer is there now.
func setTimes(h http.Header, cameIn, asked time.Time) {
	ms := func(d time.Duration) string {
		return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', -1, 64)
	}
	h.Set(upstreamTime, ms(time.Since(asked)))
	h.Set(ownTime, ms(asked.Sub(cameIn)))
}

// probes answers the probes of one kind.
type probes struct {
	kind   fact.ProbeKind
	routes []mesh.Route
	client *http.Client
	http2  *http.Client  // for HTTP/2 without TLS
	prober *probe.Prober // for gRPC
	log    *slog.Logger
}

func newProbes(kind fact.ProbeKind, config mesh.SidecarConfig, prober *probe.Prober, log *slog.Logger) *probes {
	p := &probes{kind: kind, prober: prober, log: log}
	for _, r := range config.Routes {
		if r.Kind == kind {
			p.routes = append(p.routes, r)
		}
	}
	p.client = &http.Client{
		Transport: &http.Transport{
			DisableKeepAlives:  true,
			DisableCompression: true,
			// Like kubelet, which does not verify the certificates of those it probes.
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
			ForceAttemptHTTP2: true,
		},
		CheckRedirect: sameHost,
	}
	p.http2 = &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true, Protocols: new(http.Protocols)},
		CheckRedirect: sameHost,
	}
	p.http2.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(true)
	return p
}

// sameHost is kubelet's rule for redirects: followed on the application itself,
// otherwise handed to the node, which warns of them.
func sameHost(req *http.Request, via []*http.Request) error {
	if req.URL.Hostname() != via[0].URL.Hostname() {
		return http.ErrUseLastResponse
	}
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}

// route finds the probe that a path means. Without a container's name it is the
// last one of the pod, as in osm-edge.
func (p *probes) route(path string) (mesh.Route, bool) {
	container, ok := strings.CutPrefix(path, mesh.Path(p.kind))
	if !ok {
		return mesh.Route{}, false
	}
	for i := len(p.routes) - 1; i >= 0; i-- {
		if container == "" || container == "/"+p.routes[i].Container {
			return p.routes[i], true
		}
	}
	return mesh.Route{}, false
}

func (p *probes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cameIn := time.Now()
	route, ok := p.route(r.URL.Path)
	if !ok {
		say(w, http.StatusNotFound, fmt.Sprintf("no %s probe is known at %s", strings.ToLower(string(p.kind)), r.URL.Path))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout(route.Probe, r))
	defer cancel()
	if route.Probe.GRPC != nil {
		p.askGRPC(ctx, w, r, route, cameIn)
		return
	}
	p.askHTTP(ctx, w, r, route, cameIn)
}

// say answers in the sidecar's own name.
func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set(mesh.AnsweredBy, mesh.Sidecar)
	http.Error(w, text, status)
}

// maxPatience bounds how long an application is waited for, whatever a request says.
const maxPatience = time.Minute

// timeout is the probe's own, unless the node says that it has more patience: it
// asks once more after a timeout, to tell late answers from none.
func timeout(p v1.Probe, r *http.Request) time.Duration {
	own := time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
	patience, err := time.ParseDuration(r.Header.Get(probe.Patience))
	if err != nil || patience <= own {
		return own
	}
	return max(own, min(patience, maxPatience))
}

// askHTTP makes the request that the node would have made, and passes on the
// answer.
func (p *probes) askHTTP(ctx context.Context, w http.ResponseWriter, r *http.Request, route mesh.Route, cameIn time.Time) {
	req, err := request(ctx, r, route.Probe.HTTPGet)
	if err != nil {
		say(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	client := p.client
	if protocol := route.Probe.HTTPGet.Protocol; protocol != nil && *protocol == v1.HTTPProtocolHTTP2 {
		client = p.http2
	}
	began := time.Now()
	res, err := client.Do(req)
	if err != nil {
		p.log.Info("the application did not answer a probe", "container", route.Container, "probe", p.kind, "error", err)
		say(w, statusOf(ctx), err.Error())
		return
	}
	defer func() { _ = res.Body.Close() }()
	header := w.Header()
	for name, values := range res.Header {
		if !hopByHop[name] {
			header[name] = values
		}
	}
	header.Set(mesh.AnsweredBy, mesh.Application)
	setTimes(header, cameIn, began)
	w.WriteHeader(res.StatusCode)
	if _, err := io.Copy(w, res.Body); err != nil {
		p.log.Info("the application's answer to a probe broke off", "container", route.Container, "probe", p.kind, "error", err)
		panic(http.ErrAbortHandler) // so that the node sees it break off, too
	}
}

// statusOf is the status for an application that gave no answer.
func statusOf(ctx context.Context) int {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return http.StatusGatewayTimeout
	}
	return http.StatusServiceUnavailable
}

// hopByHop are the headers that are about a connection (RFC 9110, 7.6.1).
var hopByHop = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Authorization": true,
	"Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

func request(ctx context.Context, r *http.Request, get *v1.HTTPGetAction) (*http.Request, error) {
	u, err := url.Parse(get.Path)
	if err != nil {
		u = &url.URL{Path: get.Path} // as kubelet does
	}
	u.Scheme = strings.ToLower(string(get.Scheme))
	if u.Scheme == "" {
		u.Scheme = "http"
	}
	u.Host = net.JoinHostPort(ownAddress(r), get.Port.String())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	for name, values := range r.Header {
		if !hopByHop[name] && name != probe.Patience {
			req.Header[name] = values
		}
	}
	for _, h := range get.HTTPHeaders {
		if strings.EqualFold(h.Name, "Host") {
			req.Host = h.Value
		}
	}
	return req, nil
}

// ownAddress is the address at which the pod was reached: applications may
// listen on the pod's address and not on loopback.
func ownAddress(r *http.Request) string {
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return a.IP.String()
	}
	return "127.0.0.1"
}

// askGRPC makes the health check that the node would have made. 200 stands for
// SERVING; the text of any other answer is in kubelet's words.
func (p *probes) askGRPC(ctx context.Context, w http.ResponseWriter, r *http.Request, route mesh.Route, cameIn time.Time) {
	began := time.Now()
	probed := p.prober.Attempt(ctx, probe.Target{Kind: p.kind, Spec: &route.Probe, PodIP: ownAddress(r)})
	setTimes(w.Header(), cameIn, began)
	switch {
	case probed.Verdict == fact.Success:
		w.Header().Set(mesh.AnsweredBy, mesh.Application)
		_, _ = io.WriteString(w, probed.Evidence.Output+"\n")
	case probed.Evidence != nil && probed.Evidence.Output != "": // a status other than SERVING
		w.Header().Set(mesh.AnsweredBy, mesh.Application)
		http.Error(w, probed.Message, http.StatusServiceUnavailable)
	default:
		say(w, statusOf(ctx), probed.Message)
	}
}
