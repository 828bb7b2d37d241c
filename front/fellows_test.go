package front_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/test/fronts"
	"whylet.dev/whylet/why/answer"
)

// cast are the pods of a few nodes, whose agents say what the test has them say.
type cast struct {
	t    *testing.T
	w    *fronts.World
	says map[string][]link.Pod
	made int
}

// pod adds a pod of a workload at a revision; v is nil where it does well.
func (c *cast) pod(namespace, workload, revision, node string, v *answer.Verdict, reaches ...answer.Reach) *v1.Pod {
	c.t.Helper()
	c.made++
	p := c.w.Pod(namespace, fmt.Sprintf("%s-%s-%d", workload, revision, c.made), node)
	one := link.Pod{Pod: keyOf(p), Kind: "Deployment", Workload: workload, Revision: revision}
	if v != nil {
		a := answer.New(answer.Subject{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}, time.Now(), answer.Coverage{})
		a.Reaches = reaches
		a.Put(answer.Symptom{Kind: answer.NotReady}, *v)
		text, err := json.Marshal(a)
		if err != nil {
			c.t.Fatal(err)
		}
		one.Answer = text
	}
	c.says[node] = append(c.says[node], one)
	return p
}

// speak has the agents say it.
func (c *cast) speak() {
	c.t.Helper()
	all := 0
	for node, pods := range c.says {
		s, err := dial(c.t, c.w, c.w.Token(node, link.Audience))
		if err == nil {
			err = s.Send(&link.ToFront{Standing: &link.Standing{Whole: true, Pods: pods}})
		}
		if err != nil {
			c.t.Fatal(err)
		}
		all += len(pods)
	}
	c.w.Until("the front knows of all pods", func() bool { _, _, n := c.w.Hub.Count(); return n == all })
}

// replicaSet makes the one of a revision, with an image.
func (c *cast) replicaSet(name, hash, image, revision string) {
	c.t.Helper()
	labels, yes := map[string]string{"app": name, "pod-template-hash": hash}, true
	_, err := c.w.Kube.Client.AppsV1().ReplicaSets("shop").Create(c.t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-" + hash, Labels: labels, Annotations: map[string]string{"deployment.kubernetes.io/revision": revision},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: name, UID: "d", Controller: &yes}},
		},
		Spec: appsv1.ReplicaSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: image}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
}

// What only who sees the cluster can see is told of each pod that it is about: of a tenant's
// with the pods of others as a number, and nothing of what only others have.
func TestWhatOnlyTheClusterShows(t *testing.T) {
	w := fronts.New(t, nil)
	c := &cast{t: t, w: w, says: map[string][]link.Pod{}}
	for _, node := range []string{"node-a", "node-b", "node-c"} {
		w.Node(node)
	}
	down := &answer.Verdict{Cause: answer.DependencyDown, Certainty: answer.Inferred, Text: "What it asks is down."}
	asks := func(place string) answer.Reach {
		return answer.Reach{Container: "app", Place: place, How: answer.ReachSaid, Text: "refused"}
	}
	c.pod("shop", "api", "1", "node-a", down, asks("db:5432"))
	c.pod("shop", "api", "1", "node-b", down, asks("db.shop.svc:5432"))
	c.pod("other", "secret", "1", "node-c", down, asks("db.shop.svc.cluster.local:5432"))
	c.pod("other", "hidden", "1", "node-a", down, asks("vault:8200"))
	c.pod("other", "hidden", "1", "node-b", down, asks("vault:8200"))
	crash := &answer.Verdict{Cause: answer.AppExitError, Certainty: answer.Inferred, Text: "It ended with exit code 1."}
	c.pod("shop", "web", "new", "node-a", crash)
	for _, node := range []string{"node-a", "node-b", "node-c"} {
		c.pod("shop", "web", "old", node, nil)
	}
	c.replicaSet("web", "old", "web:1", "1")
	c.replicaSet("web", "new", "web:2", "2")
	c.speak()

	all, err := w.Asker("shop").All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := answer.Overview(all, answer.Style{})
	for _, a := range all {
		told += a.Text(answer.Style{Wide: true})
	}
	for _, want := range []string{
		"2 pods on 2 nodes fail, and say that shop/db fails them.",
		"1 of 1 pod of revision 2 fails so, and 0 of 3 of other revisions: it came with revision 2. What changed: image of container app (web:2, before: web:1).",
		"kubectl -n shop rollout undo deployment/web --to-revision=1",
	} {
		if !strings.Contains(strings.Join(strings.Fields(told), " "), want) {
			t.Errorf("%q is not in\n%s", want, told)
		}
	}
	for _, not := range []string{"secret", "hidden", "vault", "other/"} {
		if strings.Contains(told, not) {
			t.Errorf("%q of another namespace is told:\n%s", not, told)
		}
	}
	everything, err := w.Asker("").All(t.Context())
	if text := answer.Overview(everything, answer.Style{}); err != nil || !strings.Contains(text, "say that other/vault fails them.") || !strings.Contains(text, "in common") {
		t.Errorf("%v\n%s", err, text)
	}
}
