package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/common"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/serve"
	"whylet.dev/whylet/why/suggest"
	"whylet.dev/whylet/why/whatif"
)

// Asker answers questions. An error may come with answers; it then is a
// *[PartialError], and the answers are those of the others. It may be used from many
// goroutines.
type Asker interface {
	// About answers about one thing: mostly with one answer.
	About(ctx context.Context, t Target) ([]answer.Answer, error)
	// All answers about every pod of the namespace of the options that is not gone,
	// worst first.
	All(ctx context.Context) ([]answer.Answer, error)
	// WhatIf says what other settings would have changed for a pod; changes are as
	// [whatif.Parse] reads them.
	WhatIf(ctx context.Context, pod Target, changes string) (whatif.Result, error)
	// Suggest proposes settings for a pod.
	Suggest(ctx context.Context, pod Target) (suggest.Result, error)
	// Select finds what a question about many is about: all of that kind in the
	// namespace of the options whose labels fit.
	Select(ctx context.Context, kind, selector string) ([]Target, error)
}

// Options say what every question of an [Asker] has in common.
type Options struct {
	// Namespace of what is asked about and names none itself; "" is every namespace.
	Namespace string
	// Container asks about one container; empty: all.
	Container string
	// Since leaves out what was over longer ago; 0: nothing.
	Since time.Duration
	// Each bounds a question to one node, Whole that to all of them; 0: 20 s and 30 s.
	Each, Whole time.Duration
	// Front is who reaches the nodes and remembers what is gone; nil: the nodes are asked
	// through the API server.
	Front Front
	// NoFront asks the nodes even where a front answers in the cluster.
	NoFront bool
	// Told is called with the way that a question took, where that is asked for.
	Told func(string)
	// Unheard is called with each node on which nobody could be asked, so that its pods are
	// answered for from the API. It may be called from many goroutines.
	Unheard func(node string)
	// Now gives the moment at which questions are asked, in UTC; nil: the clock's. A case that was
	// recorded is asked about as of then.
	Now func() time.Time
	// Within is set where the asker may see the namespace and nothing else: of pods of
	// others answers have the number only.
	Within bool
	// AtDoor is set by a front that answers others. Its answers quote no ConfigMap, whatever rights
	// it has itself: who asks may have none, and a client adds the lines with the asker's own. Of
	// what nodes send it unpacks no more than it has memory for.
	AtDoor bool
	// WithValues has facts as they are kept, with what pods' variables and headers are set to: of nodes that
	// are asked themselves. A front never gives them.
	WithValues bool
	// Watching is set if the same question is asked every few seconds: the logs of a namespace's Ready pods are not read.
	Watching bool
	// Known adds what a user's entries of knowledge say of quoted lines; nil adds nothing.
	Known *Known
}

// Front reaches the agents of a cluster's nodes. It may be used from many goroutines.
type Front interface {
	// Get gives what a node serves at a path, such as "why". Where it gives an answer that
	// is not 200, the error is an apierrors.APIStatus with its code; where nobody on the
	// node can be asked, an [*AwayError].
	Get(ctx context.Context, node, path string, about serve.Question) ([]byte, error)
	// Departed gives what is remembered of pods that are gone: of the newest one of a name,
	// or of those that an owner made.
	Departed(ctx context.Context, about serve.Question) ([]answer.Answer, error)
	// Where is the node that knows most of a pod that is gone.
	Where(ctx context.Context, about serve.Question) (node string, ok bool)
	// Fellows are the pods that can be compared: those of all makers of which some pod is not
	// well, wherever they are, and what their nodes may share. Places that they ask are as
	// they say them. The single ones are in no crowd, but by themselves, if it knows them.
	Fellows(ctx context.Context, single []types.UID) (common.Scene, error)
	// Nodes are the names of the cluster's nodes, as of a moment ago.
	Nodes(ctx context.Context) ([]string, error)
	// Standing gives how the pods of a namespace ("": of every one) stand by what their nodes
	// told last: those that are not well, and how many are. missing are nodes that nobody
	// speaks for.
	Standing(ctx context.Context, namespace string) (ill []answer.Answer, well int, missing []string, err error)
}

// AwayError says that nobody on a node can be asked, and why, as the end of a sentence.
type AwayError struct{ Reason string }

func (e *AwayError) Error() string { return e.Reason }

// What bounds a question where nothing else is said.
const (
	eachNode  = 20 * time.Second
	wholeTime = 30 * time.Second
)

func (o *Options) complete() {
	o.Each = cmp.Or(o.Each, eachNode)
	o.Whole = cmp.Or(o.Whole, max(wholeTime, o.Each))
}

// now is the moment at which a question is asked.
func (o *Options) now() time.Time {
	if o.Now != nil {
		return o.Now().UTC()
	}
	return time.Now().UTC()
}

// atOnce is how many nodes are asked at the same time. To ask is to wait: each costs the
// API server a connection that does nothing, and of those it takes 400 before it lets
// anybody wait (kube-apiserver --max-requests-inflight).
const atOnce = 64

// each calls f for every item, some at the same time, and returns when all are done.
func each[T any](items []T, f func(i int, item T)) {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, item := range items {
		g.Go(func() error {
			f(i, item)
			return nil
		})
	}
	_ = g.Wait()
}

// PartialError says who did not answer. It is beside the answers of the others.
type PartialError struct{ Missing []Missing }

// Missing is somebody who did not answer, such as "node a", and why.
type Missing struct {
	Who string
	Err error
}

// shownMissing is how many are named one by one.
const shownMissing = 5

func (e *PartialError) Error() string {
	lines := prose.Each(e.Missing[:min(len(e.Missing), shownMissing)], func(m Missing) string { return "asking " + m.Who + ": " + reasonOf(m.Err) })
	if n := len(e.Missing) - shownMissing; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more did not answer", n))
	}
	return strings.Join(lines, "\n")
}

// reasonOf words why somebody did not answer.
func reasonOf(err error) string {
	return prose.Whether(errors.Is(err, context.DeadlineExceeded), "no answer in time", err.Error())
}

// Unwrap gives the reasons.
func (e *PartialError) Unwrap() []error {
	var errs []error
	for _, m := range e.Missing {
		errs = append(errs, m.Err)
	}
	return errs
}

// partial is the error of those of whom errs has one: nil where all answered. who
// names the one of an index.
func partial(errs []error, who func(i int) string) error {
	e := &PartialError{}
	for i, err := range errs {
		if err != nil {
			e.Missing = append(e.Missing, Missing{who(i), err})
		}
	}
	if len(e.Missing) == 0 {
		return nil
	}
	return e
}

// answered leaves out those whose error says that they did not answer.
func answered[T any](all []T, errs []error) (there []T) {
	for i, a := range all {
		if errs[i] == nil {
			there = append(there, a)
		}
	}
	return there
}

// Several asks about some things, and gives the answers in their order. The error is
// that of a single one; of several it says which failed.
func Several(ctx context.Context, from Asker, targets []Target) ([]answer.Answer, error) {
	all, errs := make([][]answer.Answer, len(targets)), make([]error, len(targets))
	each(targets, func(i int, t Target) { all[i], errs[i] = from.About(ctx, t) })
	if len(targets) == 1 {
		return all[0], errs[0]
	}
	return slices.Concat(all...), partial(errs, func(i int) string { return "about " + targets[i].String() })
}
