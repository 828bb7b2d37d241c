package front

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unique"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/common"
)

type uidOf = types.UID

// taker takes what one agent tells of its pods: of those that the API server says are on
// its node.
type taker struct {
	session *session
	// waiting are pods that the API server did not know yet, or could not be asked about.
	waiting map[uidOf]waitingPod
}

type waitingPod struct {
	pod   link.Pod
	tries int
}

const (
	// mostTries is how often the API server is asked about a pod.
	mostTries = 5
	// oneByOne is up to how many pods are looked up one by one.
	oneByOne = 3
)

func (t *taker) take(ctx context.Context, s link.Standing) {
	h := t.session.hub
	if len(s.Pods) > link.MaxStanding || len(s.Gone) > link.MaxStanding {
		h.count(func(c *Counts) { c.Malformed++ })
		return
	}
	for _, p := range s.Pods {
		if err := cmp.Or(sound(p.Pod, p.Answer), soundMaker(p)); err != nil {
			h.count(func(c *Counts) { c.Malformed++ })
			h.o.Log.Warn("what an agent says makes no sense", "node", t.session.node, "error", err)
			continue
		}
		if len(t.waiting) < link.MaxPods {
			t.waiting[p.UID] = waitingPod{pod: p}
		}
	}
	t.again(ctx)
	for _, uid := range s.Gone {
		delete(t.waiting, uid)
		h.went(t.session.node, uid)
	}
	if len(t.waiting) == 0 {
		t.waiting = map[uidOf]waitingPod{} // what a map once held it keeps, and there is one for each node
	}
	if s.Whole {
		h.wholeOf(t.session.node)
	}
}

// sound says whether a pod and what is said of it fit together.
func sound(p fact.Pod, text json.RawMessage) error {
	for _, s := range []string{p.Namespace, p.Name, string(p.UID)} {
		if s == "" || len(s) > link.MaxName {
			return errors.New("a pod without a proper name")
		}
	}
	if len(text) > link.MaxAnswer {
		return fmt.Errorf("an answer of %d bytes", len(text))
	}
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	a, err := answer.Parse(text)
	if err != nil {
		return fmt.Errorf("an answer that is none: %w", err)
	}
	if len(a.Symptoms) != len(a.Verdicts) || a.Subject != (answer.Subject{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}) {
		return errors.New("an answer about something else")
	}
	return nil
}

// soundMaker says whether what made a pod can be what it is said to be.
func soundMaker(p link.Pod) error {
	if (p.Kind == "") != (p.Workload == "") || max(len(p.Kind), len(p.Workload), len(p.Revision)) > link.MaxName {
		return errors.New("a pod made by nothing that can be")
	}
	return nil
}

// again looks whether pods that wait are on the node.
func (t *taker) again(ctx context.Context) {
	if len(t.waiting) == 0 {
		return
	}
	var unknown []link.Pod
	for uid, w := range t.waiting {
		if t.session.hub.put(t.session.node, w.pod, false) {
			delete(t.waiting, uid)
		} else {
			unknown = append(unknown, w.pod)
		}
	}
	on, err := t.lookUp(ctx, unknown)
	for _, p := range unknown {
		w := t.waiting[p.UID]
		w.tries++
		at, known := on[p.UID]
		switch node := at.node; {
		case known && node == t.session.node:
			t.session.hub.put(node, p, true)
			t.session.hub.has(p.UID, at.containers)
			delete(t.waiting, p.UID)
		case known || err == nil && w.tries >= mostTries:
			t.session.hub.count(func(c *Counts) { c.Foreign++ })
			t.session.hub.o.Log.Warn("an agent speaks of a pod that is not on its node", "node", t.session.node, "pod", p.String(), "on", node)
			delete(t.waiting, p.UID)
		default:
			t.waiting[p.UID] = w
		}
	}
}

// site is where the API server says that a pod is, and which containers it has.
type site struct {
	node       string
	containers unique.Handle[string] // names between blanks: pods of a workload have the same
}

func siteOf(p *v1.Pod) site {
	names := " "
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		names += c.Name + " "
	}
	return site{p.Spec.NodeName, unique.Make(names)}
}

// has takes which containers a pod has.
func (h *Hub) has(uid uidOf, containers unique.Handle[string]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.pods[uid]; p != nil {
		p.containers = containers
	}
}

// HasContainer says whether a pod has a container of that name, as the API server knows it.
func (h *Hub) HasContainer(uid uidOf, name string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	p := h.pods[uid]
	return p != nil && p.containers != unique.Handle[string]{} && strings.Contains(p.containers.Value(), " "+name+" ")
}

