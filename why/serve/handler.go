package serve

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why"
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

// Look sees what a pod listens on; ok is false where that cannot be done.
type Look func(pod types.UID) (at time.Time, looked fact.Looked, ok bool)

// Handler answers GET ?namespace=&name=&container=&since=&alone=&look=&owner= from a
// journal (alone says that the cluster has no other node, look that what the pod listens
// on is to be looked at anew; a nil look leaves it at what is known): with an AnswerList
// about the pods that are gone of the controller that owner gives the uid of, and name
// the name; else with an Answer about the pod, with an AnswerList when no name is given, with an Answer
// about the node itself when ?kind=node says so, with 404 when nothing is known of
// it, and with 400 when the question makes no sense. With &whatif= or &suggest= it
// answers what other settings would have changed, or what it proposes. Who may ask
// is for the server around it. It may be used from many goroutines.
func Handler(s journal.Source, policy health.Policy, look Look) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "only GET is answered", http.StatusMethodNotAllowed)
			return
		}
		q, err := question(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		q.Policy = policy
		var body any
		v := r.URL.Query()
		switch {
		case v.Get("kind") == "node":
			body, err = Node(s, q)
		case v.Has("whatif") && q.Name != "":
			var changes []whatif.Change
			if changes, err = whatif.Parse(v.Get("whatif")); err == nil {
				body, err = WhatIf(s, q, changes)
			}
		case v.Has("suggest") && q.Name != "":
			body, err = Suggest(s, q)
		case q.Name == "":
			var all []answer.Answer
			all, err = All(s, q)
			body = NewList(all)
		case q.Owner != "":
			var all []answer.Answer
			all, err = Owned(s, q)
			body = NewList(all)
		default:
			var a answer.Answer
			if a, err = One(s, q); err == nil && look != nil && v.Get("look") == "true" {
				if at, looked, ok := look(a.Subject.UID); ok {
					why.LookedAt(&a, at, looked)
				}
			}
			body = a
		}
		var unknown *NotKnownError
		switch {
		case errors.As(err, &unknown):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil && (v.Has("whatif") || v.Has("suggest")):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(body)
		}
	})
}

func question(r *http.Request) (Question, error) {
	v := r.URL.Query()
	q := Question{Namespace: v.Get("namespace"), Name: v.Get("name"), UID: types.UID(v.Get("uid"))}
	if kind := v.Get("kind"); kind != "" && kind != "pod" && kind != "node" {
		return q, errors.New("a node answers about pods only, and about itself; kubectl why finds the pods of other kinds")
	}
	q.Now = time.Now().UTC()
	q.Container = v.Get("container")
	q.Alone = v.Get("alone") == "true"
	q.Owner = types.UID(v.Get("owner"))
	if since := v.Get("since"); since != "" {
		d, err := time.ParseDuration(since)
		if err != nil || d < 0 {
			return q, errors.New("since is not a duration such as 2h: " + since)
		}
		q.Since = q.Now.Add(-d)
	}
	return q, nil
}
