package ask

import (
	"context"
	"errors"
	"fmt"
	"time"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/serve"
	"whylet.dev/whylet/why/suggest"
	"whylet.dev/whylet/why/whatif"
)

// ErrPodsOnly says that a journal was asked about something it does not know.
var ErrPodsOnly = errors.New("a journal knows pods only, and its node")

// Journal answers from a journal, or from an exported history.
type Journal struct {
	Source journal.Source
	// AsOf is when it is asked; zero: whenever it is. A history that was exported is
	// asked as it was then.
	AsOf time.Time
	Options
}

func (j *Journal) question(t Target) serve.Question {
	q := serve.Question{Namespace: t.Namespace, Name: t.Name}
	if q.Namespace == "" {
		q.Namespace = j.Namespace
	}
	if q.Now = j.AsOf; q.Now.IsZero() {
		q.Now = j.now()
	}
	if j.Since > 0 {
		q.Since = q.Now.Add(-j.Since)
	}
	q.Container, q.WithValues = j.Container, j.WithValues
	return q
}

// About answers about a pod, or the node.
func (j *Journal) About(ctx context.Context, t Target) ([]answer.Answer, error) {
	one := serve.One
	switch t.Kind {
	case "pod":
	case "node":
		one = serve.Node
	default:
		return nil, fmt.Errorf("%w; ask the cluster about a %s", ErrPodsOnly, t.Kind)
	}
	a, err := one(j.Source, j.question(t))
	if err != nil {
		return nil, err
	}
	all := []answer.Answer{a}
	j.Known.inform(ctx, nil, all)
	return all, nil
}

// All answers about every pod.
func (j *Journal) All(ctx context.Context) ([]answer.Answer, error) {
	all, err := serve.All(j.Source, j.question(Target{}))
	j.Known.inform(ctx, nil, all)
	return all, err
}

// WhatIf answers about a pod.
func (j *Journal) WhatIf(_ context.Context, pod Target, changes string) (whatif.Result, error) {
	parsed, err := whatif.Parse(changes)
	if err != nil {
		return whatif.Result{}, err
	}
	return serve.WhatIf(j.Source, j.question(pod), parsed)
}

// Suggest answers about a pod.
func (j *Journal) Suggest(_ context.Context, pod Target) (suggest.Result, error) {
	return serve.Suggest(j.Source, j.question(pod))
}

// Select fails: who has which labels is the cluster's to know.
func (j *Journal) Select(context.Context, string, string) ([]Target, error) {
	return nil, fmt.Errorf("%w; ask the cluster by labels", ErrPodsOnly)
}
