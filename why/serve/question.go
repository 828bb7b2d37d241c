package serve

import (
	"errors"
	"net/url"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why"
)

// Question is what somebody wants to know.
type Question struct {
	Namespace string
	// Name of the pod; empty: all pods that are not gone.
	Name string
	// UID tells pods of one name apart; empty: the newest.
	UID types.UID
	// Owner asks about all pods that this controller made, those included that are
	// gone; Name is then the controller's.
	Owner types.UID
	// Node asks about the node itself, not about a pod.
	Node bool
	// Look asks that what the pod listens on is looked at anew.
	Look bool
	// WhatIf asks what other settings would have changed, see [whatif.Parse].
	WhatIf string
	// Suggest asks for settings that the history proposes.
	Suggest bool
	// WithValues asks for facts as they are kept, with what a pod's variables and headers are set to.
	WithValues bool
	// LogOf reads the log of a run of a container of a Ready pod that is asked about, oldest line first, and when
	// each was written; nil reads none.
	LogOf func(pod *v1.Pod, container string, attempt int32) (lines []string, at []time.Time, ok bool)
	why.Options
}

// texts are the parameters of GET /why that are texts, by name.
func (q *Question) texts() map[string]*string {
	return map[string]*string{
		"namespace": &q.Namespace, "name": &q.Name, "uid": (*string)(&q.UID), "owner": (*string)(&q.Owner),
		"container": &q.Container, "whatif": &q.WhatIf, "within": &q.Within,
	}
}

// flags are those that are set or not.
func (q *Question) flags() map[string]*bool {
	return map[string]*bool{"alone": &q.Alone, "look": &q.Look, "suggest": &q.Suggest, "values": &q.WithValues}
}

// Values are the parameters that [ParseQuestion] reads. Policy and Journal are for the
// node to know, Now for its clock: they are left out.
func (q Question) Values() url.Values {
	v := url.Values{}
	for name, text := range q.texts() {
		if *text != "" {
			v.Set(name, *text)
		}
	}
	for name, on := range q.flags() {
		if *on {
			v.Set(name, "true")
		}
	}
	if q.Node {
		v.Set("kind", "node")
	}
	if !q.Since.IsZero() {
		v.Set("since", q.Now.Sub(q.Since).String())
	}
	return v
}

// ParseQuestion reads what [Question.Values] wrote, at the time now. The error is for
// the asker.
func ParseQuestion(v url.Values, now time.Time) (q Question, err error) {
	q.Now = now
	for name, text := range q.texts() {
		*text = v.Get(name)
	}
	for name, on := range q.flags() {
		*on = v.Get(name) == "true"
	}
	switch v.Get("kind") {
	case "", "pod":
	case "node":
		q.Node = true
	default:
		return q, errors.New("a node answers about pods only, and about itself; kubectl why finds the pods of other kinds")
	}
	if (q.WhatIf != "" || q.Suggest) && q.Name == "" {
		return q, errors.New("whatif and suggest are about one pod, and its name is missing")
	}
	if since := v.Get("since"); since != "" {
		d, err := time.ParseDuration(since)
		if err != nil || d < 0 {
			return q, errors.New("since is not a duration such as 2h: " + since)
		}
		q.Since = now.Add(-d)
	}
	return q, nil
}
