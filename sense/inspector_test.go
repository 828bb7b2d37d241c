package sense

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// The end of a log is read a few times, then now and then.
func TestMayRead(t *testing.T) {
	l := &Inspector{seen: map[string]*attention{"id": {}}}
	for range soonLooks {
		if !l.mayRead("id") {
			t.Fatal("not at first")
		}
	}
	if l.mayRead("id") {
		t.Error("too often")
	}
	l.seen["id"].readAt = time.Now().Add(-readEvery)
	if !l.mayRead("id") {
		t.Error("not a while later")
	}
	if l.mayRead("another") {
		t.Error("of one that is not known")
	}
}

// Where an attempt is answered late with a failure, the next one is looked into before it ends.
func TestAmidst(t *testing.T) {
	pod := pods.Pod{Object: &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "web", ReadinessProbe: &v1.Probe{PeriodSeconds: 3}}}}}}
	late := fact.Probed{Probe: fact.Readiness, Took: 2 * time.Second, Evidence: &fact.Evidence{Status: 504}}
	soon, never, slow, other := late, late, late, late
	soon.Took = time.Millisecond
	never.Evidence = &fact.Evidence{Timeout: true}
	slow.Took = 8 * time.Second
	other.Probe = fact.Liveness
	for _, test := range []struct {
		of        string
		b         fact.Probed
		container string
		want      time.Duration
	}{
		{"an attempt of 2 s of every 3", late, "web", 2500 * time.Millisecond},
		{"one that takes longer than the period", slow, "web", 6 * time.Second},
		{"one that is answered at once", soon, "web", 0},
		{"one that is not answered", never, "web", 0},
		{"a probe that there is not", other, "web", 0},
		{"a container that there is not", late, "log", 0},
	} {
		if got := amidst(pod, fact.Fact{Container: test.container, Body: test.b}); got != test.want {
			t.Errorf("%s: in %v, want %v", test.of, got, test.want)
		}
	}
	l := &Inspector{seen: map[string]*attention{}}
	for range soonLooks {
		if !l.mayLookAmidst("id") {
			t.Fatal("not at first")
		}
	}
	if l.mayLookAmidst("id") {
		t.Error("too often")
	}
	l.seen["id"].trouble = time.Now().Add(-2 * troubleLasts)
	if l.mayLook("id"); !l.mayLookAmidst("id") {
		t.Error("not in the next trouble")
	}
}

// A run after one that the kernel killed, and not for memory, deserves a look.
func TestKilledByKernel(t *testing.T) {
	l := &Inspector{killed: map[runsKey]bool{}}
	pod := fact.Pod{UID: "u"}
	for _, c := range []struct {
		exit fact.Exited
		want bool
	}{
		{fact.Exited{ByKernel: true, OOMKnown: true}, true},
		{fact.Exited{ByKernel: true, OOMKnown: true, OOMKills: 1}, false},
		{fact.Exited{ByKernel: true}, false},
		{fact.Exited{OOMKnown: true}, false},
	} {
		l.followed(nil, fact.Fact{Pod: pod, Container: "c", Body: c.exit})
		if got := l.wasKilled(fact.Fact{Pod: pod, Container: "c"}); got != c.want {
			t.Errorf("%+v: %v", c.exit, got)
		}
	}
	l.followed(nil, fact.Fact{Pod: pod, Container: "c", Body: fact.Exited{ByKernel: true, OOMKnown: true}})
	l.followed(nil, fact.Fact{Pod: pod, Body: fact.ObjectGone{}})
	if len(l.killed) > 0 {
		t.Error("a pod that is gone is remembered")
	}
}
