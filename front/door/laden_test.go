package door_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/front/door"
	"whylet.dev/whylet/test/fronts"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/question"
)

var questions = schema.GroupVersionResource{Group: question.Group, Version: question.Version, Resource: question.Resource}

// asking makes a question about a pod, with what change adds.
func asking(name string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": question.Group + "/" + question.Version, "kind": question.Kind, "spec": map[string]any{"name": "web-1"},
	}}
	u.SetName(name)
	if change != nil {
		change(u)
	}
	return u
}

// asker is a user's client for objects of any kind.
func asker(t *testing.T, config *rest.Config) dynamic.ResourceInterface {
	t.Helper()
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c.Resource(questions).Namespace("shop")
}

// Who may view a namespace may ask there, and store nothing: the API server refuses what brings more
// along than a question needs.
func TestAQuestionStoresNothing(t *testing.T) {
	w := fronts.New(t, nil)
	open(t, w)
	allow(t, w, "alice", "whylet-why-asker", "shop")
	alice := asker(t, w.Kube.As("alice"))
	ballast := strings.Repeat("x", 200_000)
	laden := map[string]func(*unstructured.Unstructured){
		"an annotation": func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{"a": ballast}) },
		"annotations":   func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{"a": "", "b": "", "c": ""}) },
		"labels": func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{"a": "", "b": "", "c": "", "d": "", "e": ""})
		},
		"a finalizer": func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.com/never"}) },
		"an owner": func(u *unstructured.Unstructured) {
			u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "x"}})
		},
		"another's name": func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)["asker"] = "bob" },
		"a longer spec":  func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)["whatIf"] = ballast },
	}
	w.Until("the policies are in force", func() bool {
		_, err := alice.Create(t.Context(), asking("", func(u *unstructured.Unstructured) {
			u.SetGenerateName("x-")
			u.SetFinalizers([]string{"example.com/never"})
		}), metav1.CreateOptions{DryRun: []string{"All"}})
		return err != nil
	})
	for name, more := range laden {
		u, err := alice.Create(t.Context(), asking("laden", more), metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v %v", name, err, u)
		}
	}
	if _, err := alice.Create(t.Context(), asking("plain", func(u *unstructured.Unstructured) {
		u.Object["spec"].(map[string]any)["asker"] = "alice"
		u.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"})
	}), metav1.CreateOptions{}); err != nil {
		t.Errorf("a plain question: %v", err)
	}
}

// A question is removed by who asked it, by a front, and by who may remove all of them.
func TestOnlyOwnQuestionsAreRemoved(t *testing.T) {
	w := fronts.New(t, nil)
	answering(t, w) // the kinds, and nobody who answers
	for _, user := range []string{"alice", "bob"} {
		allow(t, w, user, "whylet-why-asker", "shop")
	}
	allow(t, w, "front", "whylet-front", "")
	alice, bob, front, all := asker(t, w.Kube.As("alice")), asker(t, w.Kube.As("bob")), asker(t, w.Kube.As("front")), asker(t, w.Kube.Config)
	asked := 0
	ask := func(by string) string {
		asked++
		name := fmt.Sprint("q", asked)
		if _, err := alice.Create(t.Context(), asking(name, func(u *unstructured.Unstructured) {
			if by != "" {
				u.Object["spec"].(map[string]any)["asker"] = by
			}
		}), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return name
	}
	w.Until("the policies are in force", func() bool {
		return apierrors.IsForbidden(bob.Delete(t.Context(), ask("alice"), metav1.DeleteOptions{})) || apierrors.IsInvalid(bob.Delete(t.Context(), ask("alice"), metav1.DeleteOptions{}))
	})
	for name, remove := range map[string]func() error{
		"who asked":             func() error { return alice.Delete(t.Context(), ask("alice"), metav1.DeleteOptions{}) },
		"a front":               func() error { return front.Delete(t.Context(), ask("alice"), metav1.DeleteOptions{}) },
		"who may do everything": func() error { return all.Delete(t.Context(), ask("alice"), metav1.DeleteOptions{}) },
		"all at once":           func() error { return all.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}) },
		"an older client's":     func() error { return bob.Delete(t.Context(), ask(""), metav1.DeleteOptions{}) },
	} {
		if err := remove(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := bob.Delete(t.Context(), ask("alice"), metav1.DeleteOptions{}); err == nil {
		t.Error("a colleague may remove it")
	}
}

// What is refused is gone at once: those beyond what a front refuses in words, and those that bring
// more along than they may, where the cluster has no policy.
func TestRefusedQuestionsAreGoneAtOnce(t *testing.T) {
	w := fronts.New(t, nil)
	pod := w.Pod("shop", "web-1", "node-a")
	w.Node("node-a")
	w.Agent("node-a", w.Journal(pod, "oom-main"))
	w.Until("the agent tells of its pod", func() bool { return w.Ill("") == 1 })
	answering(t, w, &door.Questions{Answerer: answerer(t, w, slow{w.Hub, 15 * time.Second}, "front-0")})
	policies, err := dynamic.NewForConfig(w.Kube.Config)
	if err != nil {
		t.Fatal(err)
	}
	bindings := policies.Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"})
	if err := bindings.Delete(t.Context(), "whylet-questions", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	all := asker(t, w.Kube.Config)
	ballast := func(u *unstructured.Unstructured) {
		u.SetAnnotations(map[string]string{"a": strings.Repeat("x", 200_000)})
	}
	w.Until("nothing refuses it", func() bool {
		_, err := all.Create(t.Context(), asking("laden", ballast), metav1.CreateOptions{})
		return err == nil
	})
	began := time.Now()
	w.Until("what is laden is gone", func() bool {
		_, err := all.Get(t.Context(), "laden", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	const asked, atOnce = 150, 32
	for i := range asked {
		if _, err := all.Create(t.Context(), asking(fmt.Sprint("many-", i), nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.Until("no more are left than are answered", func() bool {
		list, err := all.List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) <= atOnce
	})
	if took := time.Since(began); took > question.Lives/2 {
		t.Errorf("it took %v", took)
	}
}

// A client says who asks, so that nobody else removes the question, and asks in another way at once
// where its question is removed unanswered.
func TestTheClientSaysWhoAsks(t *testing.T) {
	w := fronts.New(t, nil)
	answering(t, w)
	allow(t, w, "alice", "whylet-why-asker", "shop")
	all := asker(t, w.Kube.Config)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make(chan question.Question, 1)
	watch, err := all.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	go func() {
		for e := range watch.ResultChan() {
			var q question.Question
			text, err := json.Marshal(e.Object)
			if err == nil && json.Unmarshal(text, &q) == nil && e.Type == "ADDED" && strings.HasPrefix(q.Name, "why-") {
				seen <- q
				_ = all.Delete(ctx, q.Name, metav1.DeleteOptions{})
				return
			}
		}
	}()
	alice := as(t, w, "alice", "shop")
	if _, err := alice.About(ctx, ask.Target{Kind: "pod", Name: "web-1"}); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if q := <-seen; q.Spec.Asker != "alice" {
		t.Errorf("%q asks", q.Spec.Asker)
	}
	if alice.mu.Lock(); !strings.Contains(alice.told, "removed unanswered") {
		t.Errorf("%s", alice.told)
	}
	alice.mu.Unlock()
}
