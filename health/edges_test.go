package health

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
)

// count tells how many decisions of a kind there were, about any container.
func (w *world) count(kind fact.Kind) int {
	n := 0
	for _, s := range w.steps {
		for _, d := range s.decisions {
			if d.Body().Kind() == kind {
				n++
			}
		}
	}
	return n
}

func (w *world) condition(kind v1.PodConditionType) v1.PodCondition {
	if c := findCondition(Status(w.state).Conditions, kind); c != nil {
		return *c
	}
	return v1.PodCondition{}
}

func TestNothingBeforeAdmission(t *testing.T) {
	w := newWorld(t, Policy{})
	w.see(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
	if s := Status(w.state); s.Phase != v1.PodPending || len(s.Conditions) > 0 || w.count("SetUp") != 0 || !Deadline(w.state).IsZero() {
		t.Errorf("%+v", s)
	}
}

func TestRefused(t *testing.T) {
	w := newWorld(t, Policy{})
	w.see(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
	w.feed("", 0, fact.Refused{Reason: "OutOfcpu", Message: "Node didn't have enough resource: cpu"})
	w.settle()
	s := Status(w.state)
	if s.Phase != v1.PodFailed || s.Reason != "OutOfcpu" || s.Message != "Pod was rejected: Node didn't have enough resource: cpu" {
		t.Errorf("%+v", s)
	}
	if w.count("SetUp")+w.count("TearDown")+w.count("Release") != 0 {
		t.Error("there was nothing to make or to take away")
	}
	w.delete(0)
	if !w.state.p.Gone || w.count("TearDown") != 0 {
		t.Error("it should be released")
	}
}

func TestFactsOfOthersChangeNothing(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
	before := mustJSON(w.state)
	f := fact.Fact{ID: 99, Seen: w.now, Pod: fact.Pod{UID: "another"}, Body: fact.DeletionSeen{}}
	after, decisions := Step(w.state, f)
	if string(mustJSON(after)) != string(before) || len(decisions) > 0 {
		t.Error("a fact about another pod had an effect")
	}
	f.Pod, f.Body, f.Because = w.key, fact.Start{}, []fact.ID{1}
	if after, _ := Step(w.state, f); string(mustJSON(after)) != string(before) {
		t.Error("a decision had an effect on the state")
	}
}

func TestActiveDeadline(t *testing.T) {
	w := newWorld(t, Policy{})
	pod := podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"})
	seconds := int64(90)
	pod.Spec.ActiveDeadlineSeconds = &seconds
	w.behave["app"] = behaviour{ignores: true}
	w.meet(pod)
	w.advance(90 * time.Second)
	if s := Status(w.state); s.Phase != v1.PodRunning {
		t.Errorf("while containers run the pod is not %s", s.Phase)
	}
	w.advance(30 * time.Second)
	s := Status(w.state)
	if s.Phase != v1.PodFailed || s.Reason != "DeadlineExceeded" || s.Message != "Pod was active on the node longer than the specified deadline" {
		t.Errorf("%+v", s)
	}
}

func TestReadinessGates(t *testing.T) {
	w := newWorld(t, Policy{})
	pod := podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"})
	pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "a.example/x"}, {ConditionType: "b.example/y"}}
	w.meet(pod)
	w.feed("", 0, fact.ConditionsSeen{Conditions: []v1.PodCondition{{Type: "b.example/y", Status: v1.ConditionFalse}}})
	got := w.condition(v1.PodReady)
	want := `corresponding condition of pod readiness gate "a.example/x" does not exist., the status of pod readiness gate "b.example/y" is not "True", but False`
	if got.Status != v1.ConditionFalse || got.Reason != "ReadinessGatesNotReady" || got.Message != want {
		t.Errorf("%+v", got)
	}
	if w.condition(v1.ContainersReady).Status != v1.ConditionTrue {
		t.Error("the containers are ready nevertheless")
	}
	w.advance(time.Minute)
	w.feed("", 0, fact.ConditionsSeen{Conditions: []v1.PodCondition{
		{Type: "a.example/x", Status: v1.ConditionTrue}, {Type: "b.example/y", Status: v1.ConditionTrue},
	}})
	if got := w.condition(v1.PodReady); got.Status != v1.ConditionTrue || !got.LastTransitionTime.Time.Equal(w.now) {
		t.Errorf("%+v", got)
	}
	if w.condition("a.example/x").Status != v1.ConditionTrue {
		t.Error("foreign conditions are kept")
	}
}

