package why

import (
	"cmp"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// Beside a kubelet it is by the events of who made a pod that it is known whether its maker
// deleted it, and why.
func TestWhatItsMakerSays(t *testing.T) {
	set := func(message string) fact.Said {
		return fact.Said{Component: "replicaset-controller", Source: "event", Reason: fact.DeletedPod, Message: message}
	}
	scaled := func(message string) fact.Said {
		return fact.Said{Component: "deployment-controller", Source: "event", Reason: fact.ScaledSet, Message: message}
	}
	own := set("Deleted pod: web-1")
	made, down, to0 := scaled("Scaled up replica set web-a1 from 0 to 3"), scaled("Scaled down replica set web-a1 from 3 to 2"), scaled("Scaled down replica set web-a1 from 3 to 0")
	other := scaled("Scaled up replica set web-b2 from 0 to 1")
	of := func(kind string) *v1.Pod {
		p := owned("a1")
		delete(p.Labels, "pod-template-hash")
		p.OwnerReferences[0].Kind = kind
		return p
	}
	alice := fact.Requested{Verb: "delete", User: "alice", Asked: true}
	account := fact.Requested{Verb: "delete", User: "system:serviceaccount:kube-system:replicaset-controller", Asked: true}
	for _, c := range []struct {
		name     string
		pod      *v1.Pod
		asked    *fact.Requested
		said     []fact.Said
		later    time.Duration // when it is read
		heir     string
		cause    answer.Cause
		possible int
		says     string
	}{
		{name: "nothing", pod: owned("a1"), cause: answer.CauseUnknown, possible: 3, says: "does not record who deleted it"},
		{name: "that it deleted another", pod: owned("a1"), said: []fact.Said{set("Deleted pod: web-2")}, cause: answer.CauseUnknown, possible: 3, says: "does not record who deleted it"},
		{name: "that it did", pod: owned("a1"), said: []fact.Said{own}, cause: answer.CauseUnknown, possible: 2, says: "ReplicaSet web-a1, which had made the pod, deleted it, and says so itself"},
		{name: "that it did, and nobody that fewer are wanted", pod: owned("a1"), said: []fact.Said{own, made, other}, cause: answer.CauseUnknown, possible: 2, says: "says so itself"},
		{name: "nothing, and fewer are wanted", pod: owned("a1"), said: []fact.Said{made, down}, cause: answer.CauseUnknown, possible: 3, says: "does not record who deleted it"},
		{name: "that it did: fewer are wanted", pod: owned("a1"), said: []fact.Said{made, own, down}, cause: answer.ScaledDown, says: "Deployment web wanted fewer pods: it scaled ReplicaSet web-a1 down from 3 to 2"},
		{name: "that it did: fewer are wanted, and more again", pod: owned("a1"), said: []fact.Said{made, own, down}, heir: "a1", cause: answer.ScaledDown},
		{name: "that it did: another revision comes", pod: owned("a1"), said: []fact.Said{made, other, own, down}, cause: answer.RolledOut, says: "it scaled up ReplicaSet web-b2, and web-a1 down"},
		{name: "that it did: another revision came here", pod: owned("a1"), said: []fact.Said{made, own, down}, heir: "b2", cause: answer.RolledOut, says: "web-2 came"},
		{name: "that it did: none are wanted", pod: owned("a1"), said: []fact.Said{made, own, to0}, later: time.Minute, cause: answer.ScaledDown, says: "from 3 to 0"},
		{name: "that it did: none are wanted, or they are recreated", pod: owned("a1"), said: []fact.Said{made, own, to0}, later: time.Second, cause: answer.CauseUnknown, possible: 2},
		{name: "that it did, asked by itself", pod: owned("a1"), asked: &account, said: []fact.Said{made, other, own, down}, cause: answer.RolledOut},
		{name: "nothing, asked by itself", pod: owned("a1"), asked: &account, cause: answer.CauseUnknown, possible: 2, says: "ReplicaSet web-a1, which had made the pod, asked the API server to delete it"},
		{name: "that it did, and another's request was refused", pod: owned("a1"), asked: &alice, said: []fact.Said{made, own, down}, cause: answer.ScaledDown},
		{name: "that it did, and is of no Deployment", pod: of("ReplicaSet"), said: []fact.Said{own}, cause: answer.ScaledDown, says: "no longer wanted the pod"},
		{name: "that it did, and is a StatefulSet", pod: of("StatefulSet"), said: []fact.Said{set("delete Pod web-1 in StatefulSet web-a1 successful")}, cause: answer.CauseUnknown, possible: 2, says: "StatefulSet web-a1, which"},
		{name: "that it did, and is a DaemonSet", pod: of("DaemonSet"), said: []fact.Said{own}, cause: answer.Deleted, says: "DaemonSet web-a1, which"},
		{name: "that it did, and is a Job", pod: of("Job"), said: []fact.Said{own}, cause: answer.Deleted, says: "Job web-a1, which"},
	} {
		s := tell(t, c.pod)
		s.wait(time.Hour)
		at := s.now
		if c.asked != nil {
			s.see("", 0, *c.asked)
		}
		s.see("", 0, fact.DeletionSeen{GraceSeconds: 2})
		s.wait(time.Minute)
		for _, b := range c.said {
			s.last++
			s.facts = append(s.facts, fact.Fact{ID: s.last, At: at, Seen: at.Add(cmp.Or(c.later, 3*time.Second)), Pod: s.key, Body: b})
		}
		began := fact.Fact{ID: 1 << 20, Seen: dawn.Add(-time.Hour), Body: fact.AgentStarted{Beside: "kubelet"}}
		h := history.New(s.key, s.facts, []fact.Fact{began}, nil)
		if c.heir != "" {
			heir := owned(c.heir)
			heir.Namespace, heir.Name = "shop", "web-2"
			h.Kin = []fact.Fact{{ID: 999, Seen: at.Add(time.Second), Pod: fact.Pod{Namespace: "shop", Name: "web-2", UID: "u2"}, Body: fact.SpecSeen{Object: heir}}}
		}
		a := Explain(h, Options{Now: s.now})
		check(t, a)
		v := a.Verdicts[len(a.Verdicts)-1]
		if v.Cause != c.cause || len(v.Possible) != c.possible || !strings.Contains(v.Text, c.says) {
			t.Errorf("%s: %s", c.name, a.Text(answer.Style{Wide: true}))
		}
		if said := v.Certainty == answer.Recorded; said != (v.Cause == answer.Deleted && len(c.said) > 0) {
			t.Errorf("%s: it is called %s", c.name, v.Certainty)
		}
	}
}
