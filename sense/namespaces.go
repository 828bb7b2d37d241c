package sense

import (
	"context"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"whylet.dev/whylet/fact"
)

// Namespaces knows of which namespaces log lines may be kept. A namespace is read when a fact of one of its pods has
// lines, and is remembered for a while: an agent watches no namespaces, of which a cluster may have thousands.
type Namespaces struct {
	read func(ctx context.Context, name string) (annotations map[string]string, err error)
	now  func() time.Time
	log  *slog.Logger

	mu    sync.Mutex // held while a namespace is read: who asks about another has the same API server to wait for
	known map[string]namespace
	rests time.Time // nothing is read until then: the API server did not answer
}

type namespace struct {
	keeps bool
	until time.Time
}

const (
	namespaceHolds = 5 * time.Minute
	namespaceWaits = 5 * time.Second
	namespaceRests = 30 * time.Second
)

// NewNamespaces returns a Namespaces that reads the annotations of a namespace from the API server.
func NewNamespaces(read func(context.Context, string) (map[string]string, error), log *slog.Logger) *Namespaces {
	return &Namespaces{read: read, now: time.Now, log: log, known: map[string]namespace{}}
}

// Keep returns a fact without the log lines that its namespace does not let be kept. It may wait for the API server, but
// only for a fact that has some.
func (n *Namespaces) Keep(f fact.Fact) fact.Fact {
	if fact.HasLogLines(f) && !n.keeps(f.Pod.Namespace) {
		return fact.WithoutLogLines(f)
	}
	return f
}

// keeps reports whether log lines of a namespace's pods may be kept. Of one that could not be read none are.
func (n *Namespaces) keeps(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	had, known := n.known[name]
	if now := n.now(); known && now.Before(had.until) || now.Before(n.rests) {
		return had.keeps
	}
	ctx, done := context.WithTimeout(context.Background(), namespaceWaits)
	defer done()
	annotations, err := n.read(ctx, name)
	switch {
	case err == nil:
		had.keeps = fact.AllowsLogLines(annotations)
	case apierrors.IsForbidden(err): // its role is of a release before
		if !known {
			n.log.Warn("namespaces cannot be read, so that their annotation "+fact.LogLines+" is not known; lines are kept", "namespace", name, "error", err)
			had.keeps = true
		}
	case apierrors.IsNotFound(err): // its last pods end
	default:
		n.rests = n.now().Add(namespaceRests)
		n.log.Warn("a namespace is not known, so no log lines of its pods are kept", "namespace", name, "last", had.keeps, "error", err)
		return had.keeps
	}
	had.until = n.now().Add(namespaceHolds)
	n.known[name] = had
	n.forget()
	return had.keeps
}

// mostNamespaces bounds how many are remembered.
const mostNamespaces = 1024

// forget drops what is old where there is much.
func (n *Namespaces) forget() {
	if len(n.known) <= mostNamespaces {
		return
	}
	for name, had := range n.known {
		if n.now().After(had.until) || len(n.known) > mostNamespaces {
			delete(n.known, name)
		}
	}
}
