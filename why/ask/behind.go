package ask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
	object "whylet.dev/whylet/why/question"
	"whylet.dev/whylet/why/serve"
)

// Part is where the facts behind an answer are: a journal, and what to ask it. Node is
// whose journal that is, where it is known.
type Part struct {
	Source   journal.Source
	Question serve.Question
	Node     string
}

// Historian is who can give the facts behind an answer.
type Historian interface {
	Behind(ctx context.Context, a answer.Answer) ([]Part, error)
}

// Behind gives the facts behind an answer that came of the same journal.
func (j *Journal) Behind(_ context.Context, a answer.Answer) ([]Part, error) {
	p := Part{Source: j.Source, Question: j.question(Target{Name: a.Subject.Name, Namespace: a.Subject.Namespace})}
	p.Question.UID, p.Question.Now = a.Subject.UID, a.AsOf
	p.Question.Node = a.Subject.Kind == "Node"
	if f, ok := j.Source.(*journal.File); ok {
		p.Node = f.Header.Node
	}
	return []Part{p}, nil
}

// mostBehind is of how many pods of a workload the facts are fetched: those that the
// answer tells of first, which are the worst. Where they are fewer than besides, some that
// are well come along, to compare with.
const (
	mostBehind = 24
	besides    = 8
)

// Behind fetches the facts behind an answer from the nodes that gave it: of a pod, of a
// node, or of the pods that an answer about a workload tells of. The error may come with
// parts; it then is a *[PartialError].
func (c *Cluster) Behind(ctx context.Context, a answer.Answer) ([]Part, error) {
	if err := c.unpack(ctx); err != nil {
		return nil, err
	}
	if err := c.beyond(Target{Kind: strings.ToLower(a.Subject.Kind), Name: a.Subject.Name, Namespace: a.Subject.Namespace}); err != nil {
		return nil, err
	}
	q, ctx, cancel := c.begin(ctx, a.Subject.Namespace)
	defer cancel()
	about := q.about(a.Subject.Name)
	about.Now = a.AsOf
	switch a.Subject.Kind {
	case "Node":
		about.Node = true
		part, err := q.behindNode(ctx, about)
		return []Part{part}, err
	case "Pod":
		about.UID = a.Subject.UID
		part, err := q.behindPod(ctx, about)
		return []Part{part}, err
	}
	var names []string
	for _, s := range a.Symptoms {
		if name := s.Pod[strings.LastIndex(s.Pod, "/")+1:]; name != "" && !slices.Contains(names, name) && len(names) < mostBehind {
			names = append(names, name)
		}
	}
	for _, name := range q.members(ctx, a.Subject) {
		if len(names) < besides && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	all, errs := make([]Part, len(names)), make([]error, len(names))
	fetch := func(i int, name string) {
		about := about
		about.Name = name
		all[i], errs[i] = q.behindPod(ctx, about)
	}
	if c.options.AtDoor { // no more than one at a time is in memory as it came
		for i, name := range names {
			fetch(i, name)
		}
	} else {
		each(names, fetch)
	}
	return answered(all, errs), partial(errs, func(i int) string { return "about pod " + names[i] })
}

// members are the names of a workload's pods that have a node; none where they may not be
// listed.
func (q *question) members(ctx context.Context, of answer.Subject) []string {
	var selector *metav1.LabelSelector
	switch t := (Target{Kind: strings.ToLower(of.Kind), Name: of.Name, Namespace: of.Namespace}); t.Kind {
	case "cronjob":
		return nil // those of its newest job are told of
	case "service":
		service, err := oneOf[v1.Service](ctx, q, q.space, of.Name)
		if err != nil || len(service.Spec.Selector) == 0 {
			return nil
		}
		selector = &metav1.LabelSelector{MatchLabels: service.Spec.Selector}
	default:
		b, err := q.behind(ctx, t)
		if err != nil || b.Selector == nil {
			return nil
		}
		selector = b.Selector
	}
	pods, _ := someOf[v1.Pod](ctx, q, q.space, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(selector)})
	var names []string
	for i := range pods {
		if pods[i].Spec.NodeName != "" {
			names = append(names, pods[i].Name)
		}
	}
	return names
}

