package why

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// besideKubelet asks about a pod whose statuses were all that was seen of its kubelet.
func besideKubelet(pod *v1.Pod, bodies ...fact.Body) answer.Answer {
	pod.Namespace, pod.Name, pod.UID = "shop", "web-1", "u1"
	key := fact.Pod{Namespace: "shop", Name: "web-1", UID: "u1"}
	facts := []fact.Fact{{ID: 1, Seen: dawn, Pod: key, Body: fact.SpecSeen{Object: pod}}}
	for i, b := range bodies {
		at := dawn.Add(time.Duration(i+1) * time.Second)
		f := fact.Fact{ID: fact.ID(i + 2), At: at, Seen: at, Pod: key, Body: b}
		switch b := b.(type) {
		case fact.Started, fact.Exited, fact.Probed, fact.Looked, fact.OOMKilled:
			f.Container = "app"
		case fact.Act:
			if _, ok := b.Body.(fact.Marked); ok {
				f.Container = "app"
				for _, p := range fact.All[fact.Probed](facts) {
					f.Because = append(f.Because, p.ID)
				}
			}
		}
		facts = append(facts, f)
	}
	began := fact.Fact{ID: 1, Seen: dawn.Add(-time.Hour), Body: fact.AgentStarted{Beside: "kubelet", Sources: []fact.Source{"connector", "signals"}}}
	return Explain(history.New(key, facts, []fact.Fact{began}, nil), Options{Now: dawn.Add(time.Minute)})
}

// That a resize failed kubelet says in a condition only.
func TestResizeThatKubeletRefuses(t *testing.T) {
	failed := v1.PodCondition{
		Type: v1.PodResizeInProgress, Status: v1.ConditionTrue, Reason: v1.PodReasonError,
		Message: `cannot decrease memory limits: [attempting to set pod memory limit (20971520) below current usage (61046784), attempting to set container "app" memory limit (20971520) below current usage (61046784)]`,
	}
	ready := v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue}
	status := v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{ready, failed}}
	a := besideKubelet(web(silentProbe), fact.Started{ContainerID: "c://0", PID: 100},
		fact.StatusSeen{Status: status}, fact.Act{By: "kubelet", Basis: fact.Told, Body: fact.SetCondition{Condition: failed}})
	if v := a.Verdicts[0]; v.Cause != answer.RuntimeFailed || v.Container != "app" || !strings.Contains(v.Text, "Container app uses more memory (58Mi) than the new limit that its spec asks for (20Mi)") {
		t.Error(a.Text(answer.Style{Wide: true}))
	}
}

// What keeps the object of a pod whose containers have ended is told as soon as they have.
func TestFinalizersKeepTheObject(t *testing.T) {
	pod := web(silentProbe)
	pod.Finalizers = []string{"example.com/hold"}
	ran := []fact.Body{fact.Started{ContainerID: "c://0", PID: 100}, fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodRunning}}, fact.DeletionSeen{GraceSeconds: 1}}
	if a := besideKubelet(pod, ran...); a.Symptoms[0].Kind != answer.Terminating || strings.Contains(a.Verdicts[0].Text, "finalizers") {
		t.Error(a.Text(answer.Style{Wide: true}))
	}
	ran = append(ran, fact.Exited{ContainerID: "c://0", ExitCode: 0, OOMKnown: true, StatusKnown: true})
	if a := besideKubelet(pod, ran...); a.Symptoms[0].Kind != answer.Terminating || !strings.Contains(a.Verdicts[0].Text, "Its finalizers (example.com/hold) keep the object") {
		t.Error(a.Text(answer.Style{Wide: true}))
	}
	if a := besideKubelet(pod, append(ran, fact.ObjectGone{})...); a.Symptoms[0].Kind != answer.Disappeared || strings.Contains(a.Verdicts[0].Text, "finalizers") {
		t.Error(a.Text(answer.Style{Wide: true}))
	}
}

// Of an answer kubelet says the status alone: whose it was is known by who listens on the port
// that the spec names, and else not for sure.
func TestWhoAnsweredByKubeletsWord(t *testing.T) {
	said := fact.Probed{Probe: fact.Readiness, Verdict: fact.Failure, By: fact.BySay, Message: "HTTP probe failed with statuscode: 503", Evidence: &fact.Evidence{Handler: fact.HTTPGet, Status: 503}}
	for name, c := range map[string]struct {
		at        []fact.Listener
		cause     answer.Cause
		certainty answer.Certainty
	}{
		"another container listens": {[]fact.Listener{{Address: "0.0.0.0:8080", Other: true, Command: "proxy"}, {Address: "0.0.0.0:9090", PID: 100, Command: "app"}}, answer.MeshSidecarAnswered, answer.Inferred},
		"it listens itself":         {[]fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Command: "app"}}, answer.AppUnhealthy, answer.Recorded},
		"nobody looked":             {nil, answer.AppUnhealthy, answer.Inferred},
	} {
		pod := with("side")(web(func(c *v1.Container) { c.LivenessProbe, c.ReadinessProbe = nil, httpProbe(8080) }))
		pod.Spec.Containers[0].ReadinessProbe.FailureThreshold = 1
		bodies := []fact.Body{
			fact.Started{ContainerID: "c://0", PID: 100},
			fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{Name: "app", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}}},
			said, said,
		}
		if c.at != nil {
			bodies = append(bodies, fact.Looked{PID: 100, State: "S", Over: time.Second, Listeners: c.at})
		}
		a := besideKubelet(pod, append(bodies, said)...)
		if v := a.Verdicts[0]; v.Cause != c.cause || v.Certainty != c.certainty {
			t.Errorf("%s: %s", name, a.Text(answer.Style{Wide: true}))
		}
	}
}

