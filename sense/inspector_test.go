package sense

import (
	"testing"
	"time"

	"whylet.dev/whylet/fact"
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
