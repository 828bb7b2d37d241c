package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
)

func TestService(t *testing.T) {
	pod := v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{"app": "web"}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Ports: []v1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}},
	}
	service := func(app string, target intstr.IntOrString) *v1.Service {
		return &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec:       v1.ServiceSpec{Selector: map[string]string{"app": app}, Ports: []v1.ServicePort{{Port: 80, TargetPort: target}}},
		}
	}
	bare := pod
	bare.Spec.Containers = []v1.Container{{Name: "c"}}
	for _, c := range []struct {
		name    string
		service *v1.Service
		pod     v1.Pod
		cause   Cause
	}{
		{"well", service("web", intstr.FromInt32(8080)), pod, None},
		{"by name", service("web", intstr.FromString("http")), pod, None},
		{"nothing declared", service("web", intstr.FromInt32(9090)), bare, None},
		{"selector", service("wbe", intstr.FromInt32(8080)), pod, SelectorMismatch},
		{"port", service("web", intstr.FromInt32(9090)), pod, ServicePortMismatch},
		{"port name", service("web", intstr.FromString("https")), bare, ServicePortMismatch},
		{"default port", service("web", intstr.IntOrString{}), pod, ServicePortMismatch},
	} {
		a := ServiceAnswer(c.service, []v1.Pod{c.pod}, nil, dawn)
		check(t, a)
		if a.Verdicts[0].Cause != c.cause {
			t.Errorf("%s: %s", c.name, a.Text(Style{}))
		}
	}
}

func TestJob(t *testing.T) {
	limit := int64(6)
	failed := func(reason string) *batchv1.Job {
		return &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "import"}, Spec: batchv1.JobSpec{ActiveDeadlineSeconds: &limit},
			Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: v1.ConditionTrue, Reason: reason, Message: "m."}}},
		}
	}
	s := tell(t, web(silentProbe))
	s.exit("app", fact.Exited{ExitCode: 3, OOMKnown: true})
	crashed := s.ask()
	for _, c := range []struct {
		name   string
		job    *batchv1.Job
		pods   []Answer
		causes []Cause
	}{
		{"it goes on", &batchv1.Job{}, nil, []Cause{None}},
		{"too long, its pods are gone", failed("DeadlineExceeded"), nil, []Cause{ActiveDeadline}},
		{"too long, after a crash", failed("DeadlineExceeded"), []Answer{crashed}, []Cause{ActiveDeadline, AppExitError}},
		{"too often", failed("BackoffLimitExceeded"), []Answer{crashed}, []Cause{AppExitError}},
		{"too often, its pods are gone", failed("BackoffLimitExceeded"), nil, []Cause{RestartPolicy}},
		{"a policy of its own", failed("PodFailurePolicy"), nil, []Cause{RestartPolicy}},
	} {
		a := JobAnswer(c.job, Workload{Subject: Subject{Kind: "Job", Namespace: "shop", Name: "import"}, Wanted: -1}, c.pods, dawn)
		check(t, a)
		var causes []Cause
		for _, v := range a.Verdicts {
			causes = append(causes, v.Cause)
		}
		if !slices.Equal(causes, c.causes) {
			t.Errorf("%s: %s", c.name, a.Text(Style{}))
		}
	}
}

