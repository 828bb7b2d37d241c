package graph

import (
	"slices"
	"strings"
	"time"
)

// ID names an object: kind/namespace/name, such as pod/shop/web.
type ID string

// Of returns the ID of an object.
func Of(kind, namespace, name string) ID { return ID(kind + "/" + namespace + "/" + name) }

// Support is how well something is supported, weakest first.
type Support uint8

// The supports. What is Refuted is worth a word and explains nothing. What is Possible counts where nothing else is as
// likely.
const (
	Refuted Support = iota
	Possible
	Likely
	Strong
	Seen
)

// Rel is what an edge says of its ends.
type Rel string

// The relations, each from what fails to what explains that.
const (
	Needs     Rel = "needs"      // it asks the other, by a connection, an error, a command or its configuration
	FailedBy  Rel = "failed-by"  // its error is that of the other, or about it
	MadeBy    Rel = "made-by"    // the other, a Job, was to make what it lacks
	ReplicaOf Rel = "replica-of" // the other was to have a copy of what it has
)

// Claim is why something is believed.
type Claim struct {
	Support Support
	// Only are the causes of a root that it explains anything by; empty: all.
	Only []string
	// Guess is set where nothing but likelihood shows it, and says of what that is made up.
	Guess string
}

// Edge says that the trouble at From may come from that at To.
type Edge struct {
	From, To ID
	Rel      Rel
	Claim
	// Ref is what its maker calls it.
	Ref int
}

// Explains reports whether a root of that cause explains the trouble at the edge's beginning.
func (e *Edge) Explains(cause string) bool {
	return e.Support > Refuted && (len(e.Only) == 0 || slices.Contains(e.Only, cause))
}

// Compare orders edges, in whatever order they were found: the best supported first.
func (e *Edge) Compare(other *Edge) int {
	if e.Support != other.Support {
		return int(other.Support) - int(e.Support)
	}
	if d := strings.Compare(string(e.To), string(other.To)); d != 0 {
		return d
	}
	return strings.Compare(string(e.Rel), string(other.Rel))
}

// Finding is what is wrong with an object.
type Finding struct {
	At    ID
	Cause string
	// Effect is set where it may be the effect of another's trouble: it is the root only where no edge leads on.
	Effect bool
	// Waits is set where it is nothing but waiting for another: where that one waits in turn, neither is the root.
	Waits bool
	// Since is when it began; zero where nobody knows.
	Since time.Time
}

// Graph is what is known. The order of its edges means nothing.
type Graph struct {
	Edges    []Edge
	Findings map[ID]Finding
}

// Add adds an edge.
func (g *Graph) Add(e Edge) { g.Edges = append(g.Edges, e) }

// Find notes what is wrong with an object, unless that is known.
func (g *Graph) Find(f Finding) {
	if g.Findings == nil {
		g.Findings = map[ID]Finding{}
	}
	if _, known := g.Findings[f.At]; !known {
		g.Findings[f.At] = f
	}
}

// From returns the edges that begin at an object, best supported first.
func (g *Graph) From(id ID) []*Edge {
	var all []*Edge
	for i := range g.Edges {
		if g.Edges[i].From == id {
			all = append(all, &g.Edges[i])
		}
	}
	slices.SortStableFunc(all, (*Edge).Compare)
	return all
}
