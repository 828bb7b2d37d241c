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

// The parameters of GET /why.
const (
	paramKind, paramNamespace, paramName, paramUID, paramOwner = "kind", "namespace", "name", "uid", "owner"
	paramContainer, paramSince, paramAlone, paramLook          = "container", "since", "alone", "look"
	paramWhatIf, paramSuggest, paramWithin                     = "whatif", "suggest", "within"
	paramValues                                                = "values"
)

// Values are the parameters that [ParseQuestion] reads. Policy and Journal are for the
// node to know, Now for its clock: they are left out.
func (q Question) Values() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	flag := func(name string, on bool) {
		if on {
			v.Set(name, "true")
		}
	}
	set(paramNamespace, q.Namespace)
	set(paramName, q.Name)
	set(paramUID, string(q.UID))
	set(paramOwner, string(q.Owner))
	set(paramContainer, q.Container)
	set(paramWhatIf, q.WhatIf)
	set(paramWithin, q.Within)
	flag(paramAlone, q.Alone)
	flag(paramLook, q.Look)
	flag(paramSuggest, q.Suggest)
	flag(paramValues, q.WithValues)
	if q.Node {
		v.Set(paramKind, "node")
	}
	if !q.Since.IsZero() {
		v.Set(paramSince, q.Now.Sub(q.Since).String())
	}
	return v
}

// ParseQuestion reads what [Question.Values] wrote, at the time now. The error is for
// the asker.
func ParseQuestion(v url.Values, now time.Time) (Question, error) {
	on := func(name string) bool { return v.Get(name) == "true" }
	q := Question{
		Namespace: v.Get(paramNamespace), Name: v.Get(paramName), UID: types.UID(v.Get(paramUID)), Owner: types.UID(v.Get(paramOwner)),
		Look: on(paramLook), Suggest: on(paramSuggest), WithValues: on(paramValues), WhatIf: v.Get(paramWhatIf),
		Options: why.Options{Now: now, Container: v.Get(paramContainer), Alone: on(paramAlone), Within: v.Get(paramWithin)},
	}
	switch v.Get(paramKind) {
	case "", "pod":
	case "node":
		q.Node = true
	default:
		return q, errors.New("a node answers about pods only, and about itself; kubectl why finds the pods of other kinds")
	}
	if (q.WhatIf != "" || q.Suggest) && q.Name == "" {
		return q, errors.New("whatif and suggest are about one pod, and its name is missing")
	}
	if since := v.Get(paramSince); since != "" {
		d, err := time.ParseDuration(since)
		if err != nil || d < 0 {
			return q, errors.New("since is not a duration such as 2h: " + since)
		}
		q.Since = now.Add(-d)
	}
	return q, nil
}
