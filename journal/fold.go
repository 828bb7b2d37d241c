package journal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// FoldOptions say how equal probe successes become one fact.
//
// A run belongs to one probe of one attempt of one container. While it is open,
// its latest Keep successes are held whole, and those before them are one fact:
//
//   - its ID, Seen, Mono and Boot are those of the last attempt folded into it,
//     At is when the first began, Until when the last did;
//   - Count is their number, Latency their histogram (fact.LatencyBounds), Took
//     and Late the longest;
//   - Evidence has what they have in common: no timings, no output.
//
// A run ends, and is written, right before the next fact about its pod that is
// not itself such a success: a failure, an exit, a decision, a checkpoint, any
// fact at all but fact.Sampled, which comes often and of which nothing follows.
// A success that a fact of the same Append names in Because is kept whole, too.
// So every fact from which something followed stands where it stood, with the
// successes before it whole. Every so often a long run is written and goes on
// as a new one, so that history has some resolution.
//
// What a replay sees: successes that changed nothing, up to a run later and
// never later than the next fact that could change something. That gives the
// same decisions, byte for byte, provided that counting Count successes at once
// comes to the same as counting them one by one, and that no decision names an
// attempt that was folded (its id is not found any more). Package health names
// at most ten attempts of a row, when the row reaches its threshold: therefore
// a run that is still young holds nine successes whole.
//
// Open runs are in the answers, and in a file of their own (slots.go), so they
// survive the process as every other fact does; a loss of power they survive
// within half a minute.
type FoldOptions struct {
	// Off keeps every success whole.
	Off bool
	// Every is how long a run may get; 0: 8 hours.
	Every time.Duration
	// Keep is how many of the latest successes are held whole; 0: 3.
	Keep int
}

const (
	// youngRun is the number of successes up to which a run is young, so it must
	// not be below any successThreshold in use; youngKeep is what it holds whole.
	youngRun  = 64
	youngKeep = fact.MostNamed - 1
)

func (o FoldOptions) withDefaults() FoldOptions {
	if o.Every <= 0 {
		o.Every = 8 * time.Hour
	}
	if o.Keep <= 0 {
		o.Keep = 3
	}
	return o
}

// runKey tells runs apart.
type runKey struct {
	pod       types.UID
	container string
	attempt   int32
	probe     fact.ProbeKind
}

func keyOf(f fact.Fact) runKey {
	p, _ := f.Body.(fact.Probed)
	return runKey{f.Pod.UID, f.Container, f.Attempt, p.Probe}
}

// run is an open run: what is folded, and the latest successes, oldest first.
type run struct {
	folded *fact.Fact
	whole  []*kept
	since  time.Time // Seen of the first success of it
	count  int       // successes since it began, written ones too
	slot   slot
}

// kept is a success and its record.
type kept struct {
	fact   fact.Fact
	record []byte
}

func (r *run) last() fact.Fact { return r.whole[len(r.whole)-1].fact }

func (r *run) facts() []fact.Fact {
	var fs []fact.Fact
	if r.folded != nil {
		fs = append(fs, *r.folded)
	}
	for _, k := range r.whole {
		fs = append(fs, k.fact)
	}
	return fs
}

// with is the run after one more success. The run itself stays as it is.
func (r *run) with(k *kept, keep int) *run {
	next := *r
	next.whole = append(append(make([]*kept, 0, len(r.whole)+1), r.whole...), k)
	next.count++
	if next.count <= youngRun {
		keep = max(keep, youngKeep)
	}
	for len(next.whole) > keep {
		next.absorb()
	}
	return &next
}

// folder holds the open runs of a journal.
type folder struct {
	j     *Journal
	mu    sync.Mutex // taken before Journal.commit
	runs  map[types.UID]map[runKey]*run
	slots slots
	// record, packing and image are used again for each success.
	record, packing, image []byte
}

func (d *folder) init(j *Journal) {
	d.j = j
	d.runs = map[types.UID]map[runKey]*run{}
}

// takes says whether a fact may be folded.
func (d *folder) takes(f fact.Fact) bool {
	p, ok := f.Body.(fact.Probed)
	return ok && !d.j.o.Fold.Off && p.Verdict == fact.Success && p.Count <= 1 && f.Pod.UID != "" && f.ID != 0
}