func TestObservedGeneration(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
	w.advance(time.Minute)
	pod := w.state.p.Object.DeepCopy()
	pod.Generation = 7
	w.see(pod)
	s := Status(w.state)
	if s.ObservedGeneration != 7 {
		t.Error(s.ObservedGeneration)
	}
	for _, c := range s.Conditions {
		if c.ObservedGeneration != 7 || !c.LastTransitionTime.Time.Equal(epoch) {
			t.Errorf("%+v", c)
		}
	}
}

func TestScheduledSince(t *testing.T) {
	w := newWorld(t, Policy{})
	w.see(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
	since := metav1.NewTime(epoch.Add(-time.Hour))
	w.feed("", 0, fact.ConditionsSeen{Conditions: []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: since}}})
	w.feed("", 0, fact.Admitted{})
	if got := w.condition(v1.PodScheduled); !got.LastTransitionTime.Equal(&since) {
		t.Errorf("%+v", got)
	}
}

// The first status already names the node's address, as kubelet's does.
func TestHostIPFromTheStart(t *testing.T) {
	w := newWorld(t, Policy{})
	w.see(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
	w.feed("", 0, fact.Admitted{HostIP: "192.0.2.1"})
	if s := Status(w.state); s.HostIP != "192.0.2.1" || len(s.HostIPs) != 1 || s.PodIP != "" {
		t.Errorf("%s", mustJSON(s))
	}
	w.settle()
	if s := Status(w.state); len(s.HostIPs) != 1 || s.PodIP != "10.0.0.7" {
		t.Errorf("%s", mustJSON(s))
	}
}

// A second container starts when the postStart hook of the first has run: there
// are pods that hold the application back until a proxy is up.
func TestPostStartHoldsTheNextContainer(t *testing.T) {
	w := newWorld(t, Policy{})
	w.hookTakes = 20 * time.Second
	w.meet(podOf(v1.RestartPolicyAlways,
		v1.Container{Name: "proxy", Lifecycle: &v1.Lifecycle{PostStart: &v1.LifecycleHandler{}}, ReadinessProbe: probeSpec(1)},
		v1.Container{Name: "app"}))
	if w.runs["app"] != nil || w.container("proxy").State.Waiting == nil || len(Probes(w.state)) > 0 {
		t.Errorf("%s", mustJSON(Status(w.state)))
	}
	w.advance(20 * time.Second)
	if w.runs["app"] == nil || w.container("proxy").State.Running == nil || len(Probes(w.state)) != 1 {
		t.Errorf("%s", mustJSON(Status(w.state)))
	}
}

func TestStartupGatesTheOthers(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{
		Name: "app", StartupProbe: probeSpec(3), LivenessProbe: probeSpec(1), ReadinessProbe: probeSpec(1),
	}))
	kinds := func() (all []string) {
		for _, p := range Probes(w.state) {
			all = append(all, string(p.Key.Kind))
		}
		return all
	}
	if got := strings.Join(kinds(), " "); got != "Startup" {
		t.Error(got)
	}
	w.probe("app", fact.Liveness, fact.Failure, "too early to count")
	w.probe("app", fact.Startup, fact.Failure, "")
	w.probe("app", fact.Startup, fact.Unknown, "neither")
	w.probe("app", fact.Startup, fact.Failure, "")
	w.probe("app", fact.Startup, fact.Success, "")
	if got := strings.Join(kinds(), " "); got != "Liveness Readiness" {
		t.Error(got)
	}
	if c := w.container("app"); c.Ready || !*c.Started {
		t.Errorf("%+v", c)
	}
	w.delete(30)
	if got := strings.Join(kinds(), " "); got != "" {
		t.Errorf("probes of an ended container: %s", got)
	}
}

func TestOnlyReadinessIsProbedInAnEndingPod(t *testing.T) {
	w := newWorld(t, Policy{})
	w.behave["app"] = behaviour{ignores: true}
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", LivenessProbe: probeSpec(1), ReadinessProbe: probeSpec(1)}))
	w.probe("app", fact.Readiness, fact.Success, "")
	w.delete(30)
	if p := Probes(w.state); len(p) != 1 || p[0].Key.Kind != fact.Readiness {
		t.Errorf("%+v", p)
	}
	if w.condition(v1.PodReady).Status != v1.ConditionTrue {
		t.Error("it serves as long as it is ready")
	}
	w.probe("app", fact.Readiness, fact.Failure, "")
	if w.condition(v1.PodReady).Status != v1.ConditionFalse {
		t.Error("and no longer")
	}
}

