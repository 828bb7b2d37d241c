package health

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
)

func nodeWith(cpu, memory, pods string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"disk": "ssd"}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory), v1.ResourcePods: resource.MustParse(pods),
		}},
	}
}

func wanting(change func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{Spec: v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{
		Name:  "c",
		Ports: []v1.ContainerPort{{ContainerPort: 80, Protocol: v1.ProtocolTCP}},
		Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("500m"), v1.ResourceMemory: resource.MustParse("100Mi"),
		}},
	}}}}
	p.Name = "p"
	if change != nil {
		change(p)
	}
	return p
}

func TestAdmit(t *testing.T) {
	hostPort := func(p *v1.Pod) { p.Spec.Containers[0].Ports[0].HostPort = 8080 }
	cases := []struct {
		name    string
		node    *v1.Node
		others  []*v1.Pod
		pod     *v1.Pod
		reason  string
		message string
		holders []string
	}{
		{name: "fits", node: nodeWith("1", "1Gi", "10"), others: []*v1.Pod{wanting(nil)}, pod: wanting(nil)},
		{
			name: "no CPU left", node: nodeWith("800m", "1Gi", "10"), others: []*v1.Pod{wanting(nil)}, pod: wanting(nil),
			reason: "OutOfcpu", holders: []string{"p"}, message: "Node didn't have enough resource: cpu, requested: 500, used: 500, capacity: 800",
		},
		{
			name: "no memory left", node: nodeWith("4", "150Mi", "10"), others: []*v1.Pod{wanting(nil)}, pod: wanting(nil),
			reason: "OutOfmemory", holders: []string{"p"}, message: "Node didn't have enough resource: memory, requested: 104857600, used: 104857600, capacity: 157286400",
		},
		{
			name: "too many pods", node: nodeWith("4", "4Gi", "1"), others: []*v1.Pod{wanting(nil)}, pod: wanting(nil),
			reason: "OutOfpods", holders: []string{"p"}, message: "Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1",
		},
		{
			name: "wrong label", node: nodeWith("4", "4Gi", "9"),
			pod:    wanting(func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "tape"} }),
			reason: "NodeAffinity", message: "Predicate NodeAffinity failed",
		},
		{
			name: "host port held", node: nodeWith("4", "4Gi", "9"), others: []*v1.Pod{wanting(hostPort)}, pod: wanting(hostPort),
			reason: "NodePorts", holders: []string{"p"}, message: "Predicate NodePorts failed",
		},
		{
			name: "unsafe sysctl", node: nodeWith("4", "4Gi", "9"),
			pod: wanting(func(p *v1.Pod) {
				p.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "kernel.msgmax", Value: "1"}}}
			}),
			reason: "SysctlForbidden", message: `forbidden sysctl: "kernel.msgmax" not allowlisted`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			room := SeeRoom(Node{Object: c.node}, c.others, c.pod)
			got, no := Admit(room, c.pod, false)
			if got.Reason != c.reason || got.Message != c.message || no != (c.reason != "") {
				t.Errorf("got %v %+v, want %s %s", no, got, c.reason, c.message)
			}
			var holders []string
			for _, h := range got.Holders {
				holders = append(holders, h.Pod.Name)
			}
			if !slices.Equal(holders, c.holders) {
				t.Errorf("it names %v, want %v", holders, c.holders)
			}
		})
	}
}

func TestRefusesUnderPressure(t *testing.T) {
	memory, disk := v1.NodeMemoryPressure, v1.NodeDiskPressure
	system := int32(2000000000)
	bestEffort := func(p *v1.Pod) { p.Spec.Containers[0].Resources = v1.ResourceRequirements{} }
	tolerant := func(p *v1.Pod) {
		bestEffort(p)
		p.Spec.Tolerations = []v1.Toleration{{Key: v1.TaintNodeMemoryPressure, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
	}
	for _, c := range []struct {
		name       string
		conditions []v1.NodeConditionType
		change     func(*v1.Pod)
		static     bool
		want       string
	}{
		{"calm", nil, bestEffort, false, ""},
		{"asked for memory", []v1.NodeConditionType{memory}, nil, false, ""},
		{"best effort", []v1.NodeConditionType{memory}, bestEffort, false, "The node had condition: [MemoryPressure]. "},
		{"tolerates it", []v1.NodeConditionType{memory}, tolerant, false, ""},
		{"disk", []v1.NodeConditionType{disk}, nil, false, "The node had condition: [DiskPressure]. "},
		{"both", []v1.NodeConditionType{disk, memory}, tolerant, false, "The node had condition: [DiskPressure MemoryPressure]. "},
		{"critical", []v1.NodeConditionType{disk, memory}, func(p *v1.Pod) { p.Spec.Priority = &system }, false, ""},
		{"static", []v1.NodeConditionType{disk}, bestEffort, true, ""},
	} {
		refused, no := Admit(fact.RoomSeen{Conditions: c.conditions}, wanting(c.change), c.static)
		if no != (c.want != "") || refused.Message != c.want || (no && refused.Reason != "Evicted") {
			t.Errorf("%s: %v %+v", c.name, no, refused)
		}
	}
}

// A machine that is about to shut down takes no pod in, not even a critical one.
func TestRefusedWhileShuttingDown(t *testing.T) {
	pod := &v1.Pod{}
	room := SeeRoom(Node{ShuttingDown: true}, nil, pod)
	for _, static := range []bool{false, true} {
		if refused, no := Admit(room, pod, static); !no || refused.Reason != "NodeShutdown" || refused.Message != "Pod was rejected as the node is shutting down." {
			t.Errorf("%+v, %t", refused, no)
		}
	}
}
