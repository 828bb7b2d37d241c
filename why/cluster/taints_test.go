package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
)

func TestTaints(t *testing.T) {
	node := func(name string, taints ...v1.Taint) v1.Node {
		n := v1.Node{Spec: v1.NodeSpec{Taints: taints}}
		n.Name = name
		return n
	}
	short := v1.Taint{Key: v1.TaintNodeDiskPressure, Effect: v1.TaintEffectNoSchedule}
	gpu := v1.Taint{Key: "gpu", Value: "yes", Effect: v1.TaintEffectNoExecute}
	rather := v1.Taint{Key: "rather", Effect: v1.TaintEffectPreferNoSchedule}
	for name, c := range map[string]struct {
		around    Around
		says, fix string
	}{
		"nobody looked":      {Around{}, "does not tolerate: 0/1 nodes", "kubectl describe nodes"},
		"the node is short":  {Around{Nodes: []v1.Node{node("a", short, rather)}}, "does not tolerate: node a is short of disk. The scheduler says: 0/1 nodes", "kubectl why node/a"},
		"somebody's own":     {Around{Nodes: []v1.Node{node("a", gpu), node("b")}}, "node a has the taint gpu=yes:NoExecute. The", "kubectl describe nodes"},
		"tolerated, and not": {Around{Nodes: []v1.Node{node("a", v1.Taint{Key: "mine", Effect: v1.TaintEffectNoSchedule}), node("b", short)}}, "does not tolerate: node b is short of disk. The", "kubectl why node/b"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u1"}}
			pod.Spec.Tolerations = []v1.Toleration{{Key: "mine", Operator: v1.TolerationOpExists}}
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 node(s) had untolerated taint(s)."}}
			a := Unscheduled(pod, c.around, dawn)
			check(t, a)
			if v := a.Verdicts[0]; v.Cause != answer.NoMatchingNode || !strings.Contains(v.Text, c.says) || !strings.Contains(v.Fixes[0].Command, c.fix) {
				t.Errorf("%+v", v)
			}
		})
	}
}