func TestWhatAProbeNeeds(t *testing.T) {
	probe := probeSpec(1)
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", LivenessProbe: probe}))
	got := Probes(w.state)[0]
	if got.Spec != probe || got.Container.Name != "app" || got.Host != "10.0.0.7" || got.ContainerID == "" || !got.StartedAt.Equal(epoch) {
		t.Errorf("%+v", got)
	}
}

func TestProbeGrace(t *testing.T) {
	own := int64(7)
	probe := probeSpec(1)
	probe.TerminationGracePeriodSeconds = &own
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", LivenessProbe: probe}))
	w.probe("app", fact.Liveness, fact.Failure, "")
	for _, s := range w.steps {
		for _, d := range s.decisions {
			if k, ok := d.Body().(fact.Kill); ok && k.GraceSeconds != own {
				t.Errorf("%+v", k)
			}
		}
	}
}

func TestKillIsAskedAgain(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", LivenessProbe: probeSpec(1)}))
	w.stubborn = 2
	w.probe("app", fact.Liveness, fact.Failure, "")
	w.advance(25 * time.Second)
	if w.count("Kill") != 3 || w.container("app").RestartCount != 1 {
		t.Errorf("%d kills, %s", w.count("Kill"), mustJSON(w.container("app")))
	}
}

// Two sidecars end in reverse order, and the first of them not before the grace
// period is over if the main container holds on.
func TestSidecarsEndInReverse(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"})
	for _, name := range []string{"first", "second"} {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: name, Image: "img:1", RestartPolicy: &always})
	}
	w := newWorld(t, Policy{})
	w.meet(pod)
	var order []string
	w.onStep = func(s step) {
		for _, d := range s.decisions {
			if _, ok := d.Body().(fact.Kill); ok {
				order = append(order, d.Container())
			}
		}
	}
	w.delete(30)
	w.advance(time.Minute)
	if got := strings.Join(order, " "); got != "app second first" {
		t.Error(got)
	}
}

func TestSidecarsDoNotWaitForever(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"})
	pod.Spec.InitContainers = []v1.Container{{Name: "side", Image: "img:1", RestartPolicy: &always}}
	w := newWorld(t, Policy{})
	w.behave["app"] = behaviour{takes: time.Hour}
	w.meet(pod)
	w.delete(30)
	w.advance(29 * time.Second)
	if w.runs["side"] == nil {
		t.Error("the sidecar ended before its turn")
	}
	w.advance(2 * time.Second)
	if w.runs["side"] != nil {
		t.Error("the sidecar waits for longer than the grace period")
	}
}

func TestEphemeralContainers(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
	pod := w.state.p.Object.DeepCopy()
	pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debug", Image: "busybox"}}}
	w.see(pod)
	w.settle()
	if w.runs["debug"] == nil || w.condition(v1.PodReady).Status != v1.ConditionTrue {
		t.Error("it should run, and the pod stay ready")
	}
	w.exit("debug", 1)
	w.advance(10 * time.Minute)
	if w.runs["debug"] != nil || w.container("debug").State.Terminated == nil {
		t.Error("it runs only once")
	}
}

func TestImageChangeRestarts(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyNever, v1.Container{Name: "app"}))
	pod := w.state.p.Object.DeepCopy()
	pod.Spec.Containers[0].Image = "img:2"
	w.see(pod)
	w.settle()
	c := w.container("app")
	if c.RestartCount != 1 || c.State.Running == nil {
		t.Errorf("%+v", c)
	}
	if got := c.LastTerminationState.Terminated.Message; !strings.HasPrefix(got, "Ended by the node: its image was changed") {
		t.Error(got)
	}
}

func TestRestartAllContainers(t *testing.T) {
	never := v1.ContainerRestartPolicyNever
	pod := podOf(v1.RestartPolicyNever, v1.Container{Name: "other"}, v1.Container{
		Name: "app", RestartPolicy: &never, RestartPolicyRules: []v1.ContainerRestartRule{{
			Action:    v1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
		}},
	})
	pod.Spec.InitContainers = []v1.Container{{Name: "prepare", Image: "img:1"}}
	w := newWorld(t, Policy{})
	w.behave["other"] = behaviour{code: 0, takes: time.Second}
	w.meet(pod)
	w.exit("prepare", 0)
	if w.condition(v1.AllContainersRestarting).Status != v1.ConditionFalse {
		t.Error("the condition should be there and false")
	}
	w.exit("app", 42)
	if w.condition(v1.AllContainersRestarting).Status != v1.ConditionTrue {
		t.Error("the pod restarts")
	}
	w.advance(2 * time.Second)
	if w.runs["prepare"] == nil || w.runs["app"] != nil {
		t.Error("the init container runs first")
	}
	w.exit("prepare", 0)
	for _, name := range []string{"prepare", "app", "other"} {
		if got := w.container(name).RestartCount; got != 1 {
			t.Errorf("%s has restarted %d times", name, got)
		}
	}
	if s := Status(w.state); s.Phase != v1.PodRunning || w.condition(v1.AllContainersRestarting).Status != v1.ConditionFalse {
		t.Errorf("%+v", s)
	}
}

