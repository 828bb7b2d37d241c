package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/whatif"
)

// List is several answers, worst first.
type List struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Items      []answer.Answer `json:"items"`
}

// ListKind is the kind of a [List].
const ListKind = "AnswerList"

// NewList makes a list of answers.
func NewList(items []answer.Answer) List {
	if items == nil {
		items = []answer.Answer{}
	}
	return List{APIVersion: answer.APIVersion, Kind: ListKind, Items: items}
}

// Look looks into the containers of a pod, and says how many facts of it are to come.
type Look func(ctx context.Context, pod types.UID) (coming int)

// Handler answers GET with the parameters of [ParseQuestion] from a journal: with an
// AnswerList about the pods that are gone of a controller, with an Answer about a pod,
// with an AnswerList when no name is given, with an Answer about the node itself, or
// with what other settings would have changed or what it proposes. It answers 404 when
// nothing is known of the pod, and 400 when the question makes no sense. A nil look
// leaves it at what is known. Who may ask is for the server around
// it. It may be used from many goroutines.
func Handler(s journal.Source, policy health.Policy, look Look) http.Handler {
	return HandlerAt(s, policy, look, time.Now)
}

// HandlerAt is [Handler] with a clock of its own: a journal that was recorded is asked as of then.
func HandlerAt(s journal.Source, policy health.Policy, look Look, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "only GET is answered", http.StatusMethodNotAllowed)
			return
		}
		q, err := ParseQuestion(r.URL.Query(), now().UTC())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		q.Policy = policy
		body, err := answerTo(r.Context(), s, q, look, now)
		if err != nil {
			fail(w, q, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	})
}

// fail answers with an error, as what of the question it is due to.
func fail(w http.ResponseWriter, q Question, err error) {
	code := http.StatusInternalServerError
	if unknown := (*NotKnownError)(nil); errors.As(err, &unknown) {
		code = http.StatusNotFound
	} else if q.WhatIf != "" || q.Suggest {
		code = http.StatusBadRequest
	}
	http.Error(w, err.Error(), code)
}

// answerTo answers a question by what it asks for.
func answerTo(ctx context.Context, s journal.Source, q Question, look Look, now func() time.Time) (any, error) {
	switch {
	case q.Node:
		return Node(s, q)
	case q.WhatIf != "":
		changes, err := whatif.Parse(q.WhatIf)
		if err != nil {
			return nil, err
		}
		return WhatIf(s, q, changes)
	case q.Suggest:
		return Suggest(s, q)
	case q.Name == "":
		all, err := All(s, q)
		return NewList(all), err
	case q.Owner != "":
		all, err := Owned(s, q)
		return NewList(all), err
	}
	if span, ok := newest(s.Pods(), q); ok && q.Look && look != nil {
		since := q.Now
		await(ctx, s, span.Pod.UID, since, look(ctx, span.Pod.UID))
		q.Now = now().UTC()
	}
	return One(s, q)
}

// A look is asked for, and what it saw is in the journal some milliseconds later.
const (
	lookWithin = time.Second
	lookEvery  = 10 * time.Millisecond
)

// await waits until the journal has as many looks into a pod since a time.
func await(ctx context.Context, s journal.Source, pod types.UID, since time.Time, coming int) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for coming > 0 {
		seen, err := collect(s, journal.Query{UID: pod, Kinds: []fact.Kind{fact.Looked{}.Kind()}, From: since})
		if err != nil || len(seen) >= coming {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
