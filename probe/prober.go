package probe

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
)

// Prober makes attempts. It is safe for concurrent use.
type Prober struct {
	exec      ExecFunc
	transport *http.Transport
	http2     *http.Transport // for HTTP/2 without TLS
	poll      *poller

	ctx    context.Context // ends with Close, and with it whatever still runs
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// NewProber starts a prober. exec may be nil where no exec probe is made.
// The error says that the kernel gave no epoll set.
func NewProber(exec ExecFunc, log *slog.Logger) (*Prober, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p := &Prober{exec: exec, transport: newTransport(), http2: newHTTP2Transport()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	poll, err := newPoller(p.land, log)
	if err != nil {
		p.cancel()
		return nil, err
	}
	p.poll = poll
	return p, nil
}

// Close ends all attempts and waits for them; those on the way report nothing.
func (p *Prober) Close() {
	p.cancel()
	p.poll.close()
	p.wg.Wait()
}

// Attempt probes once, and returns within the probe's timeout (thrice that
// where kubelet tries again, see [Prober.tries]) or when ctx ends.
func (p *Prober) Attempt(ctx context.Context, t Target) fact.Probed {
	result := make(chan fact.Probed, 1)
	p.begin(compile(t), func(_ time.Time, probed fact.Probed) { result <- probed })
	select {
	case probed := <-result:
		return probed
	case <-ctx.Done():
		return fact.Probed{Probe: t.Kind, Verdict: fact.Unknown, Message: ctx.Err().Error()}
	case <-p.ctx.Done():
		return fact.Probed{Probe: t.Kind, Verdict: fact.Unknown, Message: "the prober was closed"}
	}
}

// Ask makes one try with a timeout of its own in place of the probe's, to learn
// whether an answer that did not come in time comes at all. It returns within
// patience, or when ctx ends; asked is false then.
func (p *Prober) Ask(ctx context.Context, t Target, patience time.Duration) (said fact.Probed, asked bool) {
	t.Spec = patient(t.Spec, patience)
	pl := compile(t)
	pl.timeout, pl.once = patience, true
	result := make(chan fact.Probed, 1)
	p.begin(pl, func(_ time.Time, probed fact.Probed) { result <- probed })
	select {
	case probed := <-result:
		return probed, true
	case <-ctx.Done():
	case <-p.ctx.Done():
	}
	return fact.Probed{Probe: t.Kind, Verdict: fact.Unknown}, false
}

// doneFunc takes the result of an attempt that began at the given time. It is
// called once, on any goroutine, and must not block.
type doneFunc func(began time.Time, probed fact.Probed)

// begin starts an attempt and returns at once.
func (p *Prober) begin(pl *plan, done doneFunc) {
	if pl.fast() && p.poll.start(pl, done) {
		return
	}
	p.goTry(pl, time.Now(), nil, done)
}

// land takes over an attempt that the poller could not finish.
func (p *Prober) land(f *fallback) { p.goTry(f.plan, f.began, f, f.done) }

func (p *Prober) goTry(pl *plan, began time.Time, from *fallback, done doneFunc) {
	if p.ctx.Err() != nil {
		from.close()
		return
	}
	p.wg.Go(func() {
		o := p.tries(pl, began, from)
		if p.ctx.Err() == nil {
			done(began, o.probed(pl.kind, time.Since(began)))
		}
	})
}

// outcome is what one try says. err is set when the try itself went wrong, so
// that it says nothing about the container: kubelet then tries again, and in
// the end throws the result away.
type outcome struct {
	verdict  fact.Verdict
	message  string
	evidence *fact.Evidence
	err      error
}

func (o outcome) probed(kind fact.ProbeKind, took time.Duration) fact.Probed {
	p := fact.Probed{Probe: kind, Verdict: o.verdict, Message: o.message, Took: took, Evidence: o.evidence}
	if o.err != nil {
		p.Verdict, p.Message = fact.Unknown, o.err.Error()
		if p.Evidence != nil {
			noteError(p.Evidence, o.err)
		}
	}
	if p.Verdict == fact.Success {
		p.Message = ""
	}
	return p
}

// errBodyLate says that an answer began and did not end in time.
var errBodyLate = fmt.Errorf("the body did not end in time: %w", os.ErrDeadlineExceeded)

// maxTries is how often an attempt that errs is made, one try right after the
// other (maxProbeRetries in kubelet's prober.go).
const maxTries = 3

// tries makes up to three tries, until one says something about the container.
// A first try may already be under way in the poller.
func (p *Prober) tries(pl *plan, began time.Time, from *fallback) outcome {
	left := maxTries
	if pl.once {
		left = 1
	}
	if from != nil && from.bodyLate {
		if pl.once {
			return outcome{err: errBodyLate, evidence: from.evidence}
		}
		left, from = left-1, nil
	}
	var o outcome
	for range left {
		timeout := pl.timeout
		if from != nil {
			timeout -= time.Since(began)
		}
		o = p.try(pl, timeout, from)
		if o.err == nil || p.ctx.Err() != nil {
			break
		}
		from = nil
	}
	return o
}

func (p *Prober) try(pl *plan, timeout time.Duration, from *fallback) outcome {
	if pl.err != nil {
		return outcome{err: pl.err, evidence: pl.newEvidence()}
	}
	switch pl.handler {
	case fact.HTTPGet:
		return p.httpGet(pl, timeout, from)
	case fact.TCPSocket:
		return p.tcpSocket(pl, timeout)
	case fact.Exec:
		return p.execute(pl)
	default:
		return p.grpcCheck(pl)
	}
}

func (p *plan) newEvidence() *fact.Evidence {
	return &fact.Evidence{Handler: p.handler, Target: p.where}
}