func TestRestartRules(t *testing.T) {
	always, never, onFailure := v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyOnFailure
	rule := func(op v1.ContainerRestartRuleOnExitCodesOperator, values ...int32) []v1.ContainerRestartRule {
		return []v1.ContainerRestartRule{{
			Action:    v1.ContainerRestartRuleActionRestart,
			ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: op, Values: values},
		}}
	}
	for _, c := range []struct {
		pod   v1.RestartPolicy
		own   *v1.ContainerRestartPolicy
		rules []v1.ContainerRestartRule
		code  int32
		want  bool
	}{
		{pod: "Always", code: 0, want: true},
		{pod: "OnFailure", code: 0, want: false},
		{pod: "OnFailure", code: 1, want: true},
		{pod: "Never", code: 1, want: false},
		{pod: "Never", own: &always, code: 0, want: true},
		{pod: "Always", own: &never, code: 1, want: false},
		{pod: "Always", own: &onFailure, code: 0, want: false},
		{pod: "Never", own: &never, rules: rule("In", 42), code: 42, want: true},
		{pod: "Never", own: &never, rules: rule("In", 42), code: 1, want: false},
		{pod: "Never", own: &never, rules: rule("NotIn", 0), code: 1, want: true},
	} {
		if got := restarts(&v1.Container{RestartPolicy: c.own, RestartPolicyRules: c.rules}, c.pod, c.code); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestResizeThatDoesNotFit(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
	pod := w.state.p.Object.DeepCopy()
	pod.Generation = 2
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
	w.see(pod)
	w.pending = nil
	w.feed("app", 0, fact.ResizeFailed{Reason: v1.PodReasonDeferred, Message: "Node didn't have enough resource: cpu"})
	got := w.condition(v1.PodResizePending)
	if got.Reason != v1.PodReasonDeferred || got.Status != v1.ConditionTrue || got.ObservedGeneration != 2 {
		t.Errorf("%+v", got)
	}
	if c := w.container("app"); len(c.AllocatedResources) > 0 {
		t.Errorf("nothing was granted: %+v", c.AllocatedResources)
	}
	asked, said := w.count("Resize"), w.count("SetCondition")
	w.feed("", 0, fact.ReferenceChanged{})
	w.pending = nil
	w.feed("app", 0, fact.ResizeFailed{Reason: v1.PodReasonDeferred, Message: "Node didn't have enough resource: cpu"})
	if w.count("Resize") != asked+1 || w.count("SetCondition") != said {
		t.Errorf("another pod may have made room: asked for %d times more, and %d conditions moved", w.count("Resize")-asked, w.count("SetCondition")-said)
	}
	w.advance(3 * time.Minute)
	if w.condition(v1.PodResizePending).Type != "" || w.condition(v1.PodResizeInProgress).Type != "" {
		t.Error("it was granted at the second try")
	}
	if cpu := w.container("app").AllocatedResources[v1.ResourceCPU]; cpu.Value() != 2 {
		t.Error(cpu)
	}
}

// After the journal was lost, what the API server and the runtime remember is
// enough to go on without a restart.
func TestAdoption(t *testing.T) {
	started := true
	s := v1.PodStatus{
		Phase: v1.PodRunning, StartTime: &metav1.Time{Time: epoch.Add(-time.Hour)},
		Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(epoch.Add(-50 * time.Minute))}},
		ContainerStatuses: []v1.ContainerStatus{
			{Name: "app", Ready: true, Started: &started, RestartCount: 3, ContainerID: "containerd://a3", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
			{Name: "lost", RestartCount: 1, ContainerID: "containerd://l1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
		},
	}
	w := newWorld(t, Policy{})
	w.see(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", ReadinessProbe: probeSpec(1), StartupProbe: probeSpec(1)}, v1.Container{Name: "lost"}))
	w.feed("", 0, fact.AdoptedStatus{Status: s})
	w.feed("", 0, fact.SetUpDone{SandboxID: "sb", IPs: []string{"10.0.0.9"}})
	w.runs["app"] = &process{id: "containerd://a3", attempt: 3}
	w.feed("app", 3, fact.Started{ContainerID: "containerd://a3", Adopted: true})
	w.feed("", 0, fact.Admitted{})
	w.settle()
	if c := w.container("app"); !c.Ready || c.RestartCount != 3 || c.State.Running == nil {
		t.Errorf("%+v", c)
	}
	lost := w.container("lost")
	if lost.RestartCount != 2 || lost.LastTerminationState.Terminated.Reason != "ContainerStatusUnknown" {
		t.Errorf("%+v", lost)
	}
	if w.count("SetUp") != 0 || w.count("Start") != 1 {
		t.Errorf("%d set-ups and %d starts", w.count("SetUp"), w.count("Start"))
	}
	if !Status(w.state).StartTime.Time.Equal(epoch.Add(-time.Hour)) {
		t.Error("the pod's start is forgotten")
	}
}

func TestFinishedPodStaysFinishedAfterAdoption(t *testing.T) {
	w := newWorld(t, Policy{})
	w.see(podOf(v1.RestartPolicyNever, v1.Container{Name: "app"}))
	w.feed("", 0, fact.AdoptedStatus{Status: v1.PodStatus{
		Phase: v1.PodSucceeded,
		ContainerStatuses: []v1.ContainerStatus{{
			Name: "app", ContainerID: "containerd://x", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 0, Reason: "Completed"}},
		}},
	}})
	w.feed("", 0, fact.Admitted{})
	w.settle()
	if w.count("Start")+w.count("SetUp") != 0 || Status(w.state).Phase != v1.PodSucceeded {
		t.Errorf("%s", mustJSON(Status(w.state)))
	}
}

