package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
)

// unscheduled is a pod of which the scheduler says something.
func unscheduled(message string, change func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u1"}}
	pod.Spec.Containers = []v1.Container{{Name: "a"}, {Name: "b"}}
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: message}}
	change(pod)
	return pod
}

func placed(name, node string, requests v1.ResourceList, change ...func(*v1.Pod)) v1.Pod {
	p := v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: name}}
	p.Spec.NodeName = node
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: requests}}}
	for _, c := range change {
		c(&p)
	}
	return p
}

func TestNoRoom(t *testing.T) {
	of := func(cpu, memory string) v1.ResourceList {
		return v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}
	}
	node := func(name, cpu, memory string) v1.Node {
		return v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: of(cpu, memory)}}
	}
	cordoned := node("c", "64", "256Gi")
	cordoned.Spec.Unschedulable = true
	nodes := []v1.Node{node("a", "2", "8Gi"), node("b", "4", "8Gi"), cordoned}
	pods := []v1.Pod{
		placed("db-0", "b", of("2500m", "1Gi")), placed("small", "b", of("500m", "1Gi")), placed("web", "a", of("1500m", "1Gi")),
		placed("job", "b", of("4", "1Gi"), func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }),
	}
	cases := map[string]struct {
		message  string
		requests v1.ResourceList // of each of two containers
		around   Around
		says     []string
		step     string
	}{
		"nobody looked": {
			"0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient memory.", of("500m", "3Gi"),
			Around{},
			[]string{"the pod's requests (1 cpu, 6Gi memory): 0/2 nodes"},
			"request less than 1 cpu and 6Gi memory, or add a node",
		},
		"more than any node has": {
			"0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu.", of("8", "1Gi"),
			Around{Nodes: nodes},
			[]string{"(16 cpu): the largest node, b, has only 4 cpu. The scheduler says: 0/3"},
			"request at most 4 cpu, or add a larger node",
		},
		"the nodes are full": {
			"0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu.", of("1", "1Gi"),
			Around{Nodes: nodes, Pods: func() []v1.Pod { return pods }},
			[]string{"node b has the most free, 1 of 4 cpu, and its largest request is 2.5, of pod other/db-0."},
			"request at most 1 cpu, or add a node",
		},
		"the nodes are full, and the pods are not known": {
			"0/3 nodes are available: 2 Insufficient cpu.", of("1", "1Gi"),
			Around{Nodes: nodes},
			[]string{"(2 cpu): 0/3"},
			"request less than 2 cpu, or add a node",
		},
		"of one too much, of the other too little left": {
			"0/3 nodes are available: 2 Insufficient cpu, 2 Insufficient memory.", of("1", "8Gi"),
			Around{Nodes: nodes, Pods: func() []v1.Pod { return pods }},
			[]string{"(2 cpu, 16Gi memory): node b has the most free, 1 of 4 cpu, and", "other/db-0; the largest node, a, has only 8Gi memory."},
			"request at most 1 cpu and 8Gi memory, or add a larger node",
		},
		"a device that no node has": {
			"0/2 nodes are available: 2 Insufficient example.com/gpu.",
			v1.ResourceList{"example.com/gpu": resource.MustParse("1")},
			Around{Nodes: nodes[:2]},
			[]string{"(2 example.com/gpu): no node offers example.com/gpu."},
			"request less than 2 example.com/gpu, or add a larger node",
		},
		"room was freed since": {
			"0/3 nodes are available: 2 Insufficient cpu.", of("500m", "1Gi"),
			Around{Nodes: nodes, Pods: func() []v1.Pod { return pods }},
			[]string{"(1 cpu): 0/3"},
			"request less than 1 cpu, or add a node",
		},
		"who may see one namespace alone": {
			"0/2 nodes are available: 2 Insufficient cpu.", of("8", "1Gi"),
			Around{Nodes: nodes, Pods: func() []v1.Pod { return pods }, Within: true},
			[]string{"(16 cpu): 0/2"},
			"request less than 16 cpu, or add a node",
		},
	}
	for name, c := range cases {
		pod := unscheduled(c.message, func(p *v1.Pod) {
			for i := range p.Spec.Containers {
				p.Spec.Containers[i].Resources.Requests = c.requests
			}
		})
		a := Unscheduled(pod, c.around, dawn)
		check(t, a)
		v := a.Verdicts[0]
		for _, words := range c.says {
			if !strings.Contains(v.Text, words) {
				t.Errorf("%s: %q lacks %q", name, v.Text, words)
			}
		}
		if v.Cause != answer.InsufficientResources || v.Fixes[0].Text != c.step {
			t.Errorf("%s: %s, %q", name, v.Cause, v.Fixes[0].Text)
		}
	}
}

// Who has a host port is named, where it is one that conflicts.
func TestPortTaken(t *testing.T) {
	takes := func(address string, protocol v1.Protocol, port int32) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostIP: address, Protocol: protocol, HostPort: port}}
		}
	}
	pods := []v1.Pod{
		placed("udp", "a", nil, takes("", v1.ProtocolUDP, 80)), placed("other", "a", nil, takes("", v1.ProtocolTCP, 81)), placed("inside", "a", nil, takes("127.0.0.1", "", 80)),
		placed("elsewhere", "b", nil, takes("", "", 80)),
	}
	around := Around{Nodes: []v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, Pods: func() []v1.Pod { return pods }}
	const message = "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."
	v := Unscheduled(unscheduled(message, takes("", v1.ProtocolTCP, 80)), around, dawn).Verdicts[0]
	if want := "The pod's host port 80 is in use on every node that fits: pod other/inside uses it on node a. The scheduler says: 0/1"; !strings.HasPrefix(v.Text, want) {
		t.Error(v.Text)
	}
	if v.Fixes[1].Command != "kubectl get pods -A -o wide" {
		t.Error(v.Fixes)
	}
	if v := Unscheduled(unscheduled(message, takes("10.0.0.1", v1.ProtocolTCP, 80)), around, dawn).Verdicts[0]; strings.Contains(v.Text, "other/") {
		t.Error(v.Text)
	}
}
