package sense

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// watchedMaps are ConfigMaps of a fake API server; each pod refers to one of its name.
func watchedMaps(ctx context.Context, client *fake.Clientset) *Configs {
	maps := func(namespace string) interface {
		List(context.Context, metav1.ListOptions) (*v1.ConfigMapList, error)
		Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	} {
		return client.CoreV1().ConfigMaps(namespace)
	}
	return NewConfigs(ctx, client, func([]types.UID) {}, ConfigKind{
		Group: v1.Resource("configmap"), Empty: &v1.ConfigMap{},
		Used: func(p *v1.Pod) sets.Set[string] { return sets.New(p.Name) },
		List: func(ctx context.Context, namespace string, o metav1.ListOptions) (runtime.Object, error) {
			return maps(namespace).List(ctx, o)
		},
		Watch: func(ctx context.Context, namespace string, o metav1.ListOptions) (watch.Interface, error) {
			return maps(namespace).Watch(ctx, o)
		},
	})
}

func settings(version, value string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", ResourceVersion: version}, Data: map[string]string{"k": value}}
}

// next waits for a fact.
func next(t *testing.T, facts <-chan fact.Fact) fact.Fact {
	t.Helper()
	select {
	case f := <-facts:
		return f
	case <-time.After(time.Minute):
		t.Fatal("nothing is told")
		return fact.Fact{}
	}
}

// What changed before the source runs is told too, to a pod that waits for it and to one
// whose contents became others.
func TestConfigsTellWhoseConfigurationChanged(t *testing.T) {
	client := fake.NewClientset()
	watching := make(chan struct{})
	client.PrependWatchReactor("*", func(a clienttesting.Action) (bool, watch.Interface, error) {
		w, err := client.Tracker().Watch(a.GetResource(), a.GetNamespace())
		close(watching)
		return true, w, err
	})
	c := watchedMaps(t.Context(), client)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u1"}}
	known := pods.New()
	known.Take(PodFact(pod, fact.SpecSeen{Object: pod, Source: "api"}))
	c.Register(pod)
	if _, err := c.Get(v1.Resource("configmap"), "ns", "p"); err == nil {
		t.Fatal("there is none yet")
	}
	api := client.CoreV1().ConfigMaps("ns")
	<-watching // what a fake server has before somebody watches, it tells nobody
	if _, err := api.Create(t.Context(), settings("1", "old"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	facts := make(chan fact.Fact)
	go func() {
		_ = c.Run(t.Context(), known, func(f fact.Fact) {
			select {
			case facts <- f:
			case <-t.Context().Done():
			}
		})
	}()
	if f := next(t, facts); f.Body != (fact.ReferenceChanged{}) || f.Pod.UID != "u1" {
		t.Errorf("a pod that waits hears %+v", f)
	}
	known.Take(PodFact(pod, fact.SetUpDone{SandboxID: "s"}))
	if _, err := api.Update(t.Context(), settings("2", "new"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := fact.ConfigChanged{Object: "ConfigMap", Name: "p", By: "unknown", Keys: []string{"k"}}
	if f := next(t, facts); !reflect.DeepEqual(f.Body, want) {
		t.Errorf("a pod that runs hears %+v", f)
	}
}

// An object is watched for as long as a pod refers to it.
func TestConfigsAreWatchedWhileTheyAreUsed(t *testing.T) {
	c := watchedMaps(t.Context(), fake.NewClientset(settings("1", "v")))
	var uids []types.UID
	for _, uid := range []types.UID{"a", "b"} {
		c.Register(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: uid}})
		uids = append(uids, uid)
	}
	if len(c.items) != 1 {
		t.Errorf("%d objects are watched, want 1", len(c.items))
	}
	for _, uid := range slices.Backward(uids) {
		c.Unregister(uid)
	}
	if len(c.items)+len(c.pods) != 0 {
		t.Errorf("%d left", len(c.items)+len(c.pods))
	}
}