// A container that had ended by itself before the node asked for its end was not
// ended by the node.
func TestEndBeforeTheKill(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyOnFailure, v1.Container{Name: "app", LivenessProbe: probeSpec(1)}))
	w.advance(time.Minute)
	w.behave["app"] = behaviour{takes: time.Hour}
	w.probe("app", fact.Liveness, fact.Failure, "connection refused")
	w.step(fact.Fact{At: w.now.Add(-time.Second), Container: "app", Body: fact.Exited{ContainerID: w.runs["app"].id, ExitCode: 0}})
	if s := Status(w.state); s.Phase != v1.PodSucceeded || s.ContainerStatuses[0].State.Terminated.Message != "" {
		t.Errorf("%s", mustJSON(s))
	}
}

// The kernel's record of an OOM kill may be read after the runtime's event.
func TestLateOOMRecord(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyNever, v1.Container{Name: "app"}))
	w.exit("app", 137)
	w.feed("app", 0, fact.OOMKilled{PID: 5, Command: "app", Main: true, Limit: 64 << 20})
	if got := w.container("app").State.Terminated; got.Reason != "OOMKilled" || !strings.Contains(got.Message, "64Mi") {
		t.Errorf("%+v", got)
	}
}

func TestQOS(t *testing.T) {
	list := func(cpu, memory string) v1.ResourceList {
		l := v1.ResourceList{}
		if cpu != "" {
			l[v1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			l[v1.ResourceMemory] = resource.MustParse(memory)
		}
		return l
	}
	for _, c := range []struct {
		requests, limits v1.ResourceList
		want             v1.PodQOSClass
	}{
		{nil, nil, v1.PodQOSBestEffort},
		{list("1", "1Gi"), list("1", "1Gi"), v1.PodQOSGuaranteed},
		{list("1", "1Gi"), list("1", "2Gi"), v1.PodQOSBurstable},
		{list("1", ""), nil, v1.PodQOSBurstable},
		{list("", "1Gi"), list("", "1Gi"), v1.PodQOSBurstable},
	} {
		spec := v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: c.requests, Limits: c.limits}}}}
		if got := qos(&spec); got != c.want {
			t.Errorf("%v, %v: %s", c.requests, c.limits, got)
		}
		// Resources of the pod that name nothing decide nothing.
		spec.Resources = &v1.ResourceRequirements{}
		if got := qos(&spec); got != c.want {
			t.Errorf("%v, %v, with empty resources of the pod: %s", c.requests, c.limits, got)
		}
	}
}

// A deleted pod that never ran fails, and nothing is invented about containers
// that never were (law 7).
func TestDeletedBeforeItRan(t *testing.T) {
	w := newWorld(t, Policy{})
	w.setUps = []fact.Body{fact.SetUpFailed{Stage: "volumes", Reason: "FailedMount", Message: "configmap not found"}}
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
	w.delete(30)
	s := Status(w.state)
	if s.Phase != v1.PodFailed || s.ContainerStatuses[0].State.Waiting == nil || !w.state.p.Gone {
		t.Errorf("%s", mustJSON(s))
	}
}

