package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
)

// What a workload lacks is told by its controller: the messages are those of
// Kubernetes 1.36, in a deployment's condition or a FailedCreate event.
func TestUnmadePods(t *testing.T) {
	subject := answer.Subject{Kind: "Deployment", Namespace: "shop", Name: "web"}
	refused := func(message string) Workload { return Workload{Subject: subject, Wanted: 3, Refused: message} }
	for _, c := range []struct {
		name   string
		w      Workload
		pods   []answer.Answer
		causes []answer.Cause
	}{
		{"quota", refused(`pods "web-94cc55cf6-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1`), []answer.Answer{wellPod()}, []answer.Cause{answer.InsufficientResources}},
		{"quota, and a pod that fails", refused(`pods "web-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1`), []answer.Answer{sickPod()}, []answer.Cause{answer.AppExitError, answer.InsufficientResources}},
		{"quota without limits", refused(`pods "web-x" is forbidden: failed quota: small: must specify limits.memory for: c`), nil, []answer.Cause{answer.SecurityRefused}},
		{"security level", refused(`pods "web-x" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)`), nil, []answer.Cause{answer.SecurityRefused}},
		{"account", refused(`pods "web-x" is forbidden: error looking up service account shop/ghost: serviceaccount "ghost" not found`), nil, []answer.Cause{answer.ConfigMissing}},
		{"priority", refused(`pods "web-x" is forbidden: no PriorityClass with name high was found`), nil, []answer.Cause{answer.ConfigMissing}},
		{"range", refused(`pods "web-x" is forbidden: maximum memory usage per Container is 64Mi, but limit is 128Mi`), nil, []answer.Cause{answer.SecurityRefused}},
		{"webhook says no", refused(`admission webhook "images.example.com" denied the request: not signed`), nil, []answer.Cause{answer.SecurityRefused}},
		{"webhook is away", refused(`Internal error occurred: failed calling webhook "images.example.com": Post "https://a.b.svc:443/": no endpoints available`), nil, []answer.Cause{answer.CauseUnknown}},
		{"namespace ends", refused(`pods "web-x" is forbidden: unable to create new content in namespace shop because it is being terminated`), nil, []answer.Cause{answer.Deleted}},
		{"words not known", refused("the moon is full"), nil, []answer.Cause{answer.CauseUnknown}},
		{"an old refusal", refused("exceeded quota"), []answer.Answer{wellPod(), wellPod(), wellPod()}, []answer.Cause{answer.None}},
		{"paused", Workload{Subject: subject, Wanted: 1, Suspended: "spec.paused"}, nil, []answer.Cause{answer.Suspended}},
		{"suspended job", Workload{Subject: answer.Subject{Kind: "Job", Namespace: "shop", Name: "import"}, Wanted: -1, Suspended: "spec.suspend"}, nil, []answer.Cause{answer.Suspended}},
		{"paused, and complete", Workload{Subject: subject, Wanted: 1, Suspended: "spec.paused"}, []answer.Answer{wellPod()}, []answer.Cause{answer.None}},
		{"no node for it", Workload{Subject: answer.Subject{Kind: "DaemonSet", Namespace: "shop", Name: "gpu"}, Nodes: "the label gpu=yes"}, nil, []answer.Cause{answer.NoMatchingNode}},
		{"scaled to zero", Workload{Subject: subject}, nil, []answer.Cause{answer.None}},
		{"nobody says why", Workload{Subject: subject, Wanted: 2}, nil, []answer.Cause{answer.CauseUnknown}},
	} {
		a := WorkloadAnswer(c.w, c.pods, dawn)
		check(t, a)
		var causes []answer.Cause
		for _, v := range a.Verdicts {
			causes = append(causes, v.Cause)
		}
		if !slices.Equal(causes, c.causes) {
			t.Errorf("%s: %v\n%s", c.name, causes, a.Text(answer.Style{}))
		}
	}
}

// A Service that selects nothing is not always wrong: its pods may not be made.
func TestServiceWithoutPods(t *testing.T) {
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": "web"}}}
	w := Workload{Subject: answer.Subject{Kind: "Deployment", Namespace: "shop", Name: "web"}}
	for cause, w := range map[answer.Cause]Workload{
		answer.ScaledDown:            w,
		answer.InsufficientResources: {Subject: w.Subject, Wanted: 1, Refused: "exceeded quota: small"},
		answer.CauseUnknown:          {Subject: w.Subject, Wanted: 1},
	} {
		a := ServiceWithoutPods(service, []answer.Answer{WorkloadAnswer(w, nil, dawn)}, dawn)
		check(t, a)
		if a.Verdicts[0].Cause != cause || a.Symptoms[0].Kind != answer.NotServing || !strings.Contains(a.Verdicts[0].Text, "Deployment web") {
			t.Errorf("%s: %s", cause, a.Text(answer.Style{}))
		}
	}
}

