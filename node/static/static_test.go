package static

import (
	"log/slog"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// started follows what a directory of static pods hands in.
type started struct {
	*Pods
	facts []string
}

func newStarted() *started {
	s := &started{Pods: New("/manifests", "n", nil, nil, slog.New(slog.DiscardHandler))}
	s.submit = func(f fact.Fact) {
		text := string(f.Body.Kind()) + " " + string(f.Pod.UID)
		if b, ok := f.Body.(fact.DeletionSeen); ok {
			text += " " + b.Reason
		}
		s.facts = append(s.facts, text)
	}
	return s
}

func (s *started) want(t *testing.T, facts ...string) {
	t.Helper()
	if !slices.Equal(s.facts, facts) {
		t.Errorf("%q, want %q", s.facts, facts)
	}
	s.facts = nil
}

func web(uid types.UID) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "ns", "web-n", uid
	return pod
}

// A file that changes is another pod of the same name: it starts once nothing is left of the
// one before, whichever of the two is told first.
func TestChangedFile(t *testing.T) {
	for _, removedFirst := range []bool{false, true} {
		s := newStarted()
		s.add(web("1"))
		s.want(t, "SpecSeen 1")
		if removedFirst {
			s.remove(web("1"))
			s.add(web("2"))
		} else {
			s.add(web("2"))
			s.remove(web("1"))
		}
		s.want(t, "DeletionSeen 1 ")
		s.Gone(pods.KeyOf(web("1")))
		s.want(t, "SpecSeen 2")
		s.remove(web("2"))
		s.want(t, "DeletionSeen 2 ")
		s.Gone(pods.KeyOf(web("2")))
		s.want(t)
	}
}

// One that changes twice before its pod is gone starts as it is last.
func TestChangedTwice(t *testing.T) {
	s := newStarted()
	s.add(web("1"))
	s.add(web("2"))
	s.remove(web("1"))
	s.remove(web("2"))
	s.add(web("3"))
	s.want(t, "SpecSeen 1", "DeletionSeen 1 ")
	s.Gone(pods.KeyOf(web("1")))
	s.want(t, "SpecSeen 3")
}

// A pod that ends because its machine shuts down starts again from its file: with the next
// agent, or when the shutdown is cancelled.
func TestShutdown(t *testing.T) {
	s := newStarted()
	s.add(web("1"))
	s.Hold(true)
	s.End(web("1"), 10)
	s.want(t, "SpecSeen 1", "DeletionSeen 1 NodeShutdown")
	s.Gone(pods.KeyOf(web("1")))
	s.want(t)
	other := web("9")
	other.Name = "other-n"
	s.add(other)
	s.want(t) // it waits, too
	s.Hold(false)
	slices.Sort(s.facts)
	s.want(t, "SpecSeen 1", "SpecSeen 9")

	s.Hold(true)
	s.End(web("1"), 10)
	s.remove(web("1"))
	s.Gone(pods.KeyOf(web("1")))
	s.facts = nil
	s.Hold(false)
	s.want(t) // its file is gone
}

// An agent that begins while a pod still ends for an earlier shutdown starts it afterwards.
func TestShutdownAndBootAgain(t *testing.T) {
	s := newStarted()
	s.add(web("1"))
	s.want(t, "SpecSeen 1")
	s.Gone(pods.KeyOf(web("1")))
	s.want(t, "SpecSeen 1")
}