func TestSetUpIsTriedAgain(t *testing.T) {
	w := newWorld(t, Policy{})
	failed := fact.SetUpFailed{Stage: "sandbox", Reason: "FailedCreatePodSandBox", Message: "no network"}
	w.setUps = []fact.Body{failed, failed, failed}
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
	w.advance(7 * time.Second) // 1 + 2 + 4
	if w.runs["app"] == nil || w.count("SetUp") != 4 {
		t.Errorf("%d tries", w.count("SetUp"))
	}
}

func BenchmarkStep(b *testing.B) {
	w := newWorld(b, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", LivenessProbe: probeSpec(3), ReadinessProbe: probeSpec(3)}, v1.Container{Name: "other"}))
	w.probe("app", fact.Readiness, fact.Success, "")
	for _, c := range []struct {
		name string
		body fact.Body
	}{
		{"probe that changes nothing", fact.Probed{Probe: fact.Liveness, Verdict: fact.Success}},
		{"probe that makes unready", fact.Probed{Probe: fact.Readiness, Verdict: fact.Failure, Count: 3}},
		{"exit and restart", fact.Exited{ContainerID: w.runs["app"].id, ExitCode: 1}},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := fact.Fact{ID: 1000, Seen: w.now, Pod: w.key, Container: "app", Body: c.body}
			for b.Loop() {
				Step(w.state, f)
			}
		})
	}
	b.Run("status", func(b *testing.B) {
		for b.Loop() {
			Status(w.state)
		}
	})
}

// An end that is told a second time is no occasion to plan: what time alone
// brought about meanwhile waits for its own tick. (A random story of TestLaws:
// the pod's time was over while the kill of its container, which had failed,
// waited to be asked for again.)
func TestLateEndOfAnEarlierAttempt(t *testing.T) {
	w := newWorld(t, Policy{})
	pod := podOf(v1.RestartPolicyAlways, v1.Container{
		Name: "main0", Lifecycle: &v1.Lifecycle{PostStart: &v1.LifecycleHandler{}},
	})
	seconds := int64(5)
	pod.Spec.ActiveDeadlineSeconds = &seconds
	w.hooks["main0"], w.stubborn = []string{"", "exit status 1"}, 1
	w.meet(pod)
	first := w.runs["main0"].id
	w.exit("main0", 0, func(e *fact.Exited) { e.Vanished = true })
	w.advance(7 * time.Second)
	before := mustJSON(w.state)
	if decisions := w.feed("main0", 0, fact.Exited{ContainerID: first, Vanished: true}); len(decisions) > 0 {
		t.Errorf("a late end led to %v", decisions)
	}
	if after := mustJSON(w.state); string(before) != string(after) {
		t.Errorf("a late end changed the state:\n%s\n%s", before, after)
	}
	w.advance(time.Minute)
	if len(w.runs) > 0 || w.count("Kill") != 2 || Status(w.state).Phase != v1.PodFailed {
		t.Errorf("the kill was not asked for again: %v", Status(w.state).Phase)
	}
}

// A set-up that is told again does not bring back a sandbox that was lost
// meanwhile (another story of TestLaws: main containers were started in it).
func TestLateSetUpOfALostSandbox(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
	var setUp fact.Body
	for _, s := range w.steps {
		if b, ok := s.fact.Body.(fact.SetUpDone); ok {
			setUp = b
		}
	}
	w.stubborn = 1
	w.feed("", 0, fact.SandboxLost{SandboxID: "sb0"})
	w.settle()
	w.feed("", 0, setUp)
	if w.state.p.Sandbox.Stage != sandboxLost {
		t.Errorf("the sandbox is %s", w.state.p.Sandbox.Stage)
	}
	w.advance(time.Minute)
	if s := w.state.p.Sandbox; s.ID != "sb1" || w.container("app").RestartCount != 1 || w.container("app").State.Running == nil {
		t.Errorf("%+v\n%+v", s, w.container("app"))
	}
}

// A deletion shortens the time of a container that the node was ending already.
func TestDeletionHastensAKillUnderWay(t *testing.T) {
	w := newWorld(t, Policy{})
	app := v1.Container{Name: "app", LivenessProbe: probeSpec(1)}
	grace := int64(600)
	app.LivenessProbe.TerminationGracePeriodSeconds = &grace
	w.behave["app"] = behaviour{ignores: true}
	w.meet(podOf(v1.RestartPolicyAlways, app))
	w.probe("app", fact.Liveness, fact.Failure, "no")
	w.delete(5)
	w.advance(6 * time.Second)
	if len(w.runs) > 0 || !w.state.p.Gone {
		t.Error("the pod still runs after its grace period")
	}
}

