// Package suggest proposes probe settings and memory limits from what was recorded
// of a container, with the numbers that each proposal rests on, and says when that
// is too little. It is pure, as package why is.
//
//	suggest.go what is proposed, and the result, also for people
//	probe.go   timeouts, thresholds and time to start
//	memory.go  memory limits
package suggest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
)

// Kind of a result in JSON and YAML.
const Kind = "Suggestions"

// Result is what is proposed. Its JSON form is an interface, as that of answer.Answer.
type Result struct {
	APIVersion  string          `json:"apiVersion"`
	Kind        string          `json:"kind"`
	Subject     answer.Subject  `json:"subject"`
	AsOf        time.Time       `json:"asOf"`
	Journal     answer.Coverage `json:"journal"`
	Suggestions []Suggestion    `json:"suggestions"`
}

// Suggestion is about one setting of a container.
type Suggestion struct {
	Container string `json:"container"`
	// Field is the path below the container; Now is what it is set to.
	Field string `json:"field"`
	Now   string `json:"now"`
	// Value is what is proposed; empty where nothing can be, and Why says why not.
	Value string `json:"value,omitempty"`
	// Keep is set when that is what is set already.
	Keep bool `json:"keep,omitempty"`
	// Why has the reasoning, with its numbers.
	Why string `json:"why"`
	// Observations is how many attempts, starts or samples it rests on; TooFew is
	// set when that is too little to rely on.
	Observations int64 `json:"observations"`
	TooFew       bool  `json:"tooFew,omitempty"`
}

// ErrHalfSeen says that another node's attempts were not all seen.
var ErrHalfSeen = errors.New("another node makes this pod's probe attempts and only some of them were seen, so nothing can be proposed")

// ErrNoSpec says that the journal does not hold the pod's spec any more.
var ErrNoSpec = errors.New("the pod's spec is not kept in the journal any more, so nothing can be proposed")

// For proposes settings for the containers of a pod; with o.Container set, for
// that one.
func For(h *history.History, o why.Options) (Result, error) {
	if h.Object == nil {
		return Result{}, ErrNoSpec
	}
	if h.HalfSeen() {
		return Result{}, ErrHalfSeen
	}
	r := Result{
		APIVersion: answer.APIVersion, Kind: Kind, AsOf: o.Now, Journal: o.Journal, Suggestions: []Suggestion{},
		Subject: answer.Subject{Kind: "Pod", Namespace: h.Pod.Namespace, Name: h.Pod.Name, UID: h.Pod.UID},
	}
	for i := range h.Object.Spec.Containers {
		c := &h.Object.Spec.Containers[i]
		if o.Container != "" && o.Container != c.Name {
			continue
		}
		s := subject{h: h, spec: c, runs: slices.DeleteFunc(slices.Clone(h.Runs(c.Name)), func(r *history.Run) bool { return r.Started == nil })}
		r.Suggestions = append(r.Suggestions, s.probes()...)
		r.Suggestions = append(r.Suggestions, s.memory()...)
	}
	return r, nil
}

// subject is the container at hand.
type subject struct {
	h    *history.History
	spec *v1.Container
	runs []*history.Run
}

// Text writes the proposals for people.
func (r *Result) Text() string {
	var w strings.Builder
	fmt.Fprintf(&w, "pod %s/%s · what its history proposes\n", r.Subject.Namespace, r.Subject.Name)
	for _, g := range r.Suggestions {
		fmt.Fprintf(&w, "\n  %s: %s  %s\n", g.Container, g.Field, g.proposal())
		for _, line := range prose.Wrap(g.Why, 92) {
			fmt.Fprintf(&w, "      %s\n", line)
		}
	}
	if len(r.Suggestions) == 0 {
		w.WriteString("\n  It has no probes and no memory limit that anything is known about.\n")
	}
	var ask []string
	for _, g := range r.Suggestions {
		if g.Value != "" && !g.Keep && !strings.HasPrefix(g.Now, "no") {
			ask = append(ask, fmt.Sprintf("%s:%s=%s", g.Container, g.Field, g.Value))
		}
	}
	if len(ask) > 0 {
		space := prose.Whether(r.Subject.Namespace != "" && r.Subject.Namespace != "default", "-n "+r.Subject.Namespace+" ", "")
		fmt.Fprintf(&w, "\n  see what that would have changed:\n    kubectl why %spod/%s --what-if %s\n", space, r.Subject.Name, strings.Join(ask, ","))
	}
	return w.String()
}

func (g Suggestion) proposal() string {
	now, trust := cmp.Or(g.Now, "not set"), ""
	if g.TooFew {
		trust = " (too little is known to rely on it)"
	}
	switch {
	case g.Value == "":
		return "nothing to propose; it is " + now
	case g.Keep:
		return "keep " + g.Value + trust
	}
	return fmt.Sprintf("%s instead of %s%s", g.Value, now, trust)
}
