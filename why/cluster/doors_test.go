package cluster

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/why/answer"
)

// One that does not listen where a Service leads may be about to, unless it listens on the
// Service's own port, or elsewhere and is done with its start.
func TestDeaf(t *testing.T) {
	idle, works := 0.0, 0.8
	for name, test := range map[string]struct {
		age  time.Duration
		seen answer.Listening
		deaf bool
	}{
		"just started": {5 * time.Second, answer.Listening{Ports: []int32{4369}, Busy: &idle}, false},
		"just started, on the port of the Service":     {5 * time.Second, answer.Listening{Ports: []int32{5432}, Busy: &works}, true},
		"it listens elsewhere, and starts still":       {20 * time.Second, answer.Listening{Ports: []int32{4369}, Busy: &works}, false},
		"it listens elsewhere, and is done":            {20 * time.Second, answer.Listening{Ports: []int32{4369}, Busy: &idle}, true},
		"it listens nowhere yet":                       {20 * time.Second, answer.Listening{Busy: &idle}, false},
		"nobody knows whether it works":                {20 * time.Second, answer.Listening{Ports: []int32{4369}}, false},
		"it has had a minute":                          {2 * time.Minute, answer.Listening{Ports: []int32{4369}, Busy: &works}, true},
		"it listens where the Service leads":           {2 * time.Minute, answer.Listening{Ports: []int32{5433}}, false},
		"just started, where only itself can reach it": {5 * time.Second, answer.Listening{Loopback: []int32{5433}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podWith("db", "", "", 0)
			pod.CreationTimestamp = metav1.NewTime(dawn.Add(-test.age))
			s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: v1.ServiceSpec{Ports: []v1.ServicePort{{Port: 5432, TargetPort: intstr.FromInt32(5433)}}}}
			a := answer.New(answer.Subject{UID: pod.UID}, dawn, answer.Coverage{})
			a.Listening = &test.seen
			if hop := (Behind{Service: s, Pods: []v1.Pod{pod}, Answers: []answer.Answer{a}}.Deaf(5432)); hop != nil != test.deaf {
				t.Errorf("%+v", hop)
			}
		})
	}
}

// A Service whose selector fits a worker that serves nobody, beside the pods that it is made for.
func TestStrayed(t *testing.T) {
	s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders"}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": "orders"}, Ports: []v1.ServicePort{{Port: 8000}}}}
	for name, test := range map[string]struct {
		age   time.Duration
		ports []int32
		stray bool
	}{
		"a worker":         {20 * time.Second, nil, true},
		"it may come up":   {5 * time.Second, nil, false},
		"it listens there": {20 * time.Second, []int32{8000}, false},
	} {
		t.Run(name, func(t *testing.T) {
			web, worker := podWith("orders", "", "", 0), podWith("orders-worker", "", "", 0)
			worker.Spec.Containers = []v1.Container{{Name: "worker"}}
			worker.UID, worker.CreationTimestamp = "worker", metav1.NewTime(dawn.Add(-test.age))
			a, b := answer.New(answer.Subject{UID: web.UID}, dawn, answer.Coverage{}), answer.New(answer.Subject{UID: worker.UID}, dawn, answer.Coverage{})
			a.Listening, b.Listening = &answer.Listening{Ports: []int32{8000}}, &answer.Listening{Ports: test.ports}
			hop := Behind{Service: s, Pods: []v1.Pod{web, worker}, Answers: []answer.Answer{a, b}}.Deaf(8000)
			if hop != nil != test.stray || test.stray && hop.Cause != answer.SelectorMismatch {
				t.Errorf("%+v", hop)
			}
		})
	}
}

// A Service leads nowhere by a name that no pod behind it gives a port.
func TestNoSuchName(t *testing.T) {
	pod := podWith("db", "", "", 0)
	pod.Spec.Containers = []v1.Container{{Name: "c", Ports: []v1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}
	s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: v1.ServiceSpec{Ports: []v1.ServicePort{
		{Port: 80, TargetPort: intstr.FromString("web")}, {Port: 8080, TargetPort: intstr.FromString("http")}, {Port: 81},
	}}}
	for port, wrong := range map[int32]bool{80: true, 8080: false, 81: false, 0: true} {
		if hop := (Behind{Service: s, Pods: []v1.Pod{pod}}.Mismatch(port)); hop != nil != wrong || wrong && hop.Cause != answer.ServicePortMismatch {
			t.Errorf("port %d: %+v", port, hop)
		}
	}
}

