package observe

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/api"
)

// withEvents makes troubles whose API server has events, and notes for which it is asked.
func withEvents(t *testing.T, events ...v1.Event) (all *troubles, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var selectors []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.Query().Get("fieldSelector"), ",")
		slices.Sort(parts)
		selector := strings.Join(parts, ",")
		mu.Lock()
		selectors = append(selectors, selector)
		mu.Unlock()
		list := v1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}}
		for _, e := range events {
			if strings.Contains(selector, "reason="+e.Reason) {
				list.Items = append(list.Items, e)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(s.Close)
	client, err := api.New(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClock()
	if err != nil {
		t.Fatal(err)
	}
	all = newTroublesOf()
	all.agent.loop = newLoop(nil, c, slog.New(slog.DiscardHandler))
	all.log, all.events = slog.New(slog.DiscardHandler), api.Events{Client: client}
	return all, func() []string { mu.Lock(); defer mu.Unlock(); return selectors }
}

// deleted has the pods of a ReplicaSet deleted a moment ago, which it tells all of.
func deleted(all *troubles, hash string, names ...string) {
	at := time.Now().Add(-5 * time.Second).Truncate(time.Second)
	for _, name := range names {
		spec := theSpec()
		spec.Name, spec.UID, spec.Labels = name, types.UID(name), map[string]string{"pod-template-hash": hash}
		spec.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-a1", UID: "set", Controller: new(true)}}
		key := fact.Pod{Namespace: "shop", Name: name, UID: types.UID(name)}
		all.agent.loop.pods.Take(fact.Fact{Pod: key, Body: fact.SpecSeen{Object: spec}})
		all.heard(fact.Fact{Pod: key, At: at, Body: fact.DeletionSeen{GraceSeconds: 1}})
		all.heard(fact.Fact{Pod: key, At: at, Body: fact.DeletionSeen{GraceSeconds: 0}}) // it is told again
	}
}

// sooner has the time gone by for which a maker's pods wait.
func sooner(all *troubles) {
	for _, l := range all.due["set"].maker.pods {
		l.heard = l.heard.Add(-time.Minute)
		if !l.Gone.IsZero() {
			l.Gone = l.Gone.Add(-time.Minute)
		}
	}
}

func says(kind, component, reason, message string, at time.Time) v1.Event {
	return v1.Event{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID(message)}, Source: v1.EventSource{Component: component}, InvolvedObject: v1.ObjectReference{Kind: kind},
		Reason: reason, Message: message, FirstTimestamp: metav1.NewTime(at), LastTimestamp: metav1.NewTime(at), Count: 1,
	}
}

func wordsOf(all *troubles) []string {
	var said []string
	for len(all.agent.loop.facts) > 0 {
		f := <-all.agent.loop.facts
		said = append(said, f.Pod.Name+": "+f.Body.(fact.Said).Component+": "+f.Body.(fact.Said).Message)
	}
	return said
}

// Whoever made pods is asked once for all of them, and its Deployment once they are gone.
func TestMakersAreAsked(t *testing.T) {
	at := time.Now().Truncate(time.Second).Add(-5 * time.Second)
	all, asked := withEvents(t,
		says("ReplicaSet", "replicaset-controller", fact.DeletedPod, "Deleted pod: web-a1-x", at),
		says("ReplicaSet", "replicaset-controller", fact.DeletedPod, "Deleted pod: web-a1-y", at),
		says("Deployment", "deployment-controller", fact.ScaledSet, "Scaled up replica set web-a1 from 0 to 3", at.Add(-time.Minute)),
		says("Deployment", "deployment-controller", fact.ScaledSet, "Scaled down replica set web-a1 from 3 to 1", at),
	)
	deleted(all, "a1", "web-a1-x", "web-a1-y", "web-a1-z")
	if in := time.Until(all.due["set"].next); in < 0 || in > saysSoon {
		t.Errorf("its maker is asked in %v", in)
	}
	if all.look(t.Context(), "set") {
		t.Error("it is asked before it can have said anything")
	}
	sooner(all)
	if !all.look(t.Context(), "set") || strings.Join(wordsOf(all), "; ") != "web-a1-x: replicaset-controller: Deleted pod: web-a1-x; web-a1-y: replicaset-controller: Deleted pod: web-a1-y" {
		t.Fatal("what it says is not told")
	}
	if all.look(t.Context(), "set") {
		t.Error("its Deployment is asked before the pods are gone")
	}
	for _, name := range []string{"web-a1-x", "web-a1-y", "web-a1-z"} {
		all.heard(fact.Fact{Pod: fact.Pod{UID: types.UID(name)}, Body: fact.ObjectGone{}})
	}
	sooner(all)
	for range 2 { // of the third it says nothing
		if !all.look(t.Context(), "set") {
			t.Error("nothing is asked")
		}
	}
	if said := wordsOf(all); len(said) != 4 || said[1] != "web-a1-x: deployment-controller: Scaled down replica set web-a1 from 3 to 1" {
		t.Errorf("%q", said)
	}
	if _, left := all.due["set"]; left || all.look(t.Context(), "set") {
		t.Error("it is asked for ever")
	}
	want := []string{"involvedObject.uid=set,reason=SuccessfulDelete", "involvedObject.uid=set,reason=SuccessfulDelete", "involvedObject.kind=Deployment,involvedObject.name=web,reason=ScalingReplicaSet"}
	if got := asked(); strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("asked %q", got)
	}
}

