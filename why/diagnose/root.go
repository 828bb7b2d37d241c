package diagnose

import (
	"slices"
	"time"

	"whylet.dev/whylet/why/graph"
)

// Diagnosis is what explains the trouble of an object.
type Diagnosis struct {
	// Path leads from the object to the root; empty where the root is its own trouble, or there is none.
	Path []graph.Edge
	// Root is what is wrong where the path ends; nil where nothing explains the trouble.
	Root    *graph.Finding
	Support graph.Support
	// Beside are paths to other troubles, of which nothing shows that they explain this one, or of which several are as
	// likely.
	Beside [][]graph.Edge
	// Cycle are the objects that wait for each other, from the first one on; empty where none do.
	Cycle []graph.ID
}

// Guess says why the path leads there, where nothing but likelihood shows it.
func (d *Diagnosis) Guess() string {
	for _, e := range d.Path {
		if e.Guess != "" {
			return e.Guess
		}
	}
	return ""
}

// Leads reports whether something else explains the trouble.
func (d *Diagnosis) Leads() bool { return len(d.Path) > 0 }

// Root finds the root of an object's trouble. A path is as strong as its weakest edge, and the strongest wins. Of several
// that are well supported, each explains the trouble, and the one that began first is told; several that are only likely
// explain nothing. A trouble that may be the effect of another is a root only where nothing explains it. Of an object on the
// way to which others are looked at before, those wait for it.
func Root(g *graph.Graph, symptom graph.ID, before ...graph.ID) Diagnosis {
	s := search{Graph: g, path: slices.Clone(before)}
	return s.from(symptom)
}

type search struct {
	*graph.Graph
	path []graph.ID
}

func (s *search) from(id graph.ID) (d Diagnosis) {
	own, has := s.Findings[id]
	if has && !own.Effect {
		return Diagnosis{Root: &own, Support: graph.Seen}
	}
	s.path = append(s.path, id)
	defer func() { s.path = s.path[:len(s.path)-1] }()
	var found []Diagnosis
	for _, e := range s.From(id) {
		if at := slices.Index(s.path, e.To); at >= 0 {
			d.Cycle = append(slices.Clone(s.path[at:]), e.To)
			continue
		}
		there := s.from(e.To)
		path := append([]graph.Edge{*e}, there.Path...)
		switch {
		case there.Root == nil:
			if len(there.Cycle) > 0 && e.Support > graph.Refuted && there.Cycle[0] == id {
				d.Cycle = there.Cycle
			}
		case !e.Explains(there.Root.Cause):
			d.Beside = append(d.Beside, path)
		default:
			found = append(found, Diagnosis{Path: path, Root: there.Root, Support: min(e.Support, there.Support)})
		}
	}
	switch best, rivals := choose(found); {
	case best != nil:
		d.Path, d.Root, d.Support = best.Path, best.Root, best.Support
	case len(rivals) > 0:
		for _, r := range rivals {
			d.Beside = append(d.Beside, r.Path)
		}
	case has && !(own.Waits && len(d.Cycle) > 0):
		d.Root, d.Support = &own, graph.Seen
	}
	return d
}

// choose returns the path that wins; nil where there is none, or several lead elsewhere and none is better.
func choose(found []Diagnosis) (best *Diagnosis, rivals []Diagnosis) {
	if len(found) == 0 {
		return nil, nil
	}
	most := slices.MaxFunc(found, func(a, b Diagnosis) int { return int(a.Support) - int(b.Support) }).Support
	found = slices.DeleteFunc(found, func(d Diagnosis) bool { return d.Support < most })
	slices.SortStableFunc(found, compare)
	others := slices.ContainsFunc(found, func(d Diagnosis) bool { return d.Root.At != found[0].Root.At })
	if others && most < graph.Strong {
		return nil, found
	}
	return &found[0], nil
}

// compare orders paths of the same support: the trouble first that began first, then the path that names more of those on
// the way.
func compare(a, b Diagnosis) int {
	began, other := a.Root.Since, b.Root.Since
	switch {
	case a.Root.At == b.Root.At:
		if d := len(b.Path) - len(a.Path); d != 0 {
			return d
		}
	case began.IsZero() != other.IsZero():
		if other.IsZero() {
			return -1
		}
		return 1
	case !began.Equal(other):
		return began.Compare(other)
	}
	return a.Path[0].Compare(&b.Path[0])
}

// soonAfter is how much later than the effect its reason may be known, and mayLast how long one may still look well that
// has lost what it needs.
const soonAfter, mayLast = 5 * time.Second, 30 * time.Second

// Timely reports whether what began at a moment may be why something fails since another, that was well last before that;
// zero where nobody knows when.
func Timely(began, since, lastWell time.Time) bool {
	if began.IsZero() || began.After(since.Add(soonAfter)) {
		return false
	}
	return lastWell.IsZero() || began.After(lastWell.Add(-mayLast))
}

// Endured reports whether one was well so long while another was down that it does not need it: both since some time.
func Endured(well, down, started time.Time) bool {
	if started.After(down) {
		down = started
	}
	return well.Sub(down) >= mayLast
}
