package report

import (
	"errors"
	"log/slog"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"whylet.dev/whylet/fact"
)

// What others set beside the node's own conditions is none of its business, and
// the echo of its own write is no news.
func TestOverwrittenStatus(t *testing.T) {
	with := func(kind v1.PodConditionType, status v1.ConditionStatus) v1.PodStatus {
		return v1.PodStatus{Conditions: []v1.PodCondition{{Type: kind, Status: status}}}
	}
	own := with(v1.PodReady, v1.ConditionTrue)
	for _, c := range []struct {
		name string
		seen v1.PodStatus
		want bool
	}{
		{"the same", with(v1.PodReady, v1.ConditionTrue), false},
		{"called unready", with(v1.PodReady, v1.ConditionFalse), true},
		{"not written yet", v1.PodStatus{}, false},
		{"a gate of somebody else", with("example.com/gate", v1.ConditionFalse), false},
	} {
		if got := overwritten(own, c.seen); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	key := fact.Pod{UID: "u"}
	p := NewPublisher(nil, func(fact.Pod) (types.UID, bool) { return "u", true }, nil)
	if !p.news(key, "1") {
		t.Error("before any write, everything is news")
	}
	p.confirmed(key, "u", own, &v1.Pod{})
	p.version[key] = "10"
	for version, want := range map[string]bool{"9": false, "10": false, "11": true, "101": true} {
		if got := p.news(key, version); got != want {
			t.Errorf("version %s: %v", version, got)
		}
	}
}

// The mirror of a static pod is made anew while its status is being written to the
// old one: the status is written to the new one, not forgotten with the old.
func TestStatusFollowsTheMirror(t *testing.T) {
	for _, verb := range []string{"get", "patch"} { // what is under way when the new one comes
		t.Run(verb, func(t *testing.T) { statusFollowsTheMirror(t, verb) })
	}
}

func statusFollowsTheMirror(t *testing.T, verb string) {
	mirror := func(uid types.UID) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "fixed", UID: uid}}
	}
	client := fake.NewClientset(mirror("old"))
	uid, key := types.UID("old"), fact.Pod{Namespace: "ns", Name: "fixed", UID: "static"}
	p := NewPublisher(client, func(fact.Pod) (types.UID, bool) { return uid, true }, slog.New(slog.DiscardHandler))
	ready := v1.PodStatus{Phase: v1.PodRunning}
	client.PrependReactor(verb, "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if uid == "new" {
			return false, nil, nil
		}
		uid = "new"
		if err := client.Tracker().Update(v1.SchemeGroupVersion.WithResource("pods"), mirror("new"), "ns"); err != nil {
			t.Error(err)
		}
		p.Again(key, ready)
		if verb == "patch" { // it came before the old one went
			old := mirror("old")
			old.Status = ready
			return true, old, nil
		}
		return false, nil, nil
	})
	p.Publish(key, ready)
	for p.queue.Len() > 0 {
		p.next(t.Context())
	}
	got, err := client.CoreV1().Pods("ns").Get(t.Context(), "fixed", metav1.GetOptions{})
	if err != nil || got.Status.Phase != v1.PodRunning {
		t.Errorf("the new mirror says %q, %v", got.Status.Phase, err)
	}
	if err := p.flush(t.Context(), key); err != nil {
		t.Error(err)
	}
}

// The node authorizer may not know yet of a mirror that was made just now: its status is written
// when it does.
func TestStatusOfAMirrorThatIsForbidden(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "fixed", UID: "mirror"}}
	client := fake.NewClientset(pod)
	asked := 0
	client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		if asked > 1 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(v1.Resource("pods"), "fixed", errors.New("no relationship found"))
	})
	key := fact.Pod{Namespace: "ns", Name: "fixed", UID: "static"}
	p := NewPublisher(client, func(fact.Pod) (types.UID, bool) { return pod.UID, true }, slog.New(slog.DiscardHandler))
	p.Publish(key, v1.PodStatus{Phase: v1.PodRunning})
	p.next(t.Context())
	p.next(t.Context())
	got, err := client.CoreV1().Pods("ns").Get(t.Context(), "fixed", metav1.GetOptions{})
	if err != nil || got.Status.Phase != v1.PodRunning {
		t.Errorf("after %d questions the mirror says %q, %v", asked, got.Status.Phase, err)
	}
}
