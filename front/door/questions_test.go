package door_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/door"
	"whylet.dev/whylet/test/fronts"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
)

// open tells the cluster of questions, and answers them until the test ends.
func open(t *testing.T, w *fronts.World) *door.Answerer {
	t.Helper()
	a := answerer(t, w, w.Hub, "front-0")
	peers := []string{"10.0.0.1", "10.0.0.2"} // two replicas
	answering(t, w, &door.Questions{Answerer: a, Self: peers[0], Peers: func() []string { return peers }}, &door.Questions{Answerer: a, Self: peers[1], Peers: func() []string { return peers }})
	return a
}

func answerer(t *testing.T, w *fronts.World, f ask.Front, name string) *door.Answerer {
	t.Helper()
	cluster, err := ask.Connect(w.Kube.Config, ask.Options{Front: f})
	if err != nil {
		t.Fatal(err)
	}
	return &door.Answerer{Cluster: cluster, Front: f, Name: name}
}

// answering tells the cluster of questions, and has some fronts answer them until the test
// ends.
func answering(t *testing.T, w *fronts.World, all ...*door.Questions) {
	t.Helper()
	api, err := dynamic.NewForConfig(w.Kube.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := door.Apply(t.Context(), api, "test"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, q := range all {
		q.API, q.Log = api, slog.New(slog.DiscardHandler)
		running.Go(func() { q.Run(ctx) })
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
		// The next test's fronts would take what was left unanswered for theirs.
		err := api.Resource(questions).Namespace("shop").DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("questions are left over: %v", err)
		}
	})
}

// allow lets a user do what a ClusterRole says, in a namespace or everywhere ("").
func allow(t *testing.T, w *fronts.World, user, role, namespace string) {
	t.Helper()
	subjects := []rbacv1.Subject{{Kind: "User", Name: user, APIGroup: rbacv1.GroupName}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	meta := metav1.ObjectMeta{Name: user + "-" + role}
	var err error
	if namespace == "" {
		_, err = w.Kube.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
	} else {
		_, err = w.Kube.Client.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	inForce(t, w, user, role, namespace)
}

// inForce waits until the API server's authorizer, which watches bindings, knows one for a ClusterRole.
func inForce(t *testing.T, w *fronts.World, user, role, namespace string) {
	t.Helper()
	r, err := w.Kube.Client.RbacV1().ClusterRoles().Get(t.Context(), role, metav1.GetOptions{})
	if err != nil || len(r.Rules) == 0 || len(r.Rules[0].Resources) == 0 {
		return
	}
	may := &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: r.Rules[0].Verbs[0], Group: r.Rules[0].APIGroups[0], Resource: r.Rules[0].Resources[0]}
	w.Until(user+" may do what "+role+" says", func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: may}}
		got, err := w.Kube.Client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		return err == nil && got.Status.Allowed
	})
}

// user asks with nothing but their own rights.
type user struct {
	*ask.Cluster
	mu   sync.Mutex
	told string
}

func as(t *testing.T, w *fronts.World, name, namespace string) *user {
	t.Helper()
	u := &user{}
	c, err := ask.Connect(w.Kube.As(name), ask.Options{Namespace: namespace, Told: func(text string) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.told += text + "\n"
	}})
	if err != nil {
		t.Fatal(err)
	}
	u.Cluster = c
	return u
}

// Somebody with rights in one namespace asks there, and learns nothing of others.
func TestQuestions(t *testing.T) {
	w := fronts.New(t, nil)
	w.Node("node-a")
	pod, foreign := w.Pod("shop", "web-1", "node-a"), w.Pod("other", "hidden-1", "node-a")
	j := w.Journal(pod, "oom-main")
	w.Record(j, foreign, "wrong-port")
	evicted := w.Pod("shop", "web-9", "node-a")
	evict(t, w, j.Append, j.Next, evicted, foreign)
	w.Agent("node-a", j)
	w.Until("the agent tells of its pods", func() bool { return w.Ill("") == 3 })
	open(t, w)
	allow(t, w, "alice", "view", "shop")             // made by the controllers that this API server lacks
	allow(t, w, "alice", "whylet-why-asker", "shop") // what view would be aggregated from
	allow(t, w, "root", "whylet-why-admin", "")

	alice := as(t, w, "alice", "shop")
	began := time.Now()
	answers, err := alice.About(t.Context(), ask.Target{Kind: "pod", Name: "web-1"})
	t.Logf("answered after %v", time.Since(began).Round(time.Millisecond))
	if err != nil || len(answers) != 1 || answers[0].Verdicts[0].Cause != answer.MemoryLimit || !strings.Contains(alice.told, "answered by front-0, by a Question") {
		t.Fatalf("%v %+v\n%s", err, answers, alice.told)
	}
	if parts, err := alice.Behind(t.Context(), answers[0]); err != nil || len(parts) != 1 || parts[0].Node != "node-a" {
		t.Errorf("the facts: %v %v", err, parts)
	}
	if r, err := alice.WhatIf(t.Context(), ask.Target{Name: "web-1"}, "app:memory=1Gi"); err != nil && !strings.Contains(err.Error(), "app") {
		t.Errorf("what if: %v %v", err, r)
	}
	all, err := alice.All(t.Context())
	if err != nil || len(all) != 2 {
		t.Errorf("all: %v %d answers", err, len(all))
	}
	told := answer.Overview(all, answer.Style{Wide: true})
	for _, a := range all {
		told += a.Text(answer.Style{Wide: true})
	}
	one, err := alice.About(t.Context(), ask.Target{Kind: "pod", Name: "web-9"})
	if err != nil || len(one) != 1 || !strings.Contains(one[0].Text(answer.Style{Wide: true}), fact.Elsewhere) {
		t.Errorf("%v %+v", err, one)
	}
	_, err = alice.About(t.Context(), ask.Target{Kind: "pod", Name: "hidden-2"})
	for _, text := range []string{told, one[0].Text(answer.Style{Wide: true}), err.Error()} {
		if strings.Contains(text, "hidden-1") || strings.Contains(text, "other/") {
			t.Errorf("alice is told of other's pods:\n%s", text)
		}
	}
	everything, err := as(t, w, "root", "").All(t.Context())
	everything = slices.DeleteFunc(everything, func(a answer.Answer) bool { return a.Subject.Kind == "Service" }) // told of once it is old enough
	if err != nil || len(everything) != 3 {
		t.Errorf("%v %d answers:\n%s", err, len(everything), answer.Overview(everything, answer.Style{Wide: true}))
	}
}

