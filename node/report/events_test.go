package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
)

// The wording is kubelet's of v1.37.2; where it says nothing, nothing is said.
func TestEventsOfFacts(t *testing.T) {
	cases := []struct {
		fact fact.Fact
		want string
	}{
		{of("c", 0, fact.ImagePulling{Image: "i"}), `Normal Pulling c: Pulling image "i"`},
		{of("c", 0, fact.ImageReady{Image: "i", Present: true}), `Normal Pulled c: Container image "i" already present on machine and can be accessed by the pod`},
		{
			of("c", 0, fact.ImageReady{Image: "i", Took: time.Second, Waited: 2 * time.Second, Bytes: 5}),
			`Normal Pulled c: Successfully pulled image "i" in 1s (2s including waiting). Image size: 5 bytes.`,
		},
		{
			of("c", 0, fact.ImageFailed{Image: "i", Reason: "ErrImagePull", Message: "no such host"}),
			`Warning Failed c: Failed to pull image "i": no such host; Warning Failed c: Error: ErrImagePull`,
		},
		{
			of("c", 0, fact.ImageFailed{Image: "i", Reason: "ErrImageNeverPull", Message: "m"}),
			"Warning ErrImageNeverPull c: m; Warning Failed c: Error: ErrImageNeverPull",
		},
		{of("c", 0, fact.Created{}), "Normal Created c: Container created"},
		{of("c", 0, fact.Started{}), "Normal Started c: Container started"},
		{of("c", 0, fact.Started{Adopted: true}), ""},
		{of("c", 0, fact.StartFailed{Reason: "RunContainerError", Message: "m"}), "Warning Failed c: Error: m"},
		{of("c", 0, fact.StartFailed{Reason: cri.ReasonCalledOff, Message: "m"}), ""},
		{of("c", 0, fact.HookRan{Hook: fact.PostStart, Error: "e"}), "Warning FailedPostStartHook c: PostStartHook failed"},
		{of("c", 0, fact.HookRan{Hook: fact.PreStop}), ""},
		{of("c", 0, fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Message: "m"}), "Warning Unhealthy c: Liveness probe failed: m"},
		{of("c", 0, fact.Probed{Probe: fact.Startup, Verdict: fact.Warning, Message: "m"}), "Warning ProbeWarning c: Startup probe warning: m"},
		{of("c", 0, fact.Probed{Probe: fact.Readiness, Verdict: fact.Unknown, Message: "m"}), "Warning Unhealthy c: Readiness probe errored and resulted in unknown state: m"},
		{of("c", 0, fact.Probed{Probe: fact.Readiness, Verdict: fact.Success}), ""},
		{of("c", 0, fact.Kill{Message: "Stopping container c"}), "Normal Killing c: Stopping container c"},
		{of("c", 0, fact.BackOff{What: "container"}), "Warning BackOff c: Back-off restarting failed container c in pod p_ns(u1)"},
		{
			of("c", 0, fact.BackOff{What: "image", Message: `Back-off pulling image "volume:1": ErrImagePull: no such host`}),
			`Normal BackOff c: Back-off pulling image "volume:1"; Warning Failed c: Error: ImagePullBackOff`,
		},
		{of("", 0, fact.SetUpFailed{Reason: "FailedMount", Message: "m"}), "Warning FailedMount : m"},
		{of("", 0, fact.Refused{Reason: "OutOfcpu", Message: "m"}), "Warning OutOfcpu : m"},
		{of("", 0, fact.SetPhase{Phase: v1.PodFailed, Reason: "DeadlineExceeded", Message: "m"}), "Normal DeadlineExceeded : m"},
		{of("", 0, fact.SetPhase{Phase: v1.PodRunning}), ""},
		{
			of("", 0, resize(v1.PodResizeInProgress, v1.ConditionTrue, "")),
			`Normal ResizeStarted : Pod resize started: {"containers":[{"name":"c","resources":{}}],"generation":2}`,
		},
		{
			of("", 0, resize(v1.PodResizeInProgress, v1.ConditionTrue, v1.PodReasonError)),
			`Warning ResizeError : Pod resize error: {"containers":[{"name":"c","resources":{}}],"generation":2,"error":"m"}`,
		},
		{
			of("", 0, resize(v1.PodResizeInProgress, v1.ConditionFalse, fact.ResizeCompleted)),
			`Normal ResizeCompleted : Pod resize completed: {"containers":[{"name":"c","resources":{}}],"generation":2}`,
		},
		{of("", 0, resize(v1.PodResizeInProgress, v1.ConditionFalse, "")), ""},
		{
			of("", 0, resize(v1.PodResizePending, v1.ConditionTrue, v1.PodReasonDeferred)),
			`Warning ResizeDeferred : Pod resize Deferred: {"containers":[{"name":"c","resources":{}}],"generation":2,"error":"m"}`,
		},
		{of("", 0, resize(v1.PodResizePending, v1.ConditionFalse, "")), ""},
	}
	for _, c := range cases {
		var got []string
		for _, e := range eventsOf(testPod, c.fact) {
			got = append(got, fmt.Sprintf("%s %s %s: %s", e.kind, e.reason, e.container, e.message))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s %+v:\n got %s\nwant %s", c.fact.Body.Kind(), c.fact.Body, s, c.want)
		}
	}
}

func TestEventsNameTheContainer(t *testing.T) {
	pod := testPod.DeepCopy()
	pod.Spec.InitContainers = []v1.Container{{Name: "i"}}
	pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "e"}}}
	for name, want := range map[string]string{
		"c": "spec.containers{c}", "i": "spec.initContainers{i}", "e": "spec.ephemeralContainers{e}", "": "",
	} {
		if got := Reference(pod, name).FieldPath; got != want {
			t.Errorf("container %q is %q, want %q", name, got, want)
		}
	}
}

func resize(kind v1.PodConditionType, status v1.ConditionStatus, reason string) fact.SetCondition {
	c := v1.PodCondition{Type: kind, Status: status, Reason: reason, ObservedGeneration: 2}
	if reason == v1.PodReasonError || reason == v1.PodReasonDeferred {
		c.Message = "m"
	}
	return fact.SetCondition{Condition: c}
}
