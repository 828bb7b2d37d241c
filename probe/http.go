package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"whylet.dev/whylet/fact"
)

// newTransport is kubelet's (pkg/probe/http/http.go): no keep-alive, no proxy,
// no compression, certificates not verified, HTTP/2 where TLS negotiates it.
func newTransport() *http.Transport {
	var dialer net.Dialer
	return utilnet.SetTransportDefaults(&http.Transport{
		TLSClientConfig:    &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives:  true,
		Proxy:              http.ProxyURL(nil),
		DisableCompression: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if from, ok := ctx.Value(fallbackKey{}).(*fallback); ok {
				if conn := from.take(); conn != nil {
					return conn, nil
				}
			}
			return dialer.DialContext(ctx, network, addr)
		},
	})
}

// newHTTP2Transport is kubelet's for HTTP/2 without TLS, which the server is known to
// speak (gate H2CContainerProbe).
func newHTTP2Transport() *http.Transport {
	t := &http.Transport{
		DisableKeepAlives:  true,
		Proxy:              http.ProxyURL(nil),
		DisableCompression: true,
		DialContext:        (&net.Dialer{}).DialContext,
		Protocols:          new(http.Protocols),
	}
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// httpGet makes a try with net/http, on the poller's connection if from is set.
func (p *Prober) httpGet(pl *plan, timeout time.Duration, from *fallback) outcome {
	defer from.close()
	t := &httpTrace{evidence: *pl.newEvidence(), began: time.Now()}
	if from != nil {
		t.evidence = *from.evidence
	}
	if timeout <= 0 {
		return headTimeout(pl, &t.evidence)
	}
	ctx := httptrace.WithClientTrace(p.ctx, t.hooks())
	if from != nil {
		ctx = context.WithValue(ctx, fallbackKey{}, from)
	}
	req, err := pl.get.request(ctx)
	if err != nil {
		return outcome{evidence: t.end(), err: err}
	}
	client := &http.Client{Timeout: timeout, Transport: p.transport, CheckRedirect: t.redirected}
	if pl.get.http2 {
		client.Transport = p.http2
	}
	res, err := client.Do(req)
	if err != nil {
		ev := t.end()
		noteError(ev, err)
		return outcome{verdict: fact.Failure, message: err.Error(), evidence: ev}
	}
	defer func() { _ = res.Body.Close() }()
	var body []byte
	if res.StatusCode != http.StatusSwitchingProtocols {
		body, err = io.ReadAll(io.LimitReader(res.Body, maxBody))
	} // else it is a connection without end or timeout, on which kubelet's attempt hangs forever
	t.answered(res, body, pl.own)
	if err != nil {
		return outcome{evidence: t.end(), err: err}
	}
	verdict, message := judge(res.StatusCode, body)
	return outcome{verdict: verdict, message: message, evidence: t.end()}
}

// judge is kubelet's rule: 2xx succeeds; a redirect that was not followed warns,
// and counts as success; anything else fails. The body of a failure stays out of
// the message, because events are read by many.
func judge(status int, body []byte) (fact.Verdict, string) {
	switch {
	case status >= 200 && status < 300:
		return fact.Success, ""
	case status >= 300 && status < 400:
		return fact.Warning, fmt.Sprintf("Probe terminated redirects, Response body: %v", string(body))
	}
	return fact.Failure, fmt.Sprintf("HTTP probe failed with statuscode: %d", status)
}

// sameHost follows redirects only on the probe's own host, ten at most.
func sameHost(req *http.Request, via []*http.Request) error {
	if req.URL.Hostname() != via[0].URL.Hostname() {
		return http.ErrUseLastResponse
	}
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}

// redirected notes where a redirect leads that is followed: what fails then fails there.
func (t *httpTrace) redirected(req *http.Request, via []*http.Request) error {
	err := sameHost(req, via)
	if err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.evidence.Redirected = req.URL.Redacted()
	}
	return err
}

// errHeadTimeout has the words of http.Client for a deadline that passes before
// the response's head is there, while connecting included.
var errHeadTimeout = errors.New("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")

func headTimeout(pl *plan, ev *fact.Evidence) outcome {
	err := &url.Error{Op: "Get", URL: pl.get.url, Err: errHeadTimeout}
	ev.Error, ev.Timeout = err.Error(), true
	return outcome{verdict: fact.Failure, message: err.Error(), evidence: ev}
}

// httpTrace notes how a try went. net/http calls the hooks on goroutines of its
// own, even after the try, so the notes are copied out under the lock.
type httpTrace struct {
	mu       sync.Mutex
	evidence fact.Evidence
	began    time.Time
	last     time.Time // the end of the latest phase
}

func (t *httpTrace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				t.phase(func(e *fact.Evidence) *time.Duration { return &e.Connect })
			}
		},
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				t.phase(func(e *fact.Evidence) *time.Duration { return &e.TLS })
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			t.mu.Lock()
			defer t.mu.Unlock()
			if a := info.Conn.LocalAddr(); a != nil {
				t.evidence.Local = a.String()
			}
			if a := info.Conn.RemoteAddr(); a != nil {
				t.evidence.Remote = a.String()
			}
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			t.phase(func(e *fact.Evidence) *time.Duration { return &e.Sent })
		},
		GotFirstResponseByte: func() {
			t.phase(func(e *fact.Evidence) *time.Duration { return &e.FirstByte })
		},
	}
}

// phase ends one: its time is added up over redirects, and kept where the
// poller already measured it.
func (t *httpTrace) phase(of func(*fact.Evidence) *time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	since := t.last
	if since.IsZero() {
		since = t.began
	}
	*of(&t.evidence) += now.Sub(since)
	t.last = now
}

func (t *httpTrace) answered(res *http.Response, body []byte, own bool) {
	t.phase(func(e *fact.Evidence) *time.Duration { return &e.Body })
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &t.evidence
	e.Status, e.Proto, e.Header = res.StatusCode, res.Proto, keepHeaders(res.Header)
	if own {
		e.Output = excerpt(body)
	}
}

func (t *httpTrace) end() *fact.Evidence {
	t.mu.Lock()
	defer t.mu.Unlock()
	copied := t.evidence
	return &copied
}
