package cluster

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
)

func podWith(name, request, limit string, priority int32) v1.Pod {
	p := v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
	c := v1.Container{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}}
	if request != "" {
		c.Resources.Requests[v1.ResourceMemory] = resource.MustParse(request)
	}
	if limit != "" {
		c.Resources.Limits[v1.ResourceMemory] = resource.MustParse(limit)
	}
	p.Spec.Containers, p.Spec.Priority, p.Status.Phase, p.Status.QOSClass = []v1.Container{c}, &priority, v1.PodRunning, v1.PodQOSBurstable
	return p
}

func nodeOf(memory string, ready v1.ConditionStatus, pressures ...v1.NodeConditionType) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)}
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(dawn), Message: "Kubelet stopped posting node status."}}
	for _, p := range pressures {
		n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: p, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(dawn), Message: "kubelet has insufficient memory available"})
	}
	return n
}

// The page that this is for: limits of 180 % of the node, and nothing that says so.
func TestPromised(t *testing.T) {
	pods := []v1.Pod{podWith("app", "100Mi", "1Gi", 0), podWith("db", "512Mi", "512Mi", 10), podWith("batch", "", "", 0), podWith("cache", "64Mi", "334Mi", 5)}
	done := podWith("done", "4Gi", "4Gi", 0)
	done.Status.Phase = v1.PodSucceeded
	pods = append(pods, done)
	c := NodeCase{Node: nodeOf("1Gi", v1.ConditionTrue), Pods: pods}
	say := func(c NodeCase) string {
		a := NodeAnswer(c, answer.Coverage{}, dawn)
		if a.Symptoms[len(a.Symptoms)-1].Kind != answer.Healthy {
			t.Errorf("%+v", a.Symptoms)
		}
		return strings.Join(strings.Fields(a.Text(answer.Style{})), " ")
	}
	text := say(c)
	for _, want := range []string{
		"Of the 1Gi that pods may have, they asked for 676Mi (66 %), and their limits add up to 1870Mi (182 %). 1 pod has no limit at all.",
		"and so push out others: shop/app, shop/batch, shop/cache",
		"never use more than they asked for, and go last: shop/db",
		"if all used what they may, they would go in this order: shop/batch, shop/app, shop/cache, shop/db",
		"cause: node-overcommitted, inferred (rule promised-memory)", "give shop/batch a memory limit and request",
	} {
		if !strings.Contains(text, strings.Join(strings.Fields(want), " ")) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	c.Usage = map[types.UID]int64{"app": 90 << 20, "db": 500 << 20, "batch": 1 << 20, "cache": 300 << 20}
	text = say(c)
	for _, want := range []string{
		"if memory ran short now, pods would go in this order: 1. shop/batch uses 1Mi, asked for 0 (Burstable, priority 0); 2. shop/cache uses 300Mi",
		"3. shop/app", "4. shop/db",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	c.Pods = []v1.Pod{pods[0], pods[1], pods[3]}
	text = say(c)
	for _, want := range []string{"lower the memory limit of shop/app from 1Gi to", "lower the memory limit of shop/cache from 334Mi to"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	c.Pods = pods[1:3]
	if text := say(c); !strings.Contains(text, "1 pod has no limit at all.") || !strings.Contains(text, "cause: none") {
		t.Errorf("limits that fit, and a pod without one: %s", text)
	}
	c.Pods = pods[1:2]
	if text := say(c); !strings.Contains(text, "No pod can push another one out.") || !strings.Contains(text, "cause: none") {
		t.Errorf("it says %s", text)
	}
}

func TestNodeAnswer(t *testing.T) {
	pods := []v1.Pod{podWith("app", "100Mi", "1Gi", 0)}
	pressed := NodeAnswer(NodeCase{Node: nodeOf("4Gi", v1.ConditionTrue, v1.NodeMemoryPressure), Pods: pods}, answer.Coverage{}, dawn)
	if pressed.Symptoms[0].Kind != answer.NotReady || pressed.Verdicts[0].Cause != answer.EvictedMemory || !strings.Contains(pressed.Verdicts[0].Text, "asked for no memory") {
		t.Errorf("%+v", pressed)
	}
	lost := NodeAnswer(NodeCase{Node: nodeOf("4Gi", v1.ConditionUnknown), Pods: pods}, answer.Coverage{}, dawn.Add(time.Minute))
	if lost.Symptoms[0].Kind != answer.UnknownNode || lost.Verdicts[0].Cause != answer.NodeLost || !strings.Contains(lost.Verdicts[0].Text, "1 pod bound to it ran") {
		t.Errorf("%+v", lost.Verdicts[0])
	}
	memory := answer.New(answer.Subject{Kind: "Node", Name: "n"}, dawn.Add(time.Hour), answer.Coverage{})
	memory.Put(answer.Symptom{Kind: answer.UnknownNode}, answer.Verdict{Cause: answer.NodeLost, Text: "Its agent was stopped."})
	whole := NodeAnswer(NodeCase{Node: nodeOf("4Gi", v1.ConditionTrue), Pods: pods, Memory: &memory}, answer.Coverage{}, dawn.Add(time.Hour))
	if len(whole.Symptoms) != 2 || whole.Symptoms[0].Kind != answer.UnknownNode || whole.Symptoms[1].ID != "s2" || whole.Verdicts[1].Cause != answer.None {
		t.Errorf("%+v", whole.Symptoms)
	}
}
