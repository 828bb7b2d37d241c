package record

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var start = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
}

func end(reason string, code int32, from, to int) *v1.ContainerStateTerminated {
	return &v1.ContainerStateTerminated{Reason: reason, ExitCode: code, StartedAt: at(from), FinishedAt: at(to)}
}

// version is a pod with one container in one state.
func version(phase v1.PodPhase, restarts int32, ready bool, state, last v1.ContainerState) *v1.Pod {
	return &v1.Pod{
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}},
		Status: v1.PodStatus{Phase: phase, ContainerStatuses: []v1.ContainerStatus{{
			Name: "c", RestartCount: restarts, Ready: ready, Started: &ready, State: state, LastTerminationState: last,
		}}},
	}
}

func isRunning(from int) v1.ContainerState {
	return v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: at(from)}}
}

func isTerminated(t *v1.ContainerStateTerminated) v1.ContainerState {
	return v1.ContainerState{Terminated: t}
}

func isWaiting(reason string) v1.ContainerState {
	return v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}
}

// One agent publishes every change, the other what a poll finds: the end of the
// first attempt is seen as state by the one, and as last state by the other.
func TestPollingDoesNotShow(t *testing.T) {
	first, none := end("Error", 1, 0, 5), v1.ContainerState{}
	each := History{Versions: []*v1.Pod{
		version(v1.PodPending, 0, false, isWaiting("ContainerCreating"), none),
		version(v1.PodRunning, 0, false, isRunning(0), none),
		version(v1.PodRunning, 0, true, isRunning(0), none),
		version(v1.PodRunning, 0, false, isTerminated(first), none),
		version(v1.PodRunning, 1, false, isRunning(6), isTerminated(first)),
		version(v1.PodRunning, 1, true, isRunning(6), isTerminated(first)),
	}}
	polled := History{Versions: []*v1.Pod{
		version(v1.PodPending, 0, false, isWaiting("ContainerCreating"), none),
		version(v1.PodRunning, 0, true, isRunning(0), none),
		version(v1.PodRunning, 1, true, isRunning(6), isTerminated(first)),
	}}
	if found := Compare(Reduce(polled, nil), Reduce(each, nil)); len(found) > 0 {
		t.Errorf("differences: %+v", found)
	}
	for _, want := range []Line{{"container c #0", "ran, ended Error(1)"}, {"container c #0 while it ran", "ready true, started true"}} {
		if lines := Reduce(each, nil); !slices.Contains(lines, want) {
			t.Errorf("%v is not among %v", want, lines)
		}
	}
}

// Whether a pod that ended at once was Ready for a moment depends on when somebody looked.
func TestReadyForAMomentIsLeftOut(t *testing.T) {
	for seconds, left := range map[int]bool{1: true, 5: false} {
		ended := version(v1.PodFailed, 0, false, isTerminated(end("Error", 3, 0, seconds)), v1.ContainerState{})
		waits, runs := version(v1.PodPending, 0, false, isWaiting("ContainerCreating"), v1.ContainerState{}), version(v1.PodRunning, 0, true, isRunning(0), v1.ContainerState{})
		for pod, ready := range map[*v1.Pod]v1.ConditionStatus{waits: v1.ConditionFalse, runs: v1.ConditionTrue, ended: v1.ConditionFalse} {
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: ready}}
		}
		if found := Compare(conditions([]*v1.Pod{waits, ended}), conditions([]*v1.Pod{waits, runs, ended})); (len(found) == 0) != left {
			t.Errorf("after %d s: %+v", seconds, found)
		}
	}
}

// What waits after an attempt belongs to it, and its end is counted once.
func TestBackOffBelongsToTheAttemptBefore(t *testing.T) {
	first := end("Error", 1, 0, 5)
	lines := Reduce(History{Versions: []*v1.Pod{
		version(v1.PodRunning, 0, false, isWaiting("CrashLoopBackOff"), isTerminated(first)),
	}}, nil)
	for _, want := range []Line{
		{"container c #0", "ran, ended Error(1)"},
		{"container c at last", "waiting CrashLoopBackOff, ready false, started false, restarts 0"},
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%v is not among %v", want, lines)
		}
	}
}

func TestPhaseRunningIsPutIn(t *testing.T) {
	ran := version(v1.PodSucceeded, 0, false, isTerminated(end("Completed", 0, 0, 1)), v1.ContainerState{})
	started := version(v1.PodPending, 0, false, isWaiting("ContainerCreating"), v1.ContainerState{})
	if got := phases([]*v1.Pod{started, ran}); !slices.Equal(got, []string{"Pending", "Running", "Succeeded"}) {
		t.Errorf("phases are %v", got)
	}
	epoch := end("StartError", 128, 0, 1)
	epoch.StartedAt = metav1.Unix(0, 0)
	failed := version(v1.PodFailed, 0, false, isTerminated(epoch), v1.ContainerState{})
	if got := phases([]*v1.Pod{started, failed}); !slices.Equal(got, []string{"Pending", "Failed"}) {
		t.Errorf("phases of a pod that never ran are %v", got)
	}
}

func TestNormal(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{NodeName: "peer"}}
	for text, want := range map[string]string{
		"Successfully assigned d/p to peer":                 "Successfully assigned d/p to <node>",
		"dial tcp 10.1.2.3:80: connect: connection refused": "dial tcp <ip>:80: connect: connection refused",
		"pulled in 120ms (1.5s including waiting)":          "pulled in <time> (<time> including waiting)",
		"back-off 10s restarting failed container=c":        "back-off 10s restarting failed container=c",
		"read tcp 10.1.2.3:4711->10.1.2.4:80: i/o timeout":  "read tcp <ip><ip>:80: i/o timeout",
		"pod p_d(0b8c8ed5-9a3c-4f5e-9c6d-0123456789ab)":     "pod p_d(<uid>)",
	} {
		if got := normal(pod, text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