// What kubelet's first status of a run came after is not all that keeps it from being ready.
func TestNeverReadyForMoreThanTheFirstAttempts(t *testing.T) {
	early := fact.Probed{Probe: fact.Readiness, Verdict: fact.Failure, By: fact.ByTap, Message: "connection refused", Evidence: &fact.Evidence{Handler: fact.HTTPGet, Errno: "ECONNREFUSED", Target: "http://10.0.0.5:8080/", Remote: "10.0.0.5:8080"}}
	no := fact.Probed{Probe: fact.Readiness, Verdict: fact.Failure, By: fact.ByTap, Message: "HTTP probe failed with statuscode: 503", Evidence: &fact.Evidence{Handler: fact.HTTPGet, Status: 503, Connect: 1, Target: "http://10.0.0.5:8080/", Remote: "10.0.0.5:8080"}}
	pod := web(func(c *v1.Container) { c.LivenessProbe, c.ReadinessProbe = nil, httpProbe(8080) })
	started := true
	running := v1.ContainerStatus{Name: "app", Started: &started, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
	a := besideKubelet(pod, fact.Started{ContainerID: "c://0", PID: 100}, early,
		fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{running}}},
		fact.Act{By: "kubelet", Basis: fact.Told, Body: fact.Marked{Started: true}}, no, no, no)
	if v := a.Verdicts[0]; v.Cause != answer.AppUnhealthy || !strings.Contains(v.Text, "503") {
		t.Error(a.Text(answer.Style{Wide: true}))
	}
}

// That no attempt succeeded the status shows, where kubelet's counters do not say so yet.
func TestNeverReadyByItsStatus(t *testing.T) {
	tls := fact.Probed{Probe: fact.Readiness, Verdict: fact.Failure, By: fact.BySay, Message: `Get "https://10.0.0.5:8080/": http: server gave HTTP response to HTTPS client`, Evidence: &fact.Evidence{Handler: fact.HTTPGet, Error: "http: server gave HTTP response to HTTPS client"}}
	for name, c := range map[string]struct {
		threshold int32
		since     time.Duration
		cause     answer.Cause
	}{
		"not ready since before it was started": {3, 0, answer.ProbeWrongScheme},
		"ready meanwhile":                       {3, 2 * time.Second, answer.CauseUnknown},
		"ready for too short to be shown":       {1, 0, answer.ProbeWrongScheme},
	} {
		pod := web(func(c *v1.Container) { c.LivenessProbe, c.ReadinessProbe = nil, httpProbe(8080) })
		pod.Spec.Containers[0].ReadinessProbe.FailureThreshold, pod.Spec.Containers[0].ReadinessProbe.PeriodSeconds = c.threshold, 2
		not := v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionFalse, Reason: "ContainersNotReady"}
		not.LastTransitionTime.Time = dawn.Add(c.since)
		running := []v1.ContainerStatus{{Name: "app", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}
		a := besideKubelet(pod, fact.Started{ContainerID: "c://0", PID: 100},
			fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{not}, ContainerStatuses: running}}, tls, tls)
		if v := a.Verdicts[0]; v.Cause != c.cause {
			t.Errorf("%s: %s", name, a.Text(answer.Style{Wide: true}))
		}
	}
}

// Kubelet's word of a failed command may be read before the runtime tells its exit code.
func TestProbesCommandKilledForMemory(t *testing.T) {
	code := 137
	no := func(code *int) fact.Probed {
		return fact.Probed{Probe: fact.Readiness, Verdict: fact.Failure, By: fact.BySay, Evidence: &fact.Evidence{Handler: fact.Exec, ExitCode: code}}
	}
	killed := fact.OOMKilled{PID: 200, Command: "dd", Limit: 24 << 20, AnonRSS: 24 << 20, Constraint: "CONSTRAINT_MEMCG"}
	other := 1
	for name, c := range map[string]struct {
		first *int
		cause answer.Cause
	}{"the first was told": {&code, answer.MemoryLimitChild}, "it ended otherwise": {&other, answer.CauseUnknown}} {
		pod := web(func(k *v1.Container) {
			k.LivenessProbe, k.ReadinessProbe = nil, &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"dd"}}}, FailureThreshold: 3, PeriodSeconds: 2}
			k.Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("24Mi")}
		})
		running := []v1.ContainerStatus{{Name: "app", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}
		a := besideKubelet(pod, fact.Started{ContainerID: "c://0", PID: 100},
			fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: running}}, killed, no(c.first), killed, no(nil))
		if v := a.Verdicts[0]; v.Cause != c.cause {
			t.Errorf("%s: %s", name, a.Text(answer.Style{Wide: true}))
		}
	}
}

// A container that still runs was not ended.
func TestStillStartingWasNotEnded(t *testing.T) {
	pod := web(func(c *v1.Container) { c.LivenessProbe, c.StartupProbe = nil, httpProbe(8080) })
	refused := fact.Probed{Probe: fact.Startup, Verdict: fact.Failure, By: fact.BySay, Evidence: &fact.Evidence{Handler: fact.HTTPGet, Errno: "ECONNREFUSED"}}
	running := []v1.ContainerStatus{{Name: "app", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}
	a := besideKubelet(pod, fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: running}}, fact.Started{ContainerID: "c://0", PID: 100}, refused)
	if text := a.Text(answer.Style{Wide: true}); strings.Contains(text, "it was ended") {
		t.Error(text)
	}
}
