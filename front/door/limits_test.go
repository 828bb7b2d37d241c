package door

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/cache"

	"whylet.dev/whylet/why/question"
)

// One namespace cannot ask so much that others are not answered, nor all of them more than
// can be.
func TestQuestionsAtTheSameTimeAreBounded(t *testing.T) {
	q := &Questions{inFlight: map[types.UID]*flight{}, of: map[string]int{}}
	asked := func(namespace string, n int) (begun []*unstructured.Unstructured) {
		for i := range n {
			u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"name": "web"}}}
			u.SetNamespace(namespace)
			u.SetUID(types.UID(namespace + strconv.Itoa(i)))
			u.SetCreationTimestamp(metav1.Now())
			if q.begin(u) && q.inFlight[u.GetUID()].tooMany == "" {
				begun = append(begun, u)
			}
		}
		return begun
	}
	greedy := asked("greedy", 2*mostOfOne)
	if len(greedy) != mostOfOne || q.refusing != mostOfOne || len(asked("modest", 1)) != 1 {
		t.Errorf("%d of one namespace are answered and %d refused, and then none of another", len(greedy), q.refusing)
	}
	all := len(greedy) + 1
	for i := range 20 {
		all += len(asked("n"+strconv.Itoa(i), mostOfOne))
	}
	if all != mostAtOnce || q.refusing != mostRefused || len(q.inFlight) != mostAtOnce+mostRefused {
		t.Errorf("%d at the same time, %d refused", all, q.refusing)
	}
	for _, u := range greedy {
		q.end(u)
	}
	if n := len(asked("later", 1)); n != 1 {
		t.Error("nobody is answered any more")
	}
}

// What was asked while no front ran is removed as one starts, and what is young is left.
func TestOldQuestionsAreRemoved(t *testing.T) {
	gvr := schema.GroupVersionResource{Group: question.Group, Version: question.Version, Resource: question.Resource}
	now := time.Now()
	asked := func(name string, at time.Time) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": question.Group + "/" + question.Version, "kind": question.Kind}}
		u.SetNamespace("shop")
		u.SetName(name)
		u.SetCreationTimestamp(metav1.NewTime(at))
		return u
	}
	api := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{gvr: question.Kind + "List"},
		asked("old", now.Add(-time.Hour)), asked("young", now))
	informer := dynamicinformer.NewFilteredDynamicInformer(api, gvr, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	running.Go(func() { (&Questions{API: api}).removeOld(ctx, gvr, informer) })
	for end := now.Add(removeEvery / 2); ; time.Sleep(5 * time.Millisecond) { // long before it looks again
		left, err := api.Resource(gvr).List(ctx, metav1.ListOptions{})
		if err == nil && len(left.Items) == 1 && left.Items[0].GetName() == "young" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v: %d questions are left", err, len(left.Items))
		}
	}
	stop()
	running.Wait()
}
