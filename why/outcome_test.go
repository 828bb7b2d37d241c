package why

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// The change is about the probe that failed, whatever else the container has.
func TestOutcomeOfTheProbeThatFailed(t *testing.T) {
	pod := web(func(c *v1.Container) {
		c.ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/ready"}}}
		c.LivenessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"alive"}}}}
	})
	s := tell(t, pod)
	s.probe("app", 3, status(fact.Readiness, 503, "no database"))
	v := s.ask().Verdicts[0]
	want := "mend what the answer reports; if the pod can do its work without that: set readinessProbe.httpGet.path of container app to a path that does not test it"
	if v.Cause != answer.AppUnhealthy || !slices.ContainsFunc(v.Fixes, func(f answer.Fix) bool { return f.Text == want }) {
		t.Errorf("%s: %+v", v.Cause, v.Fixes)
	}
}

// The change fits the settings that the pod already has.
func TestOutcomesFitThePod(t *testing.T) {
	pod := web(silentProbe)
	h := inquiryOf(&answer.Answer{}, pod)
	v := answer.Verdict{Container: pod.Spec.Containers[0].Name}
	pod.Spec.RestartPolicy = v1.RestartPolicyOnFailure
	if f := restartPolicyOutcome(h, &v); strings.Contains(f.Text, "OnFailure") {
		t.Error(f.Text)
	}
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	if f := restartPolicyOutcome(h, &v); !strings.Contains(f.Text, "OnFailure or Always") {
		t.Error(f.Text)
	}
	if f := slowStartOutcome(h, &v); !strings.Contains(f.Text, "add a startupProbe") {
		t.Error(f.Text)
	}
	pod.Spec.Containers[0].StartupProbe = &v1.Probe{FailureThreshold: 5}
	if f := slowStartOutcome(h, &v); !strings.Contains(f.Text, "raise failureThreshold of its startupProbe (now 5)") {
		t.Error(f.Text)
	}
}
