package web

import (
	"cmp"
	"slices"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/serve"
)

// Pod gives one pod's part of a document, from the journal that has it, with facts as [fact.Outward] has them
// unless the question wants values. The error is a
// *serve.NotKnownError when that has nothing about the pod, or the journal's own.
func Pod(s journal.Source, q serve.Question, node string) (timeline.PodInput, error) {
	h, err := serve.History(s, &q)
	if err != nil {
		return timeline.PodInput{}, err
	}
	facts := slices.Concat(h.Facts, h.Node)
	slices.SortFunc(facts, func(a, b fact.Fact) int { return cmp.Compare(a.ID, b.ID) })
	if !q.WithValues {
		facts = fact.AllOutward(facts)
	}
	return timeline.PodInput{Pod: h.Pod, Node: node, Facts: facts, WhatIf: timeline.Trials(h, q.Options)}, nil
}

// Node gives a node's part: what its journal says of itself, and the runs of its pods.
func Node(s journal.Source, q serve.Question, node string) (timeline.PodInput, error) {
	q.Node = true
	facts, err := serve.Facts(s, q)
	if !q.WithValues {
		facts = fact.AllOutward(facts)
	}
	return timeline.PodInput{Node: cmp.Or(node, q.Name), Facts: facts}, err
}

// Of makes the document of an answer and what is known behind it, pod by pod.
func Of(a answer.Answer, ask string, pods ...timeline.PodInput) timeline.Document {
	return timeline.Build(timeline.Input{Answer: a, Ask: ask, Pods: pods})
}

// FromJournal makes the document of an answer that the journal itself gave: about a
// pod, or about its node.
func FromJournal(s journal.Source, q serve.Question, a answer.Answer, ask string) (timeline.Document, error) {
	part, err := timeline.PodInput{}, error(nil)
	if a.Subject.Kind == "Node" {
		part, err = Node(s, q, q.Name)
	} else {
		q.UID = a.Subject.UID
		part, err = Pod(s, q, nodeOf(s))
	}
	if err != nil {
		return timeline.Document{}, err
	}
	return Of(a, ask, part), nil
}

// nodeOf is the node that an exported history is from, where it says so.
func nodeOf(s journal.Source) string {
	if f, ok := s.(*journal.File); ok {
		return f.Header.Node
	}
	return ""
}
