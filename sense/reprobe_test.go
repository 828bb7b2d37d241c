package sense

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/probe"
)

// asked is a prober, a loop and a runtime in one.
type asked struct {
	patience chan time.Duration
	answer   chan fact.Probed
	speaks   fact.Protocol
	facts    chan fact.Fact
	known    *pods.Projection
	command  []string // of the probe
	ran      chan []string
}

func newAsked(t *testing.T, timeout int32) (*Reprobe, *asked) {
	t.Helper()
	w := &asked{
		patience: make(chan time.Duration, 10), answer: make(chan fact.Probed, 10), facts: make(chan fact.Fact, 10),
		ran: make(chan []string, 10), known: pods.New(),
	}
	w.run(2, 0)
	ask := func(ctx context.Context, t probe.Target, patience time.Duration) (fact.Probed, bool) {
		w.patience <- patience
		if t.Spec.Exec != nil {
			w.ran <- t.Spec.Exec.Command
		}
		select {
		case p := <-w.answer:
			return p, true
		case <-ctx.Done():
			return fact.Probed{}, false
		}
	}
	target := func(probe.Key) (probe.Target, bool) {
		spec := &v1.Probe{TimeoutSeconds: timeout}
		if w.command != nil {
			spec.Exec = &v1.ExecAction{Command: w.command}
		}
		return probe.Target{Spec: spec}, true
	}
	a := &Reprobe{Ask: ask, Target: target, Hello: func(context.Context, probe.Target, time.Duration) fact.Protocol { return w.speaks }}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- a.Run(ctx, w.known, func(f fact.Fact) { w.facts <- f }) }()
	t.Cleanup(func() { cancel(); <-ended })
	for a.Load() == nil {
		runtime.Gosched()
	}
	return a, w
}

// run has the container run, and ordered to end by a decision unless that is 0.
func (w *asked) run(attempt int32, kill fact.ID) {
	pod := fact.Pod{UID: "u"}
	w.known.Take(fact.Fact{Pod: pod, Body: fact.SpecSeen{}})
	w.known.Take(fact.Fact{Pod: pod, Container: "web", Attempt: attempt, Body: fact.Started{ContainerID: fmt.Sprint(attempt)}})
	if kill != 0 {
		w.known.Take(fact.Fact{ID: kill, Pod: pod, Container: "web", Attempt: attempt, Body: fact.Kill{}})
	}
}

func timedOut(handler fact.Handler) fact.Fact {
	return fact.Fact{
		ID: 7, Pod: fact.Pod{UID: "u"}, Container: "web", Attempt: 2,
		Body: fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Evidence: &fact.Evidence{Handler: handler, Timeout: true}},
	}
}

func TestAsksAgain(t *testing.T) {
	tests := map[string]struct {
		attempt int32
		kill    fact.ID
		answer  fact.Probed
		cut     bool
	}{
		"it answers late": {
			2, 3, fact.Probed{Verdict: fact.Success, Evidence: &fact.Evidence{Status: 200}}, false,
		},
		"it answers an error late": {
			2, 3, fact.Probed{Verdict: fact.Failure, Evidence: &fact.Evidence{Status: 503}}, false,
		},
		"it never answers": {
			2, 3, fact.Probed{Verdict: fact.Failure, Evidence: &fact.Evidence{Timeout: true}}, false,
		},
		"it resets by itself": {
			2, 0, fact.Probed{Verdict: fact.Failure, Evidence: &fact.Evidence{Errno: "ECONNRESET"}}, false,
		},
		"it resets when it is being killed": {
			2, 3, fact.Probed{Verdict: fact.Failure, Evidence: &fact.Evidence{Errno: "ECONNRESET"}}, true,
		},
		"the next run refuses": {
			3, 0, fact.Probed{Verdict: fact.Failure, Evidence: &fact.Evidence{Errno: "ECONNREFUSED"}}, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, w := newAsked(t, 1)
			w.run(test.attempt, test.kill)
			a.Hear(timedOut("httpGet"))
			if p := <-w.patience; p != 10*time.Second {
				t.Errorf("waits %v, want 10 s", p)
			}
			w.answer <- test.answer
			f := <-w.facts
			b := f.Body.(fact.AskedAgain)
			if len(f.Because) != 1 || f.Because[0] != 7 || b.Verdict != test.answer.Verdict || b.Cut != test.cut {
				t.Errorf("told %+v because of %v; want cut=%v", b, f.Because, test.cut)
			}
		})
	}
}