// fetched are the facts that a node gave, as they came.
type fetched struct {
	raw  []byte
	node string
}

// behindNode fetches what a node remembers of itself.
func (q *question) behindNode(ctx context.Context, about serve.Question) (Part, error) {
	return q.part(ctx, "", object.Spec{Kind: "node"}, about, func(q *question) (fetched, error) { return q.facts(ctx, about.Name, about) })
}

// behindPod finds the node that remembers a pod; of one that is gone, all are asked.
func (q *question) behindPod(ctx context.Context, about serve.Question) (Part, error) {
	return q.part(ctx, q.space, object.Spec{Kind: "pod", UID: about.UID}, about, func(q *question) (fetched, error) { return q.podFacts(ctx, about) })
}

// part has a front fetch facts, or where there is none, those who fetch them of a node.
func (q *question) part(ctx context.Context, space string, spec object.Spec, about serve.Question, fetch func(*question) (fetched, error)) (Part, error) {
	spec.Name, spec.Facts = about.Name, true
	return byFront(ctx, q, space, spec, func(s object.Status) (Part, error) { return q.factsOf(s, about) }, func(q *question) (Part, error) {
		f, err := fetch(q)
		if err != nil {
			return Part{}, err
		}
		return q.partOf(f, about)
	})
}

// podFacts fetches what the node that remembers a pod does.
func (q *question) podFacts(ctx context.Context, about serve.Question) (fetched, error) {
	return remembered(ctx, q, about, func(node string, _ types.UID) (fetched, error) { return q.facts(ctx, node, about) })
}

// facts fetches what a node remembers of what a question is about.
func (q *question) facts(ctx context.Context, node string, about serve.Question) (fetched, error) {
	raw, err := q.get(ctx, node, about, "why", "facts")
	if err != nil {
		q.absent(node, err)
		return fetched{}, fmt.Errorf("fetching facts of node %s: %w", node, err)
	}
	return fetched{raw, node}, nil
}

// atDoor bounds what nodes may have a front unpack for one question: it does not trust them, and has
// little memory. unpacking are the places for questions whose facts it has in memory.
var (
	atDoor    = journal.Bounds{Bytes: 64 << 20, Facts: 200_000}
	unpacking = make(chan struct{}, 2)
)

// unpack takes a place for facts in a front's memory, until ctx is over, which whoever asked ends
// once they are not needed any more.
func (c *Cluster) unpack(ctx context.Context) error {
	if !c.options.AtDoor {
		return nil
	}
	select {
	case unpacking <- struct{}{}:
		context.AfterFunc(ctx, func() { <-unpacking })
		return nil
	case <-ctx.Done():
		return fmt.Errorf("too many ask for facts at the same time: %w", ctx.Err())
	}
}

// partOf reads the facts that a node gave.
func (q *question) partOf(f fetched, about serve.Question) (Part, error) {
	most := journal.Usual
	if q.options.AtDoor {
		most = journal.Bounds{Bytes: atDoor.Bytes - q.unpacked, Facts: max(1, atDoor.Facts-q.taken)}
	}
	file, err := most.NewFile(bytes.NewReader(f.raw))
	if errors.Is(err, journal.ErrNotExport) {
		return Part{}, fmt.Errorf("node %s does not give the facts themselves: its whylet is older than this client", f.node)
	}
	if err != nil {
		return Part{}, fmt.Errorf("reading the facts of node %s: %w", f.node, err)
	}
	if q.options.AtDoor {
		stats := file.Stats()
		q.unpacked, q.taken = q.unpacked+stats.LogBytes, q.taken+stats.Facts
	}
	return Part{Source: file, Question: about, Node: f.node}, nil
}