func TestPodThatNobodyTakes(t *testing.T) {
	pod := func(change func(*v1.Pod)) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", CreationTimestamp: metav1.Time{Time: dawn.Add(-time.Minute)}}}
		change(p)
		return p
	}
	a := Unscheduled(pod(func(p *v1.Pod) { p.Spec.SchedulerName = "volcano" }), Around{}, dawn)
	if check(t, a); a.Verdicts[0].Cause != answer.SchedulerMissing {
		t.Error(a.Text(answer.Style{}))
	}
	a = Unscheduled(pod(func(p *v1.Pod) { p.Spec.SchedulerName = "volcano"; p.CreationTimestamp.Time = dawn.Add(-time.Second) }), Around{}, dawn)
	if check(t, a); a.Verdicts[0].Cause != answer.CauseUnknown {
		t.Error(a.Text(answer.Style{}))
	}
	a, lost := NodeLostAnswer(pod(func(p *v1.Pod) { p.Spec.NodeName = "ghost" }), nil, dawn)
	if check(t, a); !lost || a.Verdicts[0].Cause != answer.NoMatchingNode || a.Symptoms[0].Kind != answer.Pending {
		t.Error(a.Text(answer.Style{}))
	}
	a, lost = NodeLostAnswer(pod(func(p *v1.Pod) {
		p.Spec.NodeName = "gone"
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}}
	}), nil, dawn)
	if check(t, a); !lost || a.Verdicts[0].Cause != answer.NodeLost {
		t.Error(a.Text(answer.Style{}))
	}
}

func TestStillThere(t *testing.T) {
	now := metav1.Time{Time: dawn}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u1", DeletionTimestamp: &now}}
	a := podAnswer(answer.Disappeared, answer.Verdict{Cause: answer.Deleted, Certainty: answer.Recorded, Text: "Somebody deleted it."})
	if StillThere(&a, pod); a.Symptoms[0].Kind != answer.Disappeared {
		t.Error("no finalizer:", a.Text(answer.Style{}))
	}
	pod.Finalizers = []string{"example.com/hold"}
	StillThere(&a, pod)
	if check(t, a); a.Symptoms[0].Kind != answer.Terminating || a.Verdicts[0].Cause != answer.Deleted || !strings.Contains(a.Verdicts[0].Text, "example.com/hold") {
		t.Error(a.Text(answer.Style{}))
	}
}

// A pod without any condition shows that no scheduler runs: after a minute only if the scheduler has placed no other pod.
func TestNoScheduler(t *testing.T) {
	placed := func(at time.Time) func() []v1.Pod {
		c := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}
		return func() []v1.Pod { return []v1.Pod{{Status: v1.PodStatus{Conditions: []v1.PodCondition{c}}}} }
	}
	for _, c := range []struct {
		waits time.Duration
		pods  func() []v1.Pod
		cause answer.Cause
	}{
		{50 * time.Second, placed(dawn.Add(-time.Hour)), answer.CauseUnknown},
		{2 * time.Minute, placed(dawn.Add(-time.Hour)), answer.SchedulerMissing},
		{2 * time.Minute, placed(dawn.Add(-time.Minute)), answer.CauseUnknown},
		{2 * time.Minute, nil, answer.CauseUnknown},
		{6 * time.Minute, placed(dawn.Add(-time.Minute)), answer.SchedulerMissing},
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", CreationTimestamp: metav1.NewTime(dawn.Add(-c.waits))}}
		if a := Unscheduled(pod, Around{Pods: c.pods}, dawn); a.Verdicts[0].Cause != c.cause {
			t.Errorf("%v: %s", c.waits, a.Text(answer.Style{}))
		}
	}
}

func TestMeantBy(t *testing.T) {
	for _, c := range []struct {
		wrong string
		names []string
		meant string
	}{
		{"redis-cart-invalid", []string{"frontend", "redis-cart"}, "redis-cart"},
		{"pstgres", []string{"mysql", "postgres"}, "postgres"},
		{"ts-order-service", []string{"ts-preserve-service", "ts-voucher-service"}, ""},
		{"web-api-v2", []string{"web-api", "api-v2"}, ""},
	} {
		if meant := meantBy(c.wrong, c.names); meant != c.meant {
			t.Errorf("%s: %q", c.wrong, meant)
		}
	}
}
