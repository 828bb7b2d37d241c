package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/why/answer"
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
		cause   answer.Cause
	}{
		{"well", service("web", intstr.FromInt32(8080)), pod, answer.None},
		{"by name", service("web", intstr.FromString("http")), pod, answer.None},
		{"nothing declared", service("web", intstr.FromInt32(9090)), bare, answer.None},
		{"selector", service("wbe", intstr.FromInt32(8080)), pod, answer.SelectorMismatch},
		{"port", service("web", intstr.FromInt32(9090)), pod, answer.ServicePortMismatch},
		{"port name", service("web", intstr.FromString("https")), bare, answer.ServicePortMismatch},
		{"default port", service("web", intstr.IntOrString{}), pod, answer.ServicePortMismatch},
	} {
		a := ServiceAnswer(c.service, []v1.Pod{c.pod}, nil, nil, dawn)
		check(t, a)
		if a.Verdicts[0].Cause != c.cause {
			t.Errorf("%s: %s", c.name, a.Text(answer.Style{}))
		}
	}
}

// A Service that selects nobody has a wrong selector where somebody is there who may be meant.
func TestNobodyBehind(t *testing.T) {
	serving := func(name string, selector map[string]string, port int32) v1.Service {
		return v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}, Spec: v1.ServiceSpec{Selector: selector, Ports: []v1.ServicePort{{Port: port}}}}
	}
	pod := func(name string, labels map[string]string, port int32) v1.Pod {
		p := v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels}}
		p.Spec.Containers = []v1.Container{{Name: "c", Ports: []v1.ContainerPort{{ContainerPort: port}}}}
		return p
	}
	db := serving("db", map[string]string{"app": "db"}, 5432)
	for name, test := range map[string]struct {
		service v1.Service
		pod     v1.Pod
		others  []v1.Service
		cause   answer.Cause
	}{
		"a label but for a letter":             {serving("web", map[string]string{"app": "wbe"}, 80), pod("web-1", map[string]string{"app": "web"}, 0), nil, answer.SelectorMismatch},
		"another label, and the port":          {db, pod("database", map[string]string{"app": "database"}, 5432), nil, answer.SelectorMismatch},
		"its name":                             {serving("carts", map[string]string{"tier": "x"}, 80), pod("carts-5d7", nil, 0), nil, answer.SelectorMismatch},
		"a part of the name":                   {serving("rag", map[string]string{"app": "vllm-embeddings"}, 80), pod("p", map[string]string{"app": "vllm-server"}, 0), nil, answer.SelectorMismatch},
		"nobody":                               {db, pod("subject", map[string]string{"app": "web"}, 8080), nil, answer.DependencyDown},
		"a label of the whole release":         {serving("db", map[string]string{"app": "maria", "app.kubernetes.io/instance": "shop"}, 3306), pod("proxy", map[string]string{"app": "haproxy", "app.kubernetes.io/instance": "shop"}, 80), nil, answer.DependencyDown},
		"the port of whom another Service has": {db, pod("proxy", map[string]string{"app": "pool"}, 5432), []v1.Service{serving("pool", map[string]string{"app": "pool"}, 5432)}, answer.DependencyDown},
	} {
		a := ServiceAnswer(&test.service, []v1.Pod{test.pod}, test.others, nil, dawn)
		check(t, a)
		if a.Verdicts[0].Cause != test.cause {
			t.Errorf("%s: %s", name, a.Text(answer.Style{}))
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
	crashed := sickPod()
	for _, c := range []struct {
		name   string
		job    *batchv1.Job
		pods   []answer.Answer
		causes []answer.Cause
	}{
		{"it goes on", &batchv1.Job{}, nil, []answer.Cause{answer.None}},
		{"too long, its pods are gone", failed("DeadlineExceeded"), nil, []answer.Cause{answer.ActiveDeadline}},
		{"too long, after a crash", failed("DeadlineExceeded"), []answer.Answer{crashed}, []answer.Cause{answer.ActiveDeadline, answer.AppExitError}},
		{"too often", failed("BackoffLimitExceeded"), []answer.Answer{crashed}, []answer.Cause{answer.AppExitError}},
		{"too often, its pods are gone", failed("BackoffLimitExceeded"), nil, []answer.Cause{answer.CauseUnknown}},
		{"a policy of its own", failed("PodFailurePolicy"), nil, []answer.Cause{answer.RestartPolicy}},
	} {
		a := JobAnswer(Workload{Job: c.job, Subject: answer.Subject{Kind: "Job", Namespace: "shop", Name: "import"}, Wanted: -1}, c.pods, dawn)
		check(t, a)
		var causes []answer.Cause
		for _, v := range a.Verdicts {
			causes = append(causes, v.Cause)
		}
		if !slices.Equal(causes, c.causes) {
			t.Errorf("%s: %s", c.name, a.Text(answer.Style{}))
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
	for _, c := range []struct {
		name     string
		ports    []int32 // nil: nobody looked
		declared int32
		cause    answer.Cause
	}{
		{"on another port", []int32{8080}, 0, answer.ServicePortMismatch},
		{"only on loopback", []int32{}, 0, answer.ServicePortMismatch},
		{"there", []int32{8080, 9090}, 0, answer.None},
		{"nobody looked", nil, 0, answer.None},
		{"there, and another one is declared", []int32{8080, 9090}, 8080, answer.None},
	} {
		if c.declared != 0 {
			pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: c.declared}}
		}
		of := wellPod()
		if c.ports != nil {
			of.Listening = &answer.Listening{At: dawn, Ports: c.ports}
		}
		a := ServiceAnswer(service, []v1.Pod{pod}, nil, []answer.Answer{of}, dawn)
		if check(t, a); a.Verdicts[0].Cause != c.cause {
			t.Errorf("%s: %s", c.name, a.Text(answer.Style{}))
		}
	}
}

// Where some of a Service's pods listen on its target port, and others do not, a part
// of the requests is refused.
func TestServiceSomeListen(t *testing.T) {
	var pods []v1.Pod
	var answers []answer.Answer
	for i, port := range []int32{9090, 8080, 9090} {
		uid := types.UID(fmt.Sprintf("u%d", i))
		pods = append(pods, v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d", i), UID: uid, Labels: map[string]string{"app": "web"}}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app"}}}})
		a := wellPod()
		a.Subject.UID, a.Subject.Name = uid, pods[i].Name
		a.Listening = &answer.Listening{At: dawn, Ports: []int32{port}}
		answers = append(answers, a)
	}
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       v1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []v1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(9090)}}},
	}
	a := ServiceAnswer(service, pods, nil, answers, dawn)
	check(t, a)
	if v := a.Verdicts[0]; a.Symptoms[0].Kind != answer.NotServing || v.Cause != answer.ServicePortMismatch || !strings.Contains(v.Text, "1 of 3 do not listen (web-1)") {
		t.Error(a.Text(answer.Style{}))
	}
	// One of another workload is not what the Service is for.
	controls, began := true, metav1.NewTime(dawn.Add(-time.Hour))
	for i, of := range []string{"web", "worker", "web"} {
		pods[i].OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: of, Controller: &controls}}
		pods[i].Status.ContainerStatuses = []v1.ContainerStatus{{Name: "app", State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: began}}}}
	}
	a = ServiceAnswer(service, pods, nil, answers, dawn)
	check(t, a)
	if v := a.Verdicts[0]; v.Cause != answer.SelectorMismatch || !strings.Contains(v.Text, "which also matches pod web-1") {
		t.Error(a.Text(answer.Style{}))
	}
}

