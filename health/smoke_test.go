package health

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

func TestStartToReady(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", ReadinessProbe: probeSpec(3)}))
	if s := Status(w.state); s.Phase != v1.PodRunning || s.ContainerStatuses[0].Ready {
		t.Fatalf("%+v", s)
	}
	w.probe("app", fact.Readiness, fact.Success, "")
	s := Status(w.state)
	if !s.ContainerStatuses[0].Ready || findCondition(s.Conditions, v1.PodReady).Status != v1.ConditionTrue {
		t.Fatalf("%+v", s)
	}
	w.delete(30)
	w.advance(time.Minute)
	if s := Status(w.state); s.Phase != v1.PodFailed || !w.state.p.Gone {
		t.Fatalf("%+v", s)
	}
}

// The puzzle of a pod that ended as Completed once its back-off was due: under
// OnFailure, with a liveness probe that fails and a process that exits with 0
// when it is told to end.
func TestLivenessUnderOnFailureGoesOn(t *testing.T) {
	w := newWorld(t, Policy{})
	w.behave["app"] = behaviour{code: 0}
	w.meet(podOf(v1.RestartPolicyOnFailure, v1.Container{Name: "app", LivenessProbe: probeSpec(1)}))
	for i := range 8 {
		if got := w.container("app").RestartCount; got != int32(i) {
			t.Fatalf("restart count %d, want %d", got, i)
		}
		w.advance(5 * time.Second)
		w.probe("app", fact.Liveness, fact.Failure, "HTTP probe failed with statuscode: 404")
		w.advance(6 * time.Minute)
		if s := Status(w.state); s.Phase != v1.PodRunning {
			t.Fatalf("after %d kills the pod is %s", i+1, s.Phase)
		}
	}
	if got := w.container("app").LastTerminationState.Terminated.Message; got != "Ended by the node: liveness probe failed once (HTTP probe failed with statuscode: 404); the process then exited with code 0." {
		t.Error(got)
	}
}

// A container that fails again and again waits 0 s, 10 s, 20 s … 5 min.
func TestCrashLoopTimes(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
	for i, want := range []time.Duration{0, 10, 20, 40, 80, 160, 300, 300, 300} {
		w.advance(time.Second)
		w.exit("app", 1)
		ended := w.now
		for w.runs["app"] == nil {
			w.advance(time.Second)
			if w.now.Sub(ended) > 10*time.Minute {
				t.Fatalf("no restart %d", i)
			}
		}
		if got := w.runs["app"].started.Sub(ended); got != want*time.Second {
			t.Errorf("restart %d came after %v, want %v", i+1, got, want*time.Second)
		}
	}
	w.advance(11 * time.Minute)
	w.exit("app", 1)
	if w.runs["app"] == nil {
		t.Error("a container that ran for more than ten minutes should start at once")
	}
}
