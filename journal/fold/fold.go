package fold

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
)

// Options say how successes are folded. The zero value is good for a node.
type Options struct {
	// Every is how long a run may get; 0: 8 hours.
	Every time.Duration
	// Keep is how many of the latest successes are held whole; 0: 3.
	Keep int
}

// Journal is a journal that folds what it is given. All methods may be called from many
// goroutines.
type Journal struct {
	*journal.Journal
	o Options

	log *slog.Logger

	mu     sync.Mutex // taken before the store's
	runs   map[types.UID]map[runKey]*run
	closed bool
}

// Open opens the journal in dir, as [journal.Open] does, and writes the runs that an
// earlier process left open.
func Open(dir string, o journal.Options, f Options) (*Journal, error) {
	store, err := journal.Open(dir, o)
	if err != nil {
		return nil, err
	}
	if f.Every <= 0 {
		f.Every = 8 * time.Hour
	}
	if f.Keep <= 0 {
		f.Keep = 3
	}
	j := &Journal{Journal: store, o: f, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), runs: map[types.UID]map[runKey]*run{}}
	j.adopt()
	return j, nil
}

// takes says whether a fact may be folded.
func takes(f fact.Fact) bool {
	p, ok := f.Body.(fact.Probed)
	return ok && p.Verdict == fact.Success && p.Count <= 1 && f.Pod.UID != "" && f.ID != 0
}

// Append is [journal.Journal.Append]; probe successes from which nothing followed are folded
// into the runs they continue. A success that led to a decision comes in one call with it,
// and is kept whole.
func (j *Journal) Append(facts ...fact.Fact) error {
	j.mu.Lock()
	j.adopt()
	named := map[fact.ID]bool{}
	touched := false
	for _, f := range facts {
		touched = touched || takes(f) || j.runs[f.Pod.UID] != nil
		for _, id := range f.Because {
			named[id] = true
		}
	}
	if !touched || j.closed {
		j.mu.Unlock()
		return j.Journal.Append(facts...)
	}
	defer j.mu.Unlock()
	c := change{j: j, runs: map[types.UID]map[runKey]*run{}}
	for _, f := range facts {
		_, sample := f.Body.(fact.Sampled)
		switch {
		case takes(f) && !named[f.ID]:
			if err := c.fold(f); err != nil {
				return err
			}
			continue
		case !sample:
			c.end(f.Pod.UID)
		}
		c.out = append(c.out, f)
	}
	return c.apply()
}

// Close writes the open runs and closes the journal, as [journal.Journal.Close] does.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return journal.ErrClosed
	}
	j.closed = true
	c := change{j: j, runs: map[types.UID]map[runKey]*run{}}
	for _, pod := range slices.Sorted(maps.Keys(j.runs)) {
		c.end(pod)
	}
	return errors.Join(c.apply(), j.Journal.Close())
}

// change is what an Append does to the runs, done only once all is written.
type change struct {
	j    *Journal
	runs map[types.UID]map[runKey]*run // of the pods that are touched
	out  []fact.Fact                   // what goes to the log, in order
}

// of gives the runs of a pod as they will be.
func (c *change) of(pod types.UID) map[runKey]*run {
	if c.runs[pod] == nil {
		c.runs[pod] = maps.Clone(c.j.runs[pod])
	}
	if c.runs[pod] == nil {
		c.runs[pod] = map[runKey]*run{}
	}
	return c.runs[pod]
}

// fold puts a success into the run it continues.
func (c *change) fold(f fact.Fact) error {
	packed, err := journal.Pack(f)
	if err != nil {
		return err
	}
	key := keyOf(f)
	r := c.of(f.Pod.UID)[key]
	if r != nil && !equalSuccess(r.last(), f) {
		c.end(f.Pod.UID)
		r = nil
	}
	if r == nil {
		r = &run{since: f.Seen, slot: &journal.Slot{}}
	}
	if r.folded != nil && f.Seen.Sub(r.since) >= c.j.o.Every {
		// Before the success comes in: what is written is then what the slot has.
		c.out = append(c.out, *r.folded)
		again := *r
		again.folded, again.since = nil, f.Seen
		r = &again
	}
	c.of(f.Pod.UID)[key] = r.with(packed, c.j.o.Keep)
	return nil
}

// end has a pod's runs written.
func (c *change) end(pod types.UID) {
	var fs []fact.Fact
	for _, r := range c.of(pod) {
		fs = append(fs, r.facts()...)
	}
	slices.SortFunc(fs, func(a, b fact.Fact) int { return cmp.Compare(a.ID, b.ID) })
	c.out = append(c.out, fs...)
	c.runs[pod] = map[runKey]*run{}
}

func (c *change) apply() error {
	step := journal.Change{Write: c.out}
	for pod, after := range c.runs {
		before := c.j.runs[pod]
		for key, r := range before {
			if after[key] == nil || after[key].slot != r.slot {
				step.Free = append(step.Free, r.slot)
			}
		}
		for key, r := range after {
			if before[key] == r {
				continue
			}
			step.Hold = append(step.Hold, journal.Hold{Slot: r.slot, Facts: r.packed()})
		}
	}
	if err := c.j.Change(step); err != nil {
		return err
	}
	for pod, after := range c.runs {
		// What was too large to be held went to the log.
		maps.DeleteFunc(after, func(_ runKey, r *run) bool { return len(r.slot.Facts()) == 0 })
		if c.j.runs[pod] = after; len(after) == 0 {
			delete(c.j.runs, pod)
		}
	}
	return nil
}

// adopt writes the runs that an earlier process left open into the log, unless they
// reached it already.
func (j *Journal) adopt() {
	for _, slot := range j.Left() {
		missing, err := j.missing(slot.Facts())
		if err == nil {
			err = j.Change(journal.Change{Write: missing, Free: []*journal.Slot{slot}})
		}
		if err != nil {
			j.log.Error("journal: cannot write a run that was left open", "error", err)
		}
	}
}

// missing gives those facts of a run that did not reach the log. Where a success
// of the same probe that is as new as its newest did, the whole run had: it is
// written before what follows it.
func (j *Journal) missing(left []*journal.Packed) (missing []fact.Fact, err error) {
	newest := left[len(left)-1].Fact
	there := map[fact.ID]bool{}
	q := journal.Query{UID: newest.Pod.UID, Kinds: []fact.Kind{newest.Body.Kind()}, FromID: left[0].Fact.ID, Written: true}
	for f, err := range j.Query(q) {
		if err != nil {
			return nil, err
		}
		if f.ID >= newest.ID && keyOf(f) == keyOf(newest) {
			return nil, nil
		}
		there[f.ID] = true
	}
	for _, p := range left {
		if !there[p.Fact.ID] {
			missing = append(missing, p.Fact)
		}
	}
	return missing, nil
}