// A Service whose target port nobody listens on is not well, whatever is declared.
func TestServiceNobodyListens(t *testing.T) {
	pod := v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u1", Labels: map[string]string{"app": "web"}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "app"}}},
	}
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       v1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []v1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(9090)}}},
	}
	ask := func(addresses ...string) Answer {
		s := tell(t, web(silentProbe))
		if len(addresses) > 0 {
			look := fact.Looked{PID: 100, State: "S", Calm: true}
			for _, a := range addresses {
				if a == "declared" {
					pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 8080}}
					continue
				}
				look.Listeners = append(look.Listeners, fact.Listener{Address: a, PID: 100})
			}
			s.in("app", look)
		}
		a := ServiceAnswer(service, []v1.Pod{pod}, []Answer{s.ask()}, dawn)
		check(t, a)
		return a
	}
	for _, c := range []struct {
		name      string
		addresses []string
		cause     Cause
	}{
		{"on another port", []string{"0.0.0.0:8080"}, ServicePortMismatch},
		{"only on loopback", []string{"127.0.0.1:9090"}, ServicePortMismatch},
		{"there", []string{"[::]:8080", "[::]:9090"}, None},
		{"nobody looked", nil, None},
		{"there, and another one is declared", []string{"[::]:8080", "[::]:9090", "declared"}, None},
	} {
		if a := ask(c.addresses...); a.Verdicts[0].Cause != c.cause {
			t.Errorf("%s: %s", c.name, a.Text(Style{}))
		}
	}
}

// Where some of a Service's pods listen on its target port, and others do not, a part
// of the requests is refused.
func TestServiceSomeListen(t *testing.T) {
	var pods []v1.Pod
	var answers []Answer
	for i, port := range []int32{9090, 8080, 9090} {
		uid := types.UID(fmt.Sprintf("u%d", i))
		pods = append(pods, v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d", i), UID: uid, Labels: map[string]string{"app": "web"}}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app"}}}})
		a := tell(t, web(silentProbe)).ask()
		a.Subject.UID, a.Subject.Name = uid, pods[i].Name
		a.LookedAt(dawn, fact.Looked{Listeners: []fact.Listener{{Address: fmt.Sprintf("0.0.0.0:%d", port)}}})
		answers = append(answers, a)
	}
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       v1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []v1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(9090)}}},
	}
	a := ServiceAnswer(service, pods, answers, dawn)
	check(t, a)
	if v := a.Verdicts[0]; a.Symptoms[0].Kind != NotServing || v.Cause != ServicePortMismatch || !strings.Contains(v.Text, "1 of 3 do not listen (web-1)") {
		t.Error(a.Text(Style{}))
	}
}

func TestGroup(t *testing.T) {
	bad := tell(t, web(silentProbe))
	bad.exit("app", fact.Exited{ExitCode: 7, OOMKnown: true})
	good := tell(t, web(silentProbe))
	subject := Subject{Kind: "Deployment", Namespace: "shop", Name: "web"}
	a := WorkloadAnswer(Workload{Subject: subject, Wanted: 2}, []Answer{bad.ask(), good.ask()}, dawn)
	check(t, a)
	if len(a.Symptoms) != 1 || a.Verdicts[0].Cause != AppExitError || !strings.HasSuffix(a.Text(Style{}), "\n1 other pod is well or done.\n") {
		t.Error(a.Text(Style{}))
	}
	if a = WorkloadAnswer(Workload{Subject: subject, Wanted: 1}, []Answer{good.ask()}, dawn); a.Verdicts[0].Cause != None {
		t.Error(a.Text(Style{}))
	}
	if a = WorkloadAnswer(Workload{Subject: subject, Wanted: 2}, []Answer{good.ask()}, dawn); a.Symptoms[0].Kind != NotServing || a.Explained() {
		t.Error(a.Text(Style{}))
	}
}

func TestPending(t *testing.T) {
	for message, want := range map[string]Cause{
		"0/1 nodes are available: 1 Insufficient cpu.":                                  InsufficientResources,
		"0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.": NoMatchingNode,
		"0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.":              NoMatchingNode,
		`0/1 nodes are available: persistentvolumeclaim "data" not found.`:              VolumeUnbound,
		"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.":    VolumeUnbound,
		"something new": CauseUnknown,
		"":              CauseUnknown,
	} {
		pod := web()
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: message}}
		a := Unscheduled(pod, Around{}, dawn)
		check(t, a)
		if a.Verdicts[0].Cause != want || a.Symptoms[0].Kind != Pending {
			t.Errorf("%q: %s", message, a.Text(Style{}))
		}
	}
}
