package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/question"
	"whylet.dev/whylet/why/serve"
)

// Answerer answers questions with what a front knows.
type Answerer struct {
	// Cluster asks with the front's own rights.
	Cluster *ask.Cluster
	// Front is nil where the nodes are reached through the API server.
	Front ask.Front
	// Name is who answers.
	Name string
	// Known is what the front's own entries of knowledge say of quoted lines; nil where it has none.
	Known *ask.Known
}

// scope is what an asker may see: one namespace, or all ("").
type scope string

// Answer answers a question with what may be seen in a namespace, and nothing of others;
// in an empty one, with everything.
func (a *Answerer) Answer(ctx context.Context, namespace string, spec question.Spec) question.Status {
	s, _ := a.heard(ctx, namespace, spec)
	return s
}

// heard is Answer; better says that somebody else may know more.
func (a *Answerer) heard(ctx context.Context, namespace string, spec question.Spec) (s question.Status, better bool) {
	h := a.listen()
	s.By = a.Name
	all, err := a.answer(ctx, h, scope(namespace), spec, &s)
	if err != nil {
		s.Message = err.Error()
	}
	s.Unheard, better = h.result(ctx, err)
	if err := fit(&s, all); err != nil {
		s = question.Status{By: a.Name, Message: err.Error()}
	}
	return s, better
}

// answer gives answers, or puts into a status what is asked for in their place.
func (a *Answerer) answer(ctx context.Context, h *hearing, in scope, spec question.Spec, s *question.Status) ([]answer.Answer, error) {
	c, target, err := a.asker(h, in, spec)
	switch {
	case err != nil:
		return nil, err
	case spec.All:
		return atLeastNone(c.All(ctx))
	case spec.Facts:
		s.Facts, s.Node, err = c.Facts(ctx, target, spec.UID)
		return nil, err
	case spec.WhatIf != "":
		r, err := c.WhatIf(ctx, target, spec.WhatIf)
		if err != nil {
			return nil, err
		}
		return nil, put(&s.Result, r)
	case spec.Suggest:
		r, err := c.Suggest(ctx, target)
		if err != nil {
			return nil, err
		}
		return nil, put(&s.Result, r)
	}
	return atLeastNone(c.About(ctx, target))
}

// atLeastNone are answers, which are none rather than nil.
func atLeastNone(all []answer.Answer, err error) ([]answer.Answer, error) {
	if all == nil {
		all = []answer.Answer{}
	}
	return all, err
}

// asker is who asks with the rights of the scope, and what about.
func (a *Answerer) asker(h *hearing, in scope, spec question.Spec) (*ask.Cluster, ask.Target, error) {
	o := ask.Options{Namespace: string(in), Container: spec.Container, Front: h.front(), NoFront: true, Within: in != "", AtDoor: true, Unheard: h.missing, Known: a.Known}
	if in == "" {
		o.Namespace = spec.Namespace
	}
	target := ask.Target{Kind: "pod", Name: spec.Name, Namespace: o.Namespace}
	if spec.Since != "" {
		since, err := time.ParseDuration(spec.Since)
		if err != nil || since < 0 {
			return nil, target, fmt.Errorf("since is not a duration such as 2h: %q", spec.Since)
		}
		o.Since = since
	}
	if spec.Kind != "" {
		kind, ok := ask.Kind(spec.Kind)
		if !ok {
			return nil, target, fmt.Errorf("%q is not a kind that why knows", spec.Kind)
		}
		target.Kind = kind
	}
	switch {
	case !spec.All && spec.Name == "":
		return nil, target, errors.New("a name is missing, and all is not asked for")
	case target.Kind == "node" && in != "":
		return nil, target, errors.New("a node is of no namespace: ask with a ClusterQuestion")
	case target.Kind != "node" && !spec.All && o.Namespace == "":
		return nil, target, errors.New("a namespace is missing")
	}
	return a.Cluster.With(o), target, nil
}

func put(into *json.RawMessage, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	*into = text
	return nil
}

// briefAbove is from how many bytes on answers lose what an overview does not show: it
// would be written to etcd and read by every replica, too.
const briefAbove = 256 << 10

// fit puts answers into a status and makes it small enough for an object: answers lose their
// chains, then those that need a person least go.
func fit(s *question.Status, all []answer.Answer) error {
	switch {
	case len(s.Facts) > question.MaxStatus*3/4:
		return errors.New("there are more facts than fit into an object; a front gives them by HTTPS")
	case len(s.Result) > question.MaxStatus:
		return errors.New("the result does not fit into an object")
	case all == nil:
		return nil
	}
	list := serve.NewList(all)
	if err := put(&s.Answers, list); err != nil || len(s.Answers) <= briefAbove {
		return err
	}
	for i := range list.Items {
		brief(&list.Items[i])
	}
	whole := len(list.Items)
	for {
		if err := put(&s.Answers, list); err != nil || len(s.Answers) <= question.MaxStatus {
			return err
		}
		list.Items = list.Items[:len(list.Items)*3/4]
		s.Message = fmt.Sprintf("%d of %d answers do not fit into an object; ask a namespace, or by HTTPS", whole-len(list.Items), whole)
	}
}

// brief leaves of an answer what an overview shows.
func brief(a *answer.Answer) {
	a.Verdicts = slices.Clone(a.Verdicts) // the others stay with who gave them
	for i := range a.Verdicts {
		v := &a.Verdicts[i]
		v.Chain, v.Contributing, v.RuledOut, v.LastWords, v.Fixes, v.Parts = nil, nil, nil, nil, nil, answer.Parts{}
	}
	a.Journal.Gaps, a.Listening = nil, nil
}