// A container that lives for milliseconds: the kernel's record is read before
// its start is told.
func TestOOMKillBeforeTheWordOfTheStart(t *testing.T) {
	w := newWorld(t, Policy{})
	w.see(podOf(v1.RestartPolicyNever, v1.Container{Name: "app"}))
	w.feed("", 0, fact.Admitted{})
	for w.runs["app"] == nil {
		w.deliver()
	}
	id := w.runs["app"].id
	w.feed("app", 0, fact.OOMKilled{PID: 7, Command: "hog", Main: true, Limit: 32 << 20})
	w.settle()
	w.exit("app", 137, func(e *fact.Exited) { e.RuntimeReason, e.OOMKnown = "Error", true })
	end := w.container("app").State.Terminated
	if end == nil || end.Reason != "OOMKilled" || !strings.Contains(end.Message, "hog") || end.ContainerID != id {
		t.Errorf("%+v", end)
	}
}

// A creation that is told again says nothing, also when the container's postStart
// hook has failed and it waits for its end.
func TestLateCreation(t *testing.T) {
	w := newWorld(t, Policy{})
	w.hooks["app"], w.stubborn = []string{"exit status 1"}, 1
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", Lifecycle: &v1.Lifecycle{PostStart: &v1.LifecycleHandler{}}}))
	before := mustJSON(w.state)
	w.feed("app", 0, fact.Created{ContainerID: w.runs["app"].id})
	if after := mustJSON(w.state); string(before) != string(after) {
		t.Errorf("it changed the state:\n%s\n%s", before, after)
	}
}

// A container that is changed is another one: it does not wait for the back-off of
// what it was, and its own begins with the shortest.
func TestChangeForgetsTheBackOff(t *testing.T) {
	for name, change := range map[string]func(*v1.Container){
		"image": func(c *v1.Container) { c.Image = "app:2" },
		"resources": func(c *v1.Container) {
			c.Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Policy{})
			w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", Image: "app:1"}))
			for range 4 {
				w.exit("app", 1)
				w.advance(time.Minute)
			}
			w.exit("app", 1)
			w.advance(30 * time.Second)
			if c := w.container("app"); c.State.Waiting == nil || c.RestartCount != 4 {
				t.Fatalf("it does not back off: %+v", c)
			}
			pod := w.state.p.Object.DeepCopy()
			pod.Generation++
			change(&pod.Spec.Containers[0])
			w.see(pod)
			w.advance(time.Second)
			if c := w.container("app"); c.State.Running == nil || c.RestartCount != 5 {
				t.Fatalf("it still backs off: %+v", c)
			}
			w.exit("app", 1)
			w.advance(11 * time.Second)
			if c := w.container("app"); c.State.Running == nil || c.RestartCount != 6 {
				t.Errorf("its back-off does not begin anew: %+v", c)
			}
		})
	}
}

// A pull that failed is not waited for when another image is wanted.
func TestChangeOfImageForgetsThePull(t *testing.T) {
	w := newWorld(t, Policy{})
	w.refuse["app"] = []fact.Body{fact.ImageFailed{Image: "app:typo", Reason: "ErrImagePull", Message: "not found"}}
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", Image: "app:typo"}))
	pod := w.state.p.Object.DeepCopy()
	pod.Generation++
	pod.Spec.Containers[0].Image = "app:1"
	w.see(pod)
	w.advance(time.Second)
	if c := w.container("app"); c.State.Running == nil {
		t.Errorf("it waits for the image that is no longer wanted: %+v", c)
	}
}

// A container whose image is still being pulled runs with what it was asked for
// with; what the spec says by then comes after that.
func TestChangedWhileStarting(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*v1.Container)
		follows fact.Kind
	}{
		"resources": {func(c *v1.Container) {
			c.Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
		}, "Resize"},
		"image": {func(c *v1.Container) { c.Image = "other" }, "Kill"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Policy{})
			pod := podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", Image: "server"})
			w.see(pod)
			w.feed("", 0, fact.Admitted{})
			for w.count("Start") == 0 && w.deliver() {
			}
			pod = w.state.p.Object.DeepCopy()
			pod.Generation = 2
			c.change(&pod.Spec.Containers[0])
			w.see(pod)
			w.settle()
			if w.count(c.follows) != 1 {
				t.Errorf("%d times %s", w.count(c.follows), c.follows)
			}
		})
	}
}