// Nobody turns the port of a headless Service into its target port.
func TestStraightTo(t *testing.T) {
	pod := podWith("catalog", "", "", 0)
	s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "catalog"}, Spec: v1.ServiceSpec{ClusterIP: v1.ClusterIPNone, Ports: []v1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8000)}}}}
	a := answer.New(answer.Subject{UID: pod.UID}, dawn, answer.Coverage{})
	for name, test := range map[string]struct {
		asked   int32
		listens []int32
		hops    int
	}{
		"on the target port":    {0, []int32{8000}, 1},
		"the same, asked at 80": {80, []int32{8000}, 1},
		"on both":               {80, []int32{80, 8000}, 0},
		"asked at the other":    {8000, []int32{8000}, 0},
	} {
		a.Listening = &answer.Listening{Ports: test.listens}
		hop := Behind{Service: s, Pods: []v1.Pod{pod}, Answers: []answer.Answer{a}}.Deaf(test.asked)
		if hop != nil != (test.hops > 0) || hop != nil && (hop.Cause != answer.ServicePortMismatch || !strings.Contains(hop.Text, "is headless")) {
			t.Errorf("%s: %+v", name, hop)
		}
	}
}

// Where no look at the sockets exists, the spec, the settings and the log of a Ready pod tell where it does not listen.
func TestUnreached(t *testing.T) {
	said := func(lines ...string) []Setting { return Logged(lines) }
	for name, test := range map[string]struct {
		age      time.Duration
		declared int32
		probed   int32
		told     []Setting
		cause    answer.Cause
	}{
		"it declares another port":              {time.Minute, 5433, 0, nil, answer.ServicePortMismatch},
		"it has just become Ready":              {5 * time.Second, 5433, 0, nil, ""},
		"it declares that port, and no more":    {time.Minute, 5432, 0, nil, ""},
		"its probe passes there":                {time.Minute, 5433, 5432, said("listening on 127.0.0.1:5432"), ""},
		"its log has loopback":                  {time.Minute, 5432, 0, said("listening on 127.0.0.1:5432"), answer.AppListensElse},
		"its log has loopback of another port":  {time.Minute, 5432, 0, said("listening on 127.0.0.1:9000"), ""},
		"its ConfigMap has loopback":            {time.Minute, 5432, 0, []Setting{{Where: "ConfigMap db, key db.conf", Text: "listen_addresses = 'localhost'\n"}}, answer.AppListensElse},
		"its variable has loopback":             {time.Minute, 5432, 0, []Setting{{Where: "variable HOST", Text: "127.0.0.1"}}, answer.AppListensElse},
		"its variable is of a client":           {time.Minute, 5432, 0, []Setting{{Where: "variable REDIS_HOST", Text: "127.0.0.1"}}, ""},
		"it declares nothing, its log has more": {time.Minute, 0, 0, said("listening on :9000"), answer.ServicePortMismatch},
		"it declares nothing, its log has two":  {time.Minute, 0, 0, said("listening on :9000", "listening on :9001"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podWith("db", "", "", 0)
			pod.CreationTimestamp = metav1.NewTime(dawn.Add(-test.age))
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
			c := v1.Container{Name: "db"}
			if test.declared != 0 {
				c.Ports = []v1.ContainerPort{{ContainerPort: test.declared}}
			}
			if test.probed != 0 {
				c.ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(test.probed)}}}
			}
			pod.Spec.Containers = []v1.Container{c}
			s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: v1.ServiceSpec{Ports: []v1.ServicePort{{Port: 5432}}}}
			b := Behind{Service: s, Pods: []v1.Pod{pod}, Answers: []answer.Answer{answer.New(answer.Subject{UID: pod.UID}, dawn, answer.Coverage{})}, Unreached: true}
			b.Told = map[types.UID][]Setting{pod.UID: test.told}
			got := answer.Cause("")
			if hop := b.Deaf(5432); hop != nil {
				got = hop.Cause
			}
			if got != test.cause {
				t.Errorf("%q, not %q", got, test.cause)
			}
		})
	}
}