func TestAsksOnceAMinute(t *testing.T) {
	a, w := newAsked(t, 2)
	for range 3 {
		a.Hear(timedOut("tcpSocket"))
	}
	if p := <-w.patience; p != 20*time.Second {
		t.Errorf("waits %v, want 20 s", p)
	}
	w.answer <- fact.Probed{Verdict: fact.Success}
	<-w.facts
	a.Hear(timedOut("tcpSocket"))
	if len(w.patience) > 0 || len(a.asked) != 1 {
		t.Error("asked more than once")
	}
}

func TestDoesNotAsk(t *testing.T) {
	refused := timedOut("httpGet")
	refused.Body = fact.Probed{Verdict: fact.Failure, Evidence: &fact.Evidence{Handler: fact.HTTPGet, Errno: "ECONNREFUSED"}}
	tests := map[string]struct {
		timeout int32
		f       fact.Fact
	}{
		"after another failure":          {1, refused},
		"with a command":                 {1, timedOut("exec")},
		"where the timeout is long":      {20, timedOut("httpGet")},
		"after what is no probe attempt": {1, fact.Fact{Body: fact.TimePassed{}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, _ := newAsked(t, test.timeout)
			a.Hear(test.f)
			if len(a.busy) > 0 {
				t.Error("asked")
			}
		})
	}
	new(Reprobe).Hear(timedOut("httpGet")) // it does not run
}

// Who runs probes itself may run a command once more.
func TestRunsACommandAgain(t *testing.T) {
	a, w := newAsked(t, 1)
	a.Commands = true
	a.Hear(timedOut("exec"))
	if p := <-w.patience; p != 10*time.Second {
		t.Errorf("waits %v, want 10 s", p)
	}
	w.answer <- fact.Probed{Verdict: fact.Success, Evidence: &fact.Evidence{Handler: fact.Exec}}
	if b := (<-w.facts).Body.(fact.AskedAgain); b.Verdict != fact.Success || b.Cut {
		t.Errorf("told %+v", b)
	}
}

// One that failed without a word is run without the grep that its output goes through, once a minute.
func TestHearsACommandOut(t *testing.T) {
	a, w := newAsked(t, 3)
	one := 1
	silent := func(output string) fact.Fact {
		f := timedOut("exec")
		f.Body = fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Evidence: &fact.Evidence{Handler: fact.Exec, ExitCode: &one, Output: output}}
		return f
	}
	w.command = []string{"sh", "-c", "redis-cli ping | grep PONG"}
	a.Hear(silent("")) // nobody runs commands here
	a.Commands = true
	a.Hear(silent("grep: it speaks"))
	if len(a.asked) > 0 {
		t.Error("it was to run nothing yet")
	}
	a.Hear(silent("\n"))
	if got := <-w.ran; !slices.Equal(got, []string{"sh", "-c", "redis-cli ping"}) {
		t.Errorf("ran %q", got)
	}
	w.answer <- fact.Probed{Verdict: fact.Success, Evidence: &fact.Evidence{Handler: fact.Exec, Output: "LOADING"}}
	if b := (<-w.facts).Body.(fact.AskedAgain); !b.Unfiltered || b.Evidence.Output != "LOADING" || b.Patience != 3*time.Second {
		t.Errorf("told %+v", b)
	}
	if !slices.Equal(w.command, []string{"sh", "-c", "redis-cli ping | grep PONG"}) {
		t.Errorf("the probe itself is %q now", w.command)
	}
	before := maps.Clone(a.asked)
	a.Hear(silent(""))
	if !maps.Equal(before, a.asked) {
		t.Error("it runs it again within a minute")
	}
}

