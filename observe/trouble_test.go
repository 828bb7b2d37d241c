package observe

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/kubelet"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/shadow"
)

func newTroublesOf() *troubles {
	return &troubles{agent: &Agent{loop: &loop{pods: pods.New()}}, due: map[types.UID]*trouble{}, met: map[types.UID]bool{}, stopped: map[containerOf]bool{}, wake: make(chan struct{}, 1)}
}

func ready(is v1.ConditionStatus) fact.Fact {
	return fact.Fact{Pod: web, Body: fact.StatusSeen{Status: v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: is}}}}}
}

// A pod that starts is left in peace while it does, and looked at once, later, when it came up.
func TestAPodThatStarts(t *testing.T) {
	all := newTroublesOf()
	soon := func() time.Duration { return time.Until(all.due[web.UID].next) }
	all.heard(ready(v1.ConditionFalse))
	if in := soon(); in < comesUp-time.Second {
		t.Errorf("its events are read %v after it began", in)
	}
	all.heard(ready(v1.ConditionTrue))
	if in := soon(); in < countEvery {
		t.Errorf("those of one that came up %v later", in)
	}
	all.heard(ready(v1.ConditionFalse))
	if in := soon(); in > time.Second {
		t.Errorf("those of one that is not well any more only %v later", in)
	}
}

// It has its time from when its container starts: before that nothing of it can fail that its
// status does not tell.
func TestAPodThatStartsLate(t *testing.T) {
	all := newTroublesOf()
	all.heard(ready(v1.ConditionFalse))
	one := all.due[web.UID]
	one.step, one.next = 3, time.Now()
	all.heard(fact.Fact{Pod: web, Container: "app", Body: fact.Started{}})
	if in := time.Until(one.next); in < comesUp-time.Second || one.step != starting {
		t.Errorf("its events are read %v after its container began, for the %d. time", in, one.step)
	}
	all.heard(fact.Fact{Pod: web, Container: "app", Body: fact.StartFailed{}})
	all.heard(fact.Fact{Pod: web, Container: "app", Body: fact.Started{}})
	if in := time.Until(one.next); in > time.Second {
		t.Errorf("one that is in trouble is let alone for %v", in)
	}
}

// What packets do not show of a probe is read soon, and once only while all is well.
func TestAnAttemptThatIsNotRead(t *testing.T) {
	for _, isWell := range []bool{true, false} {
		all := newTroublesOf()
		all.unread(web.UID, isWell)
		if one := all.due[web.UID]; one.calm != isWell || time.Until(one.next) > time.Second {
			t.Errorf("well %v: %+v", isWell, one)
		}
	}
}

// One that does not come up is in trouble, and so is one of which something else is heard.
func TestAPodThatDoesNotComeUp(t *testing.T) {
	all := newTroublesOf()
	all.heard(ready(v1.ConditionFalse))
	all.heard(fact.Fact{Pod: web, Container: "app", Body: fact.StartFailed{}})
	if in := time.Until(all.due[web.UID].next); in > time.Second {
		t.Errorf("its events are read only after %v", in)
	}
	all.heard(ready(v1.ConditionTrue))
	if one := all.due[web.UID]; !one.calm || time.Until(one.next) > time.Second {
		t.Errorf("what happened is not looked at once it is well: %+v", one)
	}
}

// Also one that had trouble while it came up is looked at once more when each of its probes was to be
// made: of one that cannot be made nothing else tells.
func TestTheLastLook(t *testing.T) {
	all := newTroublesOf()
	all.heard(ready(v1.ConditionFalse))
	all.heard(fact.Fact{Pod: web, Container: "app", Body: fact.StartFailed{}})
	all.heard(ready(v1.ConditionTrue))
	for range lastCalm {
		all.look(t.Context(), web.UID)
	}
	one := all.due[web.UID]
	if one == nil || !one.late || time.Until(one.next) < countEvery {
		t.Fatalf("nothing more is looked at: %+v", one)
	}
	if all.look(t.Context(), web.UID); all.due[web.UID] != nil {
		t.Errorf("it is never left alone: %+v", all.due[web.UID])
	}
	pod := theSpec()
	pod.Spec.Containers[0].LivenessProbe.InitialDelaySeconds = 300
	all.agent.loop.pods.Take(fact.Fact{Pod: web, Body: fact.SpecSeen{Object: pod}})
	if in := time.Until(all.last(web.UID).next); in < 300*time.Second {
		t.Errorf("it is left alone %v after it became well, before its probe was made", in)
	}
}

