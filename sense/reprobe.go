package sense

import (
	"context"
	"strings"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/lanes"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/probe"
)

// Reprobe makes one more request, with patience, after a probe attempt has timed
// out: whether the answer comes late or never is what tells an application that
// is slow from one that hangs, and the probe itself never waits to see it. Where an
// attempt was cut, it tries what else is spoken there, and where a command failed without a
// word, it runs that without the grep that kept them back. What is learnt is a fact and
// counts for no threshold.
type Reprobe struct {
	manned
	// Ask makes one request and waits for the answer so long; false: it was cut short.
	Ask func(context.Context, probe.Target, time.Duration) (fact.Probed, bool)
	// Hello says what is spoken where a probe asks, each try within so long; "" where
	// nothing else than the probe's protocol was recognised.
	Hello func(context.Context, probe.Target, time.Duration) fact.Protocol
	// Target finds what a probe asks.
	Target func(probe.Key) (probe.Target, bool)

	// Commands says that a probe's command may be run once more, too: by who runs it anyhow.
	Commands bool

	mu sync.Mutex
	// asked is when each probe was last asked again; busy are those under way.
	asked map[probe.Key]time.Time
	busy  map[probe.Key]bool
	lanes *lanes.Lanes[probe.Key]
}

const (
	// patienceTimes and maxPatience say how much longer than the probe's timeout an
	// answer is waited for; where that is not at least twice as long, nothing would
	// be learnt.
	patienceTimes = 10
	maxPatience   = 30 * time.Second
	// askEvery bounds what one failing probe is asked, maxAsks what goes on at once.
	askEvery = time.Minute
	maxAsks  = 16
)

// Run implements [Source].
func (a *Reprobe) Run(ctx context.Context, known pods.Registry, emit func(fact.Fact)) error {
	a.mu.Lock()
	a.asked, a.busy, a.lanes = map[probe.Key]time.Time{}, map[probe.Key]bool{}, lanes.New[probe.Key](ctx)
	a.mu.Unlock()
	leave := a.man(ctx, known, emit)
	<-ctx.Done()
	leave()
	a.lanes.Wait()
	return nil
}

// Hear asks again after an attempt that timed out, and in other protocols after one that
// was cut.
func (a *Reprobe) Hear(f fact.Fact) {
	b, ok := f.Body.(fact.Probed)
	at := a.Load()
	if at == nil || !ok || b.Verdict != fact.Failure || b.Evidence == nil || !b.Evidence.Timeout && !cut(b) && !wordless(b) || b.Evidence.Handler == fact.Exec && !a.Commands {
		return
	}
	key := probe.Key{Pod: f.Pod.UID, Container: f.Container, Kind: b.Probe, Attempt: f.Attempt}
	t, ok := a.Target(key)
	if !ok || t.Spec == nil {
		return
	}
	timeout := time.Duration(max(t.Spec.TimeoutSeconds, 1)) * time.Second
	ask := a.greet
	switch {
	case b.Evidence.Timeout && b.Evidence.Handler == fact.GRPC && (b.Evidence.Connect > 0 || b.By == fact.BySay): // kubelet does not say whether it got a connection
		ask = a.greetOrWait
	case b.Evidence.Timeout && patienceOf(timeout) < 2*timeout:
		return
	case b.Evidence.Timeout:
		ask = a.wait
	case wordless(b) && t.Spec.Exec != nil:
		command, ok := unfiltered(t.Spec.Exec.Command)
		if !ok {
			return
		}
		t.Spec = t.Spec.DeepCopy()
		t.Spec.Exec.Command = command
		ask = a.hearOut
	case wordless(b):
		return
	}
	if !a.begin(key) {
		return
	}
	a.lanes.Do(key, func(ctx context.Context) {
		defer a.end(key)
		began := time.Now()
		again, told := ask(ctx, t, timeout)
		if !told {
			return
		}
		again.Probe, again.Timeout, again.Took = b.Probe, timeout, time.Since(began)
		again.Cut = again.Cut || again.Speaks == "" && disturbed(at.known, f, again)
		at.emit(fact.Fact{
			At: began.UTC(), Pod: f.Pod, Container: f.Container, Attempt: f.Attempt, Because: []fact.ID{f.ID}, Body: again,
		})
	})
}