func TestGroup(t *testing.T) {
	subject := answer.Subject{Kind: "Deployment", Namespace: "shop", Name: "web"}
	a := WorkloadAnswer(Workload{Subject: subject, Wanted: 2}, []answer.Answer{sickPod(), wellPod()}, dawn)
	check(t, a)
	if len(a.Symptoms) != 1 || a.Verdicts[0].Cause != answer.AppExitError || !strings.HasSuffix(a.Text(answer.Style{}), "\n1 other pod is well or done.\n") {
		t.Error(a.Text(answer.Style{}))
	}
	if a = WorkloadAnswer(Workload{Subject: subject, Wanted: 1}, []answer.Answer{wellPod()}, dawn); a.Verdicts[0].Cause != answer.None {
		t.Error(a.Text(answer.Style{}))
	}
	seen := wellPod()
	seen.Verdicts[0].Certainty, seen.Journal.Gaps = answer.Unknown, []answer.Gap{{Reason: "based on the Kubernetes API alone (level 0): nobody was there"}}
	if a = WorkloadAnswer(Workload{Subject: subject, Wanted: 2}, []answer.Answer{seen, seen}, dawn); a.Verdicts[0].Certainty != answer.Unknown || strings.Count(a.Text(answer.Style{}), "level 0") != 1 {
		t.Error(a.Text(answer.Style{}))
	}
	if a = WorkloadAnswer(Workload{Subject: subject, Wanted: 2}, []answer.Answer{wellPod()}, dawn); a.Symptoms[0].Kind != answer.NotServing || a.Explained() {
		t.Error(a.Text(answer.Style{}))
	}
}

func TestPending(t *testing.T) {
	for message, want := range map[string]answer.Cause{
		"0/1 nodes are available: 1 Insufficient cpu.":                                  answer.InsufficientResources,
		"0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.": answer.NoMatchingNode,
		"0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.":              answer.NoMatchingNode,
		`0/1 nodes are available: persistentvolumeclaim "data" not found.`:              answer.VolumeUnbound,
		"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.":    answer.VolumeUnbound,
		"something new": answer.CauseUnknown,
		"":              answer.CauseUnknown,
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u1"}}
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: message}}
		a := Unscheduled(pod, Around{}, dawn)
		check(t, a)
		if a.Verdicts[0].Cause != want || a.Symptoms[0].Kind != answer.Pending {
			t.Errorf("%q: %s", message, a.Text(answer.Style{}))
		}
	}
}

// A Service whose port somebody has says who, beside what is wrong with its pods.
func TestWithoutAddress(t *testing.T) {
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}}
	if !WantsAddress(service) {
		t.Error("it waits for none")
	}
	subject := answer.Subject{Kind: "Service", Namespace: "shop", Name: "web"}
	well := Group(subject, []answer.Answer{}, dawn)
	const words = "Error syncing load balancer: failed to ensure load balancer: port 80 of Service shop/web is taken by process 7 (nginx) on this machine; stop it, or choose another port"
	a := WithoutAddress(service, well, words, dawn, dawn)
	if len(a.Verdicts) != 1 || a.Verdicts[0].Cause != answer.LoadBalancerFailed || a.Symptoms[0].Kind != answer.NotServing ||
		!strings.Contains(a.Verdicts[0].Text, "says: Port 80 of Service shop/web is taken by process 7 (nginx)") {
		t.Errorf("%+v", a)
	}
	sick := single(subject, dawn, answer.NotServing, "it has no endpoints", answer.Verdict{Cause: answer.SelectorMismatch})
	if a := WithoutAddress(service, sick, words, dawn, dawn); len(a.Verdicts) != 2 || a.Verdicts[1].Cause != answer.SelectorMismatch {
		t.Errorf("with a selector that fits nothing: %+v", a.Verdicts)
	}
	service.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	if WantsAddress(service) {
		t.Error("it has one")
	}
}