// A Deployment that left no pod may recreate them, which shows only once they are gone.
func TestARecreationIsWaitedFor(t *testing.T) {
	at := time.Now().Truncate(time.Second).Add(-5 * time.Second)
	all, asked := withEvents(t,
		says("ReplicaSet", "replicaset-controller", fact.DeletedPod, "Deleted pod: web-a1-x", at),
		says("Deployment", "deployment-controller", fact.ScaledSet, "Scaled up replica set web-a1 from 0 to 3", at.Add(-time.Minute)),
		says("Deployment", "deployment-controller", fact.ScaledSet, "Scaled down replica set web-a1 from 3 to 0", at),
	)
	deleted(all, "a1", "web-a1-x")
	all.heard(fact.Fact{Pod: fact.Pod{UID: "web-a1-x"}, Body: fact.ObjectGone{}})
	sooner(all)
	for range 2 {
		all.look(t.Context(), "set")
	}
	if said := wordsOf(all); len(said) != 1 || len(asked()) != 2 {
		t.Fatalf("told too early: %q, asked %q", said, asked())
	}
	one := all.due["set"].maker.pods[0]
	if in := time.Until(all.due["set"].next); in < 20*time.Second || in > 40*time.Second {
		t.Errorf("asked again in %v", in)
	}
	one.Deleted, one.again = one.Deleted.Add(-time.Minute), time.Now()
	all.look(t.Context(), "set")
	if len(asked()) != 3 || all.due["set"] != nil {
		t.Errorf("asked %q", asked())
	}
}

// Nobody is asked about a pod that nobody made, or of which it is known why it goes.
func TestWhoIsNotAsked(t *testing.T) {
	for name, change := range map[string]func(*v1.Pod){
		"nobody made it": func(p *v1.Pod) { p.OwnerReferences = nil },
		"it is evicted": func(p *v1.Pod) {
			p.Status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: fact.EvictedByAPI}}
		},
	} {
		all := newTroublesOf()
		spec := theSpec()
		spec.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-a1", UID: "set", Controller: new(true)}}
		change(spec)
		all.agent.loop.pods.Take(fact.Fact{Pod: web, Body: fact.SpecSeen{Object: spec}})
		all.agent.loop.pods.SetStatus(web.UID, spec.Status)
		all.heard(fact.Fact{Pod: web, At: time.Now(), Body: fact.DeletionSeen{}})
		if all.due["set"] != nil {
			t.Errorf("%s: its maker is asked", name)
		}
	}
}
