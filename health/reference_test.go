package health

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// What failed for want of an object is tried again when the object appears, not
// when the next attempt is due.
func TestReferenceChangedTriesAgainAtOnce(t *testing.T) {
	t.Run("a container that lacks its configuration", func(t *testing.T) {
		w := newWorld(t, Policy{})
		w.refuse["app"] = []fact.Body{fact.StartFailed{Reason: "CreateContainerConfigError", Message: `configmap "x" not found`}}
		w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
		if w.count("Start") != 1 {
			t.Fatalf("%d starts, want one that failed", w.count("Start"))
		}
		w.feed("", 0, fact.ReferenceChanged{})
		w.settle()
		if c := Status(w.state).ContainerStatuses[0]; c.State.Running == nil || c.RestartCount != 0 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a pod that lacks a volume", func(t *testing.T) {
		w := newWorld(t, Policy{})
		w.setUps = []fact.Body{fact.SetUpFailed{Stage: "volumes", Reason: "FailedMount", Message: "not there"}}
		w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
		w.feed("", 0, fact.ReferenceChanged{})
		w.settle()
		if w.count("SetUp") != 2 || Status(w.state).Phase != v1.PodRunning {
			t.Errorf("%d set-ups, phase %s", w.count("SetUp"), Status(w.state).Phase)
		}
	})
	t.Run("but not a container that backs off", func(t *testing.T) {
		w := newWorld(t, Policy{})
		w.refuse["app"] = []fact.Body{fact.ImageFailed{Image: "i", Reason: "ErrImagePull", Message: "no"}}
		w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
		before := w.count("Start")
		w.feed("", 0, fact.ReferenceChanged{})
		w.settle()
		if w.count("Start") != before {
			t.Error("news of an object must not shorten a back-off")
		}
	})
}
