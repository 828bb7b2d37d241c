package sense

import (
	"log/slog"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// newTestProcesses has a registry with one running container, and no source.
func newTestProcesses(t *testing.T) (*Processes, *pods.Projection, chan fact.Fact) {
	t.Helper()
	known, facts := pods.New(), make(chan fact.Fact, 100)
	known.Take(of("", 0, fact.SpecSeen{Object: &v1.Pod{}}))
	known.Take(of("c", 2, fact.Started{ContainerID: "containerd://abc", PID: 10}))
	p := &Processes{log: slog.New(slog.DiscardHandler), told: map[string]*telling{}, byKernel: map[int]time.Time{}}
	t.Cleanup(p.man(t.Context(), known, func(f fact.Fact) { facts <- f }))
	return p, known, facts
}

func told(t *testing.T, facts chan fact.Fact) (fact.Fact, bool) {
	t.Helper()
	select {
	case f := <-facts:
		return f, true
	default:
		return fact.Fact{}, false
	}
}

func TestEndsOfChildrenAreBounded(t *testing.T) {
	p, known, facts := newTestProcesses(t)
	end := evidence.EndedProcess{Container: "abc", ProcessEnded: fact.ProcessEnded{PID: 11, ExitCode: 7, Command: "worker"}}
	for range tellAMinute + 5 {
		p.tellEnd(end)
	}
	count := 0
	for f, ok := told(t, facts); ok; f, ok = told(t, facts) {
		count++
		if f.Pod != testPod || f.Container != "c" || f.Attempt != 2 {
			t.Errorf("told of %+v %s#%d", f.Pod, f.Container, f.Attempt)
		}
	}
	if count != tellAMinute {
		t.Errorf("told %d times, want %d", count, tellAMinute)
	}
	if !p.enough(end) {
		t.Error("there is more to tell")
	}
	p.told["abc"].minute = time.Now().Add(-2 * time.Minute)
	p.tellEnd(end)
	if f, ok := told(t, facts); !ok || f.Body.(fact.ProcessEnded).Alike != 6 {
		t.Errorf("a minute later told %+v", f.Body)
	}
	known.Take(of("c", 2, fact.Exited{ContainerID: "containerd://abc"}))
	p.tellEnd(end)
	if f, ok := told(t, facts); ok {
		t.Errorf("the container ended, and its child's end is told: %+v", f)
	}
	end.Signal, end.ExitCode = 6, 134
	p.tellEnd(end)
	if f, ok := told(t, facts); !ok || f.Attempt != 2 {
		t.Errorf("a child's crash, with which its container ended, is told as %+v", f)
	}
}

func TestSenders(t *testing.T) {
	kill := evidence.Signal{Number: 9, PID: 10, Sender: 77, SenderCommand: "bash"}
	runc := kill
	runc.SenderCommand = "runc"
	child := kill
	child.PID = 11
	tests := map[string]struct {
		signal  evidence.Signal
		sender  from
		own     bool
		ordered bool
		ended   bool
		want    fact.SignalOrigin
		silent  bool
	}{
		"from the host":                            {signal: kill, sender: from{alive: true}, want: fact.FromHost},
		"from one that is gone":                    {signal: kill, want: ""},
		"from one that was in the pod and is gone": {signal: kill, sender: from{nested: true}, want: fact.FromContainer},
		"from the container itself":                {signal: kill, sender: from{container: "abc"}, want: fact.FromContainer},
		"the container's own child":                {signal: child, sender: from{container: "abc"}, silent: true},
		"a child, by what was put beside it":       {signal: child, sender: from{container: "abc", stray: true}, want: fact.FromContainer},
		"the node's agent":                         {signal: kill, own: true, silent: true},
		"the runtime, as the node ordered":         {signal: runc, ordered: true, silent: true},
		"the runtime, on somebody else's order":    {signal: runc, want: fact.FromNode},
		"to a main process whose end is known":     {signal: kill, sender: from{nested: true}, ended: true, want: fact.FromContainer},
		"to a child, after the container's end":    {signal: child, sender: from{nested: true}, ended: true, silent: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, known, facts := newTestProcesses(t)
			if test.ordered {
				kill := of("c", 2, fact.Kill{})
				kill.ID = 5
				known.Take(kill)
			}
			if test.ended {
				known.Take(of("c", 2, fact.Exited{ContainerID: "containerd://abc"}))
			}
			p.tellSignal(test.signal, time.Now(), "abc", false, test.sender, test.own)
			f, ok := told(t, facts)
			if ok == test.silent {
				t.Fatalf("told: %v (%+v)", ok, f.Body)
			}
			if b, _ := f.Body.(fact.Signalled); ok && (b.Origin != test.want || b.Main != (test.signal.PID == 10) || b.SenderStray != test.sender.stray) {
				t.Errorf("told %+v, want origin %q", b, test.want)
			}
		})
	}
}

// A main process that is gone, and of whose fork nothing was heard, is known from the runtime.
func TestOwnerOfMainProcess(t *testing.T) {
	p, known, _ := newTestProcesses(t)
	known.Take(of("c", 2, fact.Started{ContainerID: "containerd://abc", PID: 1 << 30}))
	if id, main := p.owner(1 << 30); id != "abc" || !main {
		t.Errorf("it is of %q, main: %v", id, main)
	}
	if id, _ := p.owner(1<<30 + 1); id != "" {
		t.Errorf("a stranger is of %q", id)
	}
}

var testPod = fact.Pod{Namespace: "ns", Name: "p", UID: "u1"}

func of(container string, attempt int32, body fact.Body) fact.Fact {
	return fact.Fact{Pod: testPod, Container: container, Attempt: attempt, Body: body}
}
