package sense

import (
	"context"
	"iter"
	"sync/atomic"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// Source observes until ctx ends, and emits what it sees. Emit fills in when a fact
// was seen; it may block while its receiver is far behind. An error says why nothing
// more is observed; a source that merely sees less says so in a fact (fact.Lost).
type Source interface {
	Run(ctx context.Context, known pods.Registry, emit func(fact.Fact)) error
}

// Past gives the recorded facts of some kinds, oldest first.
type Past func(kinds ...fact.Kind) iter.Seq2[fact.Fact, error]

// post is what a source has while it runs, for what reaches it from outside: nil
// before and after, when nothing is told.
type post struct {
	ctx   context.Context
	known pods.Registry
	emit  func(fact.Fact)
}

type manned struct{ atomic.Pointer[post] }

// man begins a source's run; leave ends it.
func (m *manned) man(ctx context.Context, known pods.Registry, emit func(fact.Fact)) (leave func()) {
	m.Store(&post{ctx, known, emit})
	return func() { m.Store(nil) }
}