// What was cut may be of another protocol, and what was told is told only once.
func TestSaysHello(t *testing.T) {
	after := func(e fact.Evidence) fact.Fact {
		f := timedOut(e.Handler)
		f.Body = fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Evidence: &e}
		return f
	}
	for name, test := range map[string]struct {
		evidence fact.Evidence
		speaks   fact.Protocol
		tells    bool
	}{
		"an orderly end":                 {fact.Evidence{Handler: fact.HTTPGet, Connect: 1, Error: `Get "http://10.0.0.1:8080/": EOF`}, fact.TLS, true},
		"a reset":                        {fact.Evidence{Handler: fact.HTTPGet, Connect: 1, Errno: "ECONNRESET"}, fact.Proxied, true},
		"other bytes":                    {fact.Evidence{Handler: fact.HTTPGet, Connect: 1, Error: "net/http: malformed HTTP response"}, fact.HTTP2, true},
		"HTTP/1, where HTTP/2 was asked": {fact.Evidence{Handler: fact.HTTPGet, Connect: 1, Error: "http2: client conn could not be established"}, fact.HTTP1, true},
		"nothing is recognised":          {fact.Evidence{Handler: fact.HTTPGet, Connect: 1, Errno: "ECONNRESET"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			a, w := newAsked(t, 20)
			w.speaks = test.speaks
			a.Hear(after(test.evidence))
			a.lanes.Wait()
			if told := len(w.facts) == 1; told != test.tells {
				t.Fatalf("%d facts", len(w.facts))
			}
			if !test.tells {
				return
			}
			if b := (<-w.facts).Body.(fact.AskedAgain); b.Speaks != test.speaks || b.Cut || b.Verdict != fact.Failure {
				t.Errorf("%+v", b)
			}
		})
	}
	for name, e := range map[string]fact.Evidence{
		"refused":             {Handler: fact.HTTPGet, Errno: "ECONNREFUSED"},
		"answered":            {Handler: fact.HTTPGet, Connect: 1, Status: 500, Error: "EOF"},
		"a connection is all": {Handler: fact.TCPSocket, Connect: 1, Errno: "ECONNRESET"},
	} {
		a, w := newAsked(t, 1)
		w.speaks = fact.TLS
		a.Hear(after(e))
		a.lanes.Wait()
		if len(w.facts) > 0 {
			t.Errorf("%s: it says hello", name)
		}
	}
}

// A client of gRPC tries until its time is over, whatever is spoken there.
func TestSaysHelloAfterGRPC(t *testing.T) {
	a, w := newAsked(t, 1)
	w.speaks = fact.TLS
	a.Hear(timedOut(fact.GRPC))
	<-w.patience
	w.answer <- fact.Probed{Verdict: fact.Failure, Evidence: &fact.Evidence{Handler: fact.GRPC, Timeout: true, Connect: 1}}
	if b := (<-w.facts).Body.(fact.AskedAgain); b.Speaks != fact.TLS || b.Patience != 10*time.Second {
		t.Errorf("%+v", b)
	}
}

// Where a client of gRPC gets a connection and nothing more, what else is spoken there is
// tried before anybody waits.
func TestSaysHelloBeforeItWaits(t *testing.T) {
	connected := timedOut(fact.GRPC)
	connected.Body = fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Evidence: &fact.Evidence{Handler: fact.GRPC, Timeout: true, Connect: 1}}
	told := timedOut(fact.GRPC)
	told.Body = fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, By: fact.BySay, Evidence: &fact.Evidence{Handler: fact.GRPC, Timeout: true}}
	for _, attempt := range []fact.Fact{connected, told} {
		a, w := newAsked(t, 20) // longer than anybody would wait for it
		w.speaks = fact.HTTP1
		a.Hear(attempt)
		if b := (<-w.facts).Body.(fact.AskedAgain); b.Speaks != fact.HTTP1 || len(w.patience) != 0 {
			t.Errorf("%+v", b)
		}
	}
	a, w := newAsked(t, 1)
	a.Hear(connected)
	<-w.patience
	w.answer <- fact.Probed{Verdict: fact.Success}
	if b := (<-w.facts).Body.(fact.AskedAgain); b.Speaks != "" || b.Verdict != fact.Success {
		t.Errorf("%+v", b)
	}
}