// lookUp asks the API server where pods are: each one, or for many the node's own.
func (t *taker) lookUp(ctx context.Context, pods []link.Pod) (map[uidOf]site, error) {
	on := map[uidOf]site{}
	api := t.session.hub.o.API.CoreV1()
	if len(pods) <= oneByOne {
		for _, p := range pods {
			found, err := api.Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return on, err
			}
			if err == nil && found.UID == p.UID && found.Spec.NodeName != "" {
				on[p.UID] = siteOf(found)
			}
		}
		return on, nil
	}
	list, err := api.Pods("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", t.session.node).String(), ResourceVersion: "0"})
	if err != nil {
		return on, err
	}
	asked := map[uidOf]fact.Pod{}
	for _, p := range pods {
		asked[p.UID] = p.Pod
	}
	for i := range list.Items {
		p := &list.Items[i]
		if asked[p.UID] == (fact.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID}) {
			on[p.UID] = siteOf(p)
		}
	}
	return on, nil
}

// put takes how a pod stands, if it is known to be on the node or confirmed now.
func (h *Hub) put(node string, p link.Pod, confirmed bool) bool {
	var a *answer.Answer
	if len(p.Answer) > 0 && string(p.Answer) != "null" {
		a = &answer.Answer{}
		if json.Unmarshal(p.Answer, a) != nil {
			return false // which sound has refused
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.pods[p.UID]
	if s == nil || s.node != node || s.pod != p.Pod {
		if !confirmed || h.nodes[node] == nil {
			return false
		}
		if s != nil {
			h.forget(p.UID)
		}
		s = &podState{pod: p.Pod, node: h.nodes[node].name, before: h.names[nameOf(p.Pod)]}
		h.pods[p.UID], h.nodes[node].pods[p.UID], h.names[nameOf(p.Pod)] = s, s, s
	} else {
		h.stands(s, -1)
	}
	h.countNew(s.answer, a)
	s.answer, s.seen = a, time.Now().UnixNano()
	s.maker = unique.Make(makerOf(p))
	h.stands(s, 1)
	return true
}

// makerOf is what an agent says has made a pod: something of its own namespace.
func makerOf(p link.Pod) common.Maker {
	if p.Workload == "" {
		return common.Maker{}
	}
	return common.Maker{Namespace: p.Namespace, Kind: p.Kind, Name: p.Workload, Revision: p.Revision}
}

// countNew counts the verdicts that are in an answer and were not in the one before. The
// caller holds mu.
func (h *Hub) countNew(before, now *answer.Answer) {
	if now == nil {
		return
	}
	has := func(a *answer.Answer, i int) bool {
		if a == nil {
			return false
		}
		for j, v := range a.Verdicts {
			s, t := now.Symptoms[i], a.Symptoms[j]
			if v.Cause == now.Verdicts[i].Cause && s.Kind == t.Kind && s.Container == t.Container && s.Count <= t.Count {
				return true
			}
		}
		return false
	}
	for i, v := range now.Verdicts {
		if !has(before, i) && slices.Contains(answer.Causes, v.Cause) { // no node invents series
			h.causes[v.Cause]++
		}
	}
}

// went takes that a pod is gone; from another node than its own it is not taken.
func (h *Hub) went(node string, uid uidOf) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.pods[uid]; p != nil && p.node == node {
		h.left[uid] = leftPod{node, time.Now()}
		h.forget(uid)
	}
}

// forget drops a pod. The caller holds mu.
func (h *Hub) forget(uid uidOf) {
	p := h.pods[uid]
	if p == nil {
		return
	}
	h.stands(p, -1)
	delete(h.pods, uid)
	if n := h.nodes[p.node]; n != nil {
		delete(n.pods, uid)
	}
	h.unname(p)
}

// unname drops a pod from those of its name. The caller holds mu.
func (h *Hub) unname(p *podState) {
	first := h.names[nameOf(p.pod)]
	switch {
	case first == p && p.before == nil:
		delete(h.names, nameOf(p.pod))
	case first == p:
		h.names[nameOf(p.pod)] = p.before
	default:
		for ; first != nil; first = first.before {
			if first.before == p {
				first.before = p.before
			}
		}
	}
}

// wholeOf takes that all pods of a node were told of.
func (h *Hub) wholeOf(node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.nodes[node]; n != nil {
		n.whole = true
	}
}