// append writes facts and folds, of those that may be folded, the ones that
// none of the others names.
func (d *folder) append(facts []fact.Fact, mayFold bool) error {
	d.mu.Lock()
	named := map[fact.ID]bool{}
	touched := false
	for _, f := range facts {
		touched = touched || mayFold && d.takes(f) || d.runs[f.Pod.UID] != nil
		for _, id := range f.Because {
			named[id] = true
		}
	}
	if !touched {
		d.mu.Unlock()
		return d.j.append(facts)
	}
	defer d.mu.Unlock()
	c := change{d: d, runs: map[types.UID]map[runKey]*run{}}
	for _, f := range facts {
		_, sample := f.Body.(fact.Sampled)
		switch {
		case mayFold && d.takes(f) && !named[f.ID]:
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

// change is what an Append does to the runs, done only once all is written.
type change struct {
	d    *folder
	runs map[types.UID]map[runKey]*run // of the pods that are touched
	out  []fact.Fact                   // what goes to the log, in order
}

// of gives the runs of a pod as they will be.
func (c *change) of(pod types.UID) map[runKey]*run {
	if c.runs[pod] == nil {
		c.runs[pod] = maps.Clone(c.d.runs[pod])
	}
	if c.runs[pod] == nil {
		c.runs[pod] = map[runKey]*run{}
	}
	return c.runs[pod]
}

// fold puts a success into the run it continues.
func (c *change) fold(f fact.Fact) error {
	var err error
	if c.d.record, _, err = appendRecord(c.d.record[:0], f); err != nil {
		return fmt.Errorf("journal: %s %d of pod %s: %w", kindOf(f), f.ID, f.Pod, err)
	}
	key := keyOf(f)
	r := c.of(f.Pod.UID)[key]
	if r != nil && !equalSuccess(r.last(), f) {
		c.end(f.Pod.UID)
		r = nil
	}
	if r == nil {
		r = &run{since: f.Seen}
	}
	if r.folded != nil && f.Seen.Sub(r.since) >= c.d.j.o.Fold.Every {
		// Before the success comes in: what is written is then what the slot has.
		c.out = append(c.out, *r.folded)
		again := *r
		again.folded, again.since = nil, f.Seen
		r = &again
	}
	c.of(f.Pod.UID)[key] = r.with(&kept{f, bytes.Clone(c.d.record)}, c.d.j.o.Fold.Keep)
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
	if len(c.out) > 0 {
		if err := c.d.j.append(c.out); err != nil {
			return err
		}
	}
	for pod, after := range c.runs {
		for key, r := range c.d.runs[pod] {
			if after[key] == nil || after[key].slot.no != r.slot.no {
				c.d.slots.clear(&r.slot)
			}
		}
		for key, r := range after {
			if err := c.d.save(key, r, after); err != nil {
				return err
			}
		}
		if c.d.runs[pod] = after; len(after) == 0 {
			delete(c.d.runs, pod)
		}
	}
	return nil
}

// save puts a run that changed into its slot. What does not fit is not folded.
func (d *folder) save(key runKey, r *run, runs map[runKey]*run) error {
	if before := d.runs[key.pod][key]; before == r {
		return nil
	}
	err := d.makeImage(r)
	if errors.Is(err, errLarge) {
		delete(runs, key)
		d.slots.clear(&r.slot)
		return d.j.append(r.facts())
	}
	if err != nil {
		return err
	}
	d.slots.save(&r.slot, d.image)
	return nil
}

// makeImage makes image the run as one frame. It is packed because it is written
// again with every success, and then fits into one block of the disk.
func (d *folder) makeImage(r *run) (err error) {
	facts := d.packing[:0]
	if r.folded != nil {
		if d.record, _, err = appendRecord(d.record[:0], *r.folded); err != nil {
			return err
		}
		facts = append(binary.AppendUvarint(facts, uint64(len(d.record))), d.record...)
	}
	for _, k := range r.whole {
		facts = append(binary.AppendUvarint(facts, uint64(len(k.record))), k.record...)
	}
	d.packing = facts
	if len(facts) > maxImage {
		return errLarge
	}
	b := slices.Grow(beginFrame(d.image[:0], framePacked), s2.MaxEncodedLen(len(facts)))
	d.image = b[:len(b)+len(s2.Encode(b[len(b):], facts))]
	endFrame(d.image, 0)
	if len(d.image) > slotBytes {
		return errLarge
	}
	return nil
}

// absorb moves the oldest whole success into the folded fact.
func (r *run) absorb() {
	f := r.whole[0].fact
	r.whole = slices.Delete(r.whole, 0, 1)
	p, _ := f.Body.(fact.Probed)
	begun := p.Until
	if begun.IsZero() {
		begun = f.When()
	}
	if r.folded == nil {
		first := p
		first.Count, first.Until, first.Latency = 1, begun, bucket(nil, p.Took)
		first.Evidence = inCommon(p.Evidence)
		f.Body = first
		r.folded = &f
		return
	}
	sum, _ := r.folded.Body.(fact.Probed)
	sum.Count++
	sum.Until = begun
	sum.Took, sum.Late = max(sum.Took, p.Took), max(sum.Late, p.Late)
	sum.Latency = bucket(sum.Latency, p.Took)
	if sum.Message != p.Message {
		sum.Message = ""
	}
	folded := *r.folded
	folded.ID, folded.Seen, folded.Mono = f.ID, f.Seen, f.Mono
	folded.Body = sum
	r.folded = &folded
}

// bucket counts one more attempt in a histogram. It returns a new slice,
// because answers may hold the old one.
func bucket(h []int64, took time.Duration) []int64 {
	i, _ := slices.BinarySearch(fact.LatencyBounds, took)
	n := make([]int64, max(len(h), i+1))
	copy(n, h)
	n[i]++
	return n
}

// equalSuccess says whether b may continue the run that a is in.
func equalSuccess(a, b fact.Fact) bool {
	p, _ := a.Body.(fact.Probed)
	q, _ := b.Body.(fact.Probed)
	return a.Boot == b.Boot && a.Pod == b.Pod && slices.Equal(a.Because, b.Because) && equalEvidence(p.Evidence, q.Evidence)
}

func equalEvidence(a, b *fact.Evidence) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Handler == b.Handler && a.Target == b.Target && a.Remote == b.Remote &&
		a.Status == b.Status && a.Proto == b.Proto && maps.Equal(a.Header, b.Header)
}

func inCommon(e *fact.Evidence) *fact.Evidence {
	if e == nil {
		return nil
	}
	return &fact.Evidence{
		Handler: e.Handler, Target: e.Target, Remote: e.Remote,
		Status: e.Status, Proto: e.Proto, Header: e.Header, ExitCode: e.ExitCode,
	}
}

// closeAll ends every run.
func (d *folder) closeAll() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := change{d: d, runs: map[types.UID]map[runKey]*run{}}
	for _, pod := range slices.Sorted(maps.Keys(d.runs)) {
		c.end(pod)
	}
	return c.apply()
}

// open gives the facts of the open runs of those pods that match.
func (d *folder) open(match func(fact.Pod) bool) []fact.Fact {
	d.mu.Lock()
	defer d.mu.Unlock()
	var fs []fact.Fact
	for _, runs := range d.runs {
		for _, r := range runs {
			if match(r.last().Pod) {
				fs = append(fs, r.facts()...)
			}
		}
	}
	return fs
}

// load reads the runs that an earlier process left open and gives the largest
// id among them; adopt writes them into the log, unless they reached it already.
func (d *folder) load() fact.ID {
	last, err := d.slots.load(d.j.dir)
	if err != nil {
		d.j.o.Log.Warn("journal: cannot keep open runs on disk", "error", err)
	}
	return last
}

func (d *folder) adopt() {
	for _, left := range d.slots.takeLeft() {
		missing, err := d.missing(left.facts)
		if err == nil && len(missing) > 0 {
			err = d.j.append(missing)
		}
		if err != nil {
			d.j.o.Log.Error("journal: cannot write a run that was left open", "error", err)
			continue
		}
		d.slots.clear(&left.slot)
	}
}

// missing gives those facts of a run that did not reach the log. Where a success
// of the same probe that is as new as its newest did, the whole run had: it is
// written before what follows it.
func (d *folder) missing(run []fact.Fact) ([]fact.Fact, error) {
	newest := run[len(run)-1]
	there := map[fact.ID]bool{}
	v := d.j.view(func(fact.Pod) bool { return false })
	var failed error
	v.each(Query{UID: newest.Pod.UID, Kinds: []fact.Kind{newest.Body.Kind()}, FromID: run[0].ID}, func(f fact.Fact, err error) bool {
		if failed = err; err != nil {
			return false
		}
		there[f.ID] = true
		if f.ID >= newest.ID && keyOf(f) == keyOf(newest) {
			run = nil
		}
		return run != nil
	})
	return slices.DeleteFunc(slices.Clone(run), func(f fact.Fact) bool { return there[f.ID] }), failed
}

func (d *folder) sync() error { return d.slots.sync() }