// evict writes that a pod was evicted, with one of another namespace before it in the order.
func evict(t *testing.T, _ *fronts.World, add func(...fact.Fact) error, next func(int) fact.ID, pod, other *v1.Pod) {
	t.Helper()
	of := func(p *v1.Pod) fact.Pod { return fact.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID} }
	now := time.Now().UTC()
	ranking := []fact.Ranked{{Pod: of(other), QoS: "BestEffort", Usage: 900 << 20}, {Pod: of(pod), QoS: "BestEffort", Usage: 100 << 20}}
	seen := fact.Fact{ID: next(1), Pod: of(pod), At: now, Seen: now, Body: fact.SpecSeen{Object: pod, Source: "api"}}
	needed := fact.Fact{ID: next(1), Pod: of(pod), At: now, Seen: now, Body: fact.EvictionNeeded{Reason: "Evicted", Message: "The node was low on resource: memory.", Signal: "memory.available", Ranking: ranking}}
	gone := fact.Fact{ID: next(1), Pod: of(pod), At: now, Seen: now, Because: []fact.ID{needed.ID}, Body: fact.Evict{Reason: "Evicted", Message: "The node was low on resource: memory.", Signal: "memory.available", Ranking: ranking}}
	if err := add(seen, needed, gone); err != nil {
		t.Fatal(err)
	}
}

// Who has no right to ask has no door, and neither has who asks beyond the namespace.
func TestDoorsThatAreClosed(t *testing.T) {
	w := fronts.New(t, nil)
	w.Node("node-a")
	pod := w.Pod("shop", "web-1", "node-a")
	w.Agent("node-a", w.Journal(pod, "oom-main"))
	w.Until("the agent tells of its pod", func() bool { return w.Ill("") == 1 })
	open(t, w)
	allow(t, w, "alice", "whylet-why-asker", "other")

	for name, c := range map[string]struct {
		user, namespace, kind, told string
	}{
		"another namespace": {"alice", "shop", "pod", "you may not create questions"},
		"a node":            {"alice", "other", "node", "you may not create clusterquestions"},
		"everything":        {"alice", "", "pod", "you may not create clusterquestions"},
		"nobody":            {"mallory", "shop", "pod", "you may not create questions"},
	} {
		u := as(t, w, c.user, c.namespace)
		answers, err := u.About(t.Context(), ask.Target{Kind: c.kind, Name: "web-1"})
		if err == nil || len(answers) > 0 || !strings.Contains(u.told, c.told) {
			t.Errorf("%s: %v %+v %s", name, err, answers, u.told)
		}
	}
	// An object in one namespace cannot ask about another, whatever it says.
	mine := as(t, w, "alice", "other")
	if answers, err := mine.About(t.Context(), ask.Target{Kind: "pod", Name: "web-1", Namespace: "other"}); err == nil || len(answers) > 0 {
		t.Errorf("%+v", answers)
	}
}

// More questions at once than a namespace may have are told so at once, and the others are
// answered.
func TestTooManyQuestionsAreToldSo(t *testing.T) {
	w := fronts.New(t, nil)
	w.Node("node-a")
	pod := w.Pod("shop", "web-1", "node-a")
	w.Agent("node-a", w.Journal(pod, "oom-main"))
	w.Until("the agent tells of its pod", func() bool { return w.Ill("") == 1 })
	answering(t, w, &door.Questions{Answerer: answerer(t, w, slow{w.Hub, 4 * time.Second}, "front-0")})
	allow(t, w, "alice", "whylet-why-asker", "shop")

	const asked, atOnce = 48, 32
	var told, refused atomic.Int64
	var all sync.WaitGroup
	for range asked {
		alice := as(t, w, "alice", "shop")
		all.Go(func() {
			answers, err := alice.About(t.Context(), ask.Target{Kind: "pod", Name: "web-1"})
			switch {
			case err == nil && len(answers) == 1:
				told.Add(1)
			case err != nil && strings.Contains(err.Error(), "too much is asked at once in namespace shop"):
				refused.Add(1)
			default:
				t.Errorf("%v %+v %s", err, answers, alice.told)
			}
		})
	}
	all.Wait()
	if told.Load() < atOnce || refused.Load() == 0 {
		t.Errorf("of %d questions at once %d are answered and %d refused", asked, told.Load(), refused.Load())
	}
}