// One that has failed for good is looked at for a while, and then left alone, whatever comes late.
func TestAPodThatIsOver(t *testing.T) {
	all := newTroublesOf()
	failed := v1.PodStatus{Phase: v1.PodFailed}
	if err := all.agent.loop.pods.Restore(web, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	all.agent.loop.pods.SetStatus(web.UID, failed)
	all.heard(fact.Fact{Pod: web, Body: fact.StatusSeen{Status: failed}})
	all.heard(fact.Fact{Pod: web, Body: fact.SandboxLost{}})
	for n := range pauses {
		if all.due[web.UID] == nil {
			t.Fatalf("left alone after %d looks", n)
		}
		all.look(t.Context(), web.UID)
	}
	if one := all.due[web.UID]; one != nil {
		t.Errorf("it is never left alone: %+v", one)
	}
}

// Those that an earlier agent knew are looked at as they were when it ended: their status is told
// anew only when it changes.
func TestPodsOfAnEarlierAgent(t *testing.T) {
	for is, soon := range map[v1.ConditionStatus]bool{v1.ConditionTrue: false, v1.ConditionFalse: true} {
		all := newTroublesOf()
		a := all.agent
		a.trouble, a.loop.shadows = all, map[types.UID]shadow.State{}
		a.loop.pods.Take(fact.Fact{Pod: web, Body: fact.SpecSeen{Object: theSpec()}})
		if a.resume(); all.due[web.UID] != nil {
			t.Errorf("one whose status nobody knew: %+v", all.due[web.UID])
		}
		a.loop.shadows[web.UID], _ = shadow.Step(shadow.State{}, ready(is))
		a.resume()
		if one := all.due[web.UID]; one == nil || one.calm == soon || time.Until(one.next) <= comesUp != soon {
			t.Errorf("ready %s: %+v", is, one)
		}
		all.due = map[types.UID]*trouble{}
		a.loop.pods.SetStatus(web.UID, v1.PodStatus{Phase: v1.PodFailed})
		if a.resume(); len(all.due) > 0 {
			t.Errorf("one that is over: %+v", all.due[web.UID])
		}
	}
}

// A pod of which nothing was read yet does not wait for those that have news again and again.
func TestWhoIsLookedAtFirst(t *testing.T) {
	all := newTroublesOf()
	now := time.Now()
	all.due["old"] = &trouble{looked: true, next: now.Add(-time.Minute)}
	all.due["older"] = &trouble{looked: true, step: 3, next: now.Add(-time.Hour)}
	all.due["new"] = &trouble{step: starting, next: now.Add(-time.Second)}
	all.due["later"] = &trouble{next: now.Add(time.Second)}
	for _, want := range []types.UID{"new", "old", "older", "later"} {
		got, _ := all.soonest()
		if got != want {
			t.Errorf("%s before %s", got, want)
		}
		delete(all.due, got)
	}
}

// That a probe is made and succeeds is known from kubelet's counters, if they have it.
func TestFine(t *testing.T) {
	pod := pods.Pod{Key: web, Object: theSpec(), Containers: map[string]pods.Container{"app": {Running: true}}}
	of := kubelet.ProbeOf{UID: web.UID, Namespace: web.Namespace, Name: web.Name, Container: "app", Kind: fact.Liveness}
	for name, c := range map[string]struct {
		counts map[kubelet.ProbeOf]kubelet.Count
		want   bool
	}{
		"it succeeds":      {map[kubelet.ProbeOf]kubelet.Count{of: {Successes: 3}}, true},
		"it failed":        {map[kubelet.ProbeOf]kubelet.Count{of: {Successes: 3, Failures: 1}}, false},
		"it is never made": {map[kubelet.ProbeOf]kubelet.Count{of: {}}, false},
		"nobody counts":    {nil, false},
	} {
		if got := (&counts{last: c.counts}).fine(pod); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
