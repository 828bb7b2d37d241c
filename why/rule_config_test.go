package why

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// Beside a kubelet changes that only variables show are seen by what the next run is given.
// Where that was not seen, what fails from its start on and had run well may do so since one.
func TestVariablesMayHaveChanged(t *testing.T) {
	mode := []v1.EnvVar{{Name: "MODE", ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "settings"}, Key: "mode"}}}}
	other := fact.Started{Compared: true, OtherVariables: []string{"MODE"}}
	for _, c := range []struct {
		name  string
		env   []v1.EnvVar
		ran   time.Duration
		next  fact.Started
		cause answer.Cause
	}{
		{"it reads one from a ConfigMap", mode, 90 * time.Second, fact.Started{}, answer.CauseUnknown},
		{"it had never run well", mode, time.Second, fact.Started{}, answer.AppExitError},
		{"its variables are its spec's", []v1.EnvVar{{Name: "MODE", Value: "good"}}, 90 * time.Second, fact.Started{}, answer.AppExitError},
		{"it was given another", mode, 90 * time.Second, other, answer.ConfigChanged},
		{"it was given the same", mode, 90 * time.Second, fact.Started{Compared: true}, answer.AppExitError},
		{"a Service came", mode, 90 * time.Second, fact.Started{Compared: true, OtherVariables: []string{"WEB_PORT", "WEB_SERVICE_HOST"}}, answer.AppExitError},
		{"another, and it had never run well", mode, time.Second, other, answer.AppExitError},
	} {
		pod := web(silentProbe, func(of *v1.Container) { of.Env = c.env })
		pod.Namespace, pod.Name, pod.UID = "shop", "web-1", "u1"
		key := fact.Pod{Namespace: "shop", Name: "web-1", UID: "u1"}
		var facts []fact.Fact
		see := func(after time.Duration, attempt int32, b fact.Body) {
			f := fact.Fact{ID: fact.ID(len(facts) + 1), At: dawn.Add(after), Seen: dawn.Add(after), Pod: key, Body: b}
			if b.Kind() != (fact.SpecSeen{}).Kind() && b.Kind() != (fact.StatusSeen{}).Kind() {
				f.Container, f.Attempt = "app", attempt
			}
			facts = append(facts, f)
		}
		see(-time.Second, 0, fact.SpecSeen{Object: pod})
		see(0, 0, fact.Started{ContainerID: "c://0", PID: 100})
		see(c.ran, 0, fact.Exited{ContainerID: "c://0", ExitCode: 0, OOMKnown: true, StatusKnown: true})
		c.next.ContainerID, c.next.PID = "c://1", 200
		see(c.ran+time.Second, 1, c.next)
		see(c.ran+2*time.Second, 1, fact.Exited{ContainerID: "c://1", ExitCode: 1, OOMKnown: true, StatusKnown: true})
		see(c.ran+3*time.Second, 2, fact.Started{ContainerID: "c://2", PID: 300})
		see(c.ran+3*time.Second, 2, fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}})
		began := fact.Fact{ID: 1, Seen: dawn.Add(-time.Hour), Body: fact.AgentStarted{Beside: "kubelet", Sources: []fact.Source{"connector", "signals"}}}
		a := Explain(history.New(key, facts, []fact.Fact{began}, nil), Options{Now: dawn.Add(c.ran + time.Minute)})
		if v := a.Verdicts[0]; v.Cause != c.cause || slices.Contains(v.Possible, answer.ConfigChanged) != (c.cause == answer.CauseUnknown) {
			t.Errorf("%s: %s\n%s", c.name, v.Cause, a.Text(answer.Style{Wide: true}))
		}
	}
}