// A resize that needs a restart is not begun before the node has room for it.
func TestResizeWithRestartThatDoesNotFit(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{
		Name: "app", ResizePolicy: []v1.ContainerResizePolicy{{ResourceName: v1.ResourceCPU, RestartPolicy: v1.RestartContainer}},
	}))
	pod := w.state.p.Object.DeepCopy()
	pod.Generation = 2
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
	w.see(pod)
	w.pending = nil
	w.feed("app", 0, fact.ResizeFailed{Reason: v1.PodReasonDeferred, Message: "Node didn't have enough resource: cpu"})
	w.settle()
	if w.count("Kill") > 0 || w.condition(v1.PodResizePending).Reason != v1.PodReasonDeferred {
		t.Errorf("%d kills, %+v", w.count("Kill"), w.condition(v1.PodResizePending))
	}
	w.advance(3 * time.Minute)
	if c := w.container("app"); w.count("Kill") != 1 || c.RestartCount != 1 {
		t.Errorf("it was granted at the second try: %d kills, %d restarts", w.count("Kill"), c.RestartCount)
	}
}

// While new resources of the pod as a whole cannot be set, its status shows those
// that it has.
func TestResizeOfPodThatFails(t *testing.T) {
	memory := func(amount string) *v1.ResourceRequirements {
		list := v1.ResourceList{v1.ResourceMemory: resource.MustParse(amount)}
		return &v1.ResourceRequirements{Requests: list, Limits: list}
	}
	w := newWorld(t, Policy{})
	pod := podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", Resources: *memory("10Mi")})
	pod.Spec.Resources = memory("64Mi")
	w.meet(pod)
	pod = w.state.p.Object.DeepCopy()
	pod.Generation = 2
	pod.Spec.Resources = memory("20Mi")
	w.see(pod)
	w.pending = nil
	w.feed("", 0, fact.ResizeFailed{Reason: v1.PodReasonError, Message: "below current usage"})
	s := Status(w.state)
	if got := w.condition(v1.PodResizeInProgress); got.Reason != v1.PodReasonError {
		t.Errorf("%+v", got)
	}
	if is, given := s.Resources.Limits.Memory(), s.AllocatedResources.Memory(); is.String() != "64Mi" || given.String() != "20Mi" {
		t.Errorf("it has %v, and is given %v", is, given)
	}
}

// A checkpoint that does not say what a run was given, as an earlier agent's, is no
// reason not to see a change.
func TestCheckpointWithoutGiven(t *testing.T) {
	w := newWorld(t, Policy{})
	w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app", Image: "server"}))
	for i := range w.state.p.Containers {
		w.state.p.Containers[i].Run.Given = given{}
	}
	text, err := json.Marshal(w.state)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &w.state); err != nil {
		t.Fatal(err)
	}
	pod := w.state.p.Object.DeepCopy()
	pod.Generation = 2
	pod.Spec.Containers[0].Image = "other"
	w.see(pod)
	if w.count("Kill") != 1 {
		t.Errorf("%d kills", w.count("Kill"))
	}
}

// ownCgroup is that of a container.
const ownCgroup = "/kubepods/poduid-1/c1"

// The status says whose memory had run out, and does not call another's limit the
// container's.
func TestOOMScopeInStatus(t *testing.T) {
	for full, want := range map[string]string{
		ownCgroup:            "The main process (pid 7, hog) was OOM-killed at its 48Mi limit.",
		"/kubepods/poduid-1": "The main process (pid 7, hog) was OOM-killed at the pod's 48Mi limit.",
		"/kubepods":          "The main process (pid 7, hog) was OOM-killed at the 48Mi limit of all pods together.",
		"":                   "The main process (pid 7, hog) was OOM-killed at a 48Mi limit.",
	} {
		w := newWorld(t, Policy{})
		w.meet(podOf(v1.RestartPolicyNever, v1.Container{Name: "app"}, v1.Container{Name: "other"}))
		w.oom("app", fact.OOMKilled{PID: 7, Command: "hog", Main: true, Limit: 48 << 20, Constraint: "CONSTRAINT_MEMCG", TaskCgroup: ownCgroup, OOMCgroup: full})
		w.exit("app", 137, func(e *fact.Exited) { e.OOMKnown, e.OOMKills, e.MainOOMKilled = true, 1, true })
		if got := w.container("app").State.Terminated; got == nil || got.Message != want {
			t.Errorf("%q: %v, want %q", full, got, want)
		}
	}
}
