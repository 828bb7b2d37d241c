package ask

import (
	"context"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	object "whylet.dev/whylet/why/question"
)

// directly is the same question to the nodes themselves, through the API server; unheard counts those that nobody could
// be asked on.
func (q *question) directly() (d question, unheard func() int) {
	var nodes sync.Map
	o := q.options
	o.NoFront, o.Unheard = true, func(node string) { nodes.Store(node, true) }
	d = *q
	d.Cluster = q.With(o)
	return d, func() (n int) {
		nodes.Range(func(any, any) bool { n++; return true })
		return n
	}
}

// byFront gives what a front says, unless there is none, or it could not ask some nodes and the asker may: a
// node of Whylet's own answers in the API server's name, and needs no front for that.
func byFront[T any](ctx context.Context, q *question, space string, spec object.Spec, said func(object.Status) (T, error), ask func(*question) (T, error)) (none T, err error) {
	s, ok, err := q.asked(ctx, space, spec)
	if err != nil {
		return none, err
	}
	if !ok {
		return ask(q)
	}
	if own := q.own(s.Unheard); len(own) > 0 {
		d, unheard := q.directly()
		if got, err := ask(&d); err == nil && unheard() < len(s.Unheard) {
			q.told("the front did not hear %s: asked directly", strings.Join(own, ", "))
			return got, nil
		}
	}
	return said(s)
}

// own are those of some nodes that may answer themselves; all where nodes may not be read.
func (q *question) own(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	nodes := q.nodes()
	if len(nodes) == 0 {
		return names
	}
	var own []string
	for i := range nodes {
		_, lost := cluster.NodeLostAnswer(&v1.Pod{Spec: v1.PodSpec{NodeName: nodes[i].Name}}, &nodes[i], q.now())
		if slices.Contains(names, nodes[i].Name) && cluster.Own(&nodes[i]) && !lost {
			own = append(own, nodes[i].Name)
		}
	}
	return own
}

// nearest puts in what nodes say that a front did not hear, in place of what it said of
// their pods.
func (q *question) nearest(ctx context.Context, all []answer.Answer, unheard []string) []answer.Answer {
	unheard = q.own(unheard)
	unheard = unheard[:min(len(unheard), mostUnspoken)]
	lists := make([][]answer.Answer, len(unheard))
	replaced := make([]map[types.UID]bool, len(unheard))
	each(unheard, func(i int, node string) { lists[i], replaced[i] = q.listDirectly(ctx, node) })
	heard := false
	for i, list := range lists {
		if replaced[i] == nil {
			continue
		}
		heard = true
		all = slices.DeleteFunc(all, func(a answer.Answer) bool { return replaced[i][a.Subject.UID] })
		all = append(all, list...)
	}
	if heard {
		answer.WorstFirst(all)
	}
	return all
}

// listDirectly is what a node says about all its pods, and which those are; nil where it
// says nothing.
func (q *question) listDirectly(ctx context.Context, node string) ([]answer.Answer, map[types.UID]bool) {
	pods, err := q.podsOn(ctx, q.space, node)
	if err != nil {
		return nil, nil
	}
	d, unheard := q.directly()
	list, err := d.listOf(ctx, node, q.space, pods)
	if err != nil || unheard() > 0 {
		return nil, nil
	}
	q.told("the front did not hear node %s: asked directly", node)
	uids := map[types.UID]bool{}
	for i := range pods {
		uids[pods[i].UID] = true
	}
	for a, pod := range withPods(list, pods) {
		cluster.StillThere(a, pod)
	}
	return list, uids
}