func patienceOf(timeout time.Duration) time.Duration { return min(patienceTimes*timeout, maxPatience) }

// wait asks the same with patience. A client of gRPC goes on trying where it is cut, so
// that what it asks may speak another protocol.
func (a *Reprobe) wait(ctx context.Context, t probe.Target, timeout time.Duration) (fact.AskedAgain, bool) {
	patience := patienceOf(timeout)
	said, whole := a.Ask(ctx, t, patience)
	again := fact.AskedAgain{Patience: patience, Verdict: said.Verdict, Message: said.Message, Evidence: said.Evidence, Cut: !whole}
	if e := said.Evidence; whole && e != nil && e.Handler == fact.GRPC && e.Timeout && e.Connect > 0 {
		again.Speaks = a.Hello(ctx, t, timeout)
	}
	return again, true
}

// hearOut runs a command that has had its filter taken off, for as long as the probe does.
func (a *Reprobe) hearOut(ctx context.Context, t probe.Target, timeout time.Duration) (fact.AskedAgain, bool) {
	said, whole := a.Ask(ctx, t, timeout)
	return fact.AskedAgain{Patience: timeout, Verdict: said.Verdict, Message: said.Message, Evidence: said.Evidence, Cut: !whole, Unfiltered: true}, true
}

// greetOrWait says hello first, to where a client of gRPC got a connection and nothing more:
// its patience would tell nothing about who speaks something else.
func (a *Reprobe) greetOrWait(ctx context.Context, t probe.Target, timeout time.Duration) (fact.AskedAgain, bool) {
	if again, told := a.greet(ctx, t, timeout); told || patienceOf(timeout) < 2*timeout {
		return again, told
	}
	return a.wait(ctx, t, timeout)
}

// greet says hello in other protocols.
func (a *Reprobe) greet(ctx context.Context, t probe.Target, timeout time.Duration) (fact.AskedAgain, bool) {
	again := fact.AskedAgain{Patience: timeout, Verdict: fact.Failure, Speaks: a.Hello(ctx, t, timeout)}
	return again, again.Speaks != ""
}

// cut says whether an attempt over HTTP was taken and then broken off, or answered in
// another version of HTTP or in none: another protocol may be spoken there.
func cut(b fact.Probed) bool {
	e := b.Evidence
	if e.Handler != fact.HTTPGet || e.Status != 0 || e.Connect == 0 && b.By != fact.BySay {
		return false
	}
	return e.Errno == "ECONNRESET" || e.Errno == "EPIPE" || strings.HasSuffix(e.Error, "EOF") || strings.Contains(e.Error, "malformed HTTP") || strings.Contains(e.Error, "http2: ")
}

// wordless says whether a command failed and put out nothing.
func wordless(b fact.Probed) bool {
	e := b.Evidence
	return e.Handler == fact.Exec && e.ExitCode != nil && *e.ExitCode != 0 && strings.TrimSpace(e.Output) == ""
}

// disturbed says whether a request that failed early did so because the container
// was being ended meanwhile, so that it says nothing about the application.
func disturbed(known pods.Registry, f fact.Fact, again fact.AskedAgain) bool {
	if again.Verdict == fact.Success || again.Verdict == fact.Warning {
		return false
	}
	if e := again.Evidence; e != nil && (e.Timeout || e.Status != 0) {
		return false
	}
	p, _ := known.Get(f.Pod.UID)
	c, ok := p.Containers[f.Container]
	return !ok || c.Attempt != f.Attempt || !c.Running || c.Kill != 0
}

func (a *Reprobe) begin(key probe.Key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for k, at := range a.asked {
		if now.Sub(at) >= askEvery {
			delete(a.asked, k)
		}
	}
	if _, lately := a.asked[key]; lately || a.busy[key] || len(a.busy) >= maxAsks {
		return false
	}
	a.asked[key], a.busy[key] = now, true
	return true
}

func (a *Reprobe) end(key probe.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.busy, key)
}
