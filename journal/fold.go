package journal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

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
// So every fact from which something could follow stands where it stood, with
// the successes around it whole. Every so often a long run is written and goes
// on as a new one, so that history has some resolution.
//
// What a replay sees: successes that changed nothing, later by at most the run
// and never later than the next fact that could change something. This gives
// the same decisions provided that counting Count successes at once comes to
// the same as counting them one by one. The id of an attempt that was folded is
// not found any more, so a decision must not name one; it does not if it came
// in one Append with the last success that it rests on, and names, besides, at
// most the Keep before it.
//
// Open runs are in the answers, and in a file of their own (slots.go), so they
// survive the process as every other fact does.
type FoldOptions struct {
	// Off keeps every success whole.
	Off bool
	// Every is how long a run may get; 0: 8 hours.
	Every time.Duration
	// Keep is how many of the latest successes are held whole; 0: 3.
	Keep int
}

func (o FoldOptions) withDefaults() FoldOptions {
	if o.Every <= 0 {
		o.Every = 8 * time.Hour
	}
	if o.Keep <= 0 {
		o.Keep = 3
	}
	return o
}

// runKey tells the probes of one pod apart.
type runKey struct {
	container string
	attempt   int32
	probe     fact.ProbeKind
}

// run is an open run: what is folded, and the latest successes, oldest first.
type run struct {
	folded *fact.Fact
	whole  []kept
	since  time.Time // Seen of the first success of it
	slot   slot
}

// kept is a success and its record.
type kept struct {
	fact   fact.Fact
	record []byte
}

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

// folder holds the open runs of a journal.
type folder struct {
	j     *Journal
	mu    sync.Mutex // taken before Journal.commit
	runs  map[types.UID]map[runKey]*run
	slots slots
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

// add folds one success into the run it continues.
func (d *folder) add(f fact.Fact) error {
	if d.j.closed.Load() {
		return ErrClosed
	}
	record, _, err := appendRecord(nil, f)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p, _ := f.Body.(fact.Probed)
	key := runKey{f.Container, f.Attempt, p.Probe}
	r := d.runs[f.Pod.UID][key]
	if r != nil && !equalSuccess(r.whole[len(r.whole)-1].fact, f) {
		if err := d.closePods(nil, f.Pod.UID); err != nil {
			return err
		}
		r = nil
	}
	if r == nil {
		r = &run{since: f.Seen}
		if d.runs[f.Pod.UID] == nil {
			d.runs[f.Pod.UID] = map[runKey]*run{}
		}
		d.runs[f.Pod.UID][key] = r
	}
	r.whole = append(r.whole, kept{f, record})
	for len(r.whole) > d.j.o.Fold.Keep {
		r.absorb()
	}
	if r.folded != nil && f.Seen.Sub(r.since) >= d.j.o.Fold.Every {
		if err := d.j.append([]fact.Fact{*r.folded}); err != nil {
			return err
		}
		r.folded, r.since = nil, f.Seen
	}
	return d.save(f.Pod.UID, key, r)
}

// save puts the run into its slot. What does not fit a slot is not folded.
func (d *folder) save(pod types.UID, key runKey, r *run) error {
	image, err := r.image()
	for err == nil && len(image) > slotBytes && len(r.whole) > 1 {
		r.absorb()
		image, err = r.image()
	}
	if err != nil {
		return err
	}
	if len(image) > slotBytes {
		return d.closePods(nil, pod)
	}
	d.slots.save(&r.slot, image)
	d.runs[pod][key] = r
	return nil
}

// image is the run as one frame.
func (r *run) image() ([]byte, error) {
	b := beginFrame(nil, frameFacts)
	if r.folded != nil {
		record, _, err := appendRecord(nil, *r.folded)
		if err != nil {
			return nil, err
		}
		b = append(binary.AppendUvarint(b, uint64(len(record))), record...)
	}
	for _, k := range r.whole {
		b = append(binary.AppendUvarint(b, uint64(len(k.record))), k.record...)
	}
	endFrame(b, 0)
	return b, nil
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

// closeBefore ends the runs of the pods that facts are about, and has write
// write them together with the facts.
func (d *folder) closeBefore(facts []fact.Fact, write func(runs []fact.Fact) error) error {
	d.mu.Lock()
	var pods []types.UID
	for _, f := range facts {
		if _, sampled := f.Body.(fact.Sampled); !sampled && d.runs[f.Pod.UID] != nil && !slices.Contains(pods, f.Pod.UID) {
			pods = append(pods, f.Pod.UID)
		}
	}
	if len(pods) == 0 {
		d.mu.Unlock()
		return write(nil)
	}
	defer d.mu.Unlock()
	return d.closePods(write, pods...)
}

// closePods ends the runs of pods and has write (nil: a plain append) write
// them. The caller holds mu, so that no success comes in between.
func (d *folder) closePods(write func(runs []fact.Fact) error, pods ...types.UID) error {
	if write == nil {
		write = d.j.append
	}
	var runs []fact.Fact
	for _, pod := range pods {
		for _, r := range d.runs[pod] {
			runs = append(runs, r.facts()...)
		}
	}
	slices.SortFunc(runs, func(a, b fact.Fact) int { return cmp.Compare(a.ID, b.ID) })
	if err := write(runs); err != nil {
		return err
	}
	for _, pod := range pods {
		for _, r := range d.runs[pod] {
			d.slots.clear(&r.slot)
		}
		delete(d.runs, pod)
	}
	return nil
}

// closeAll ends every run.
func (d *folder) closeAll() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, pod := range slices.Sorted(maps.Keys(d.runs)) {
		errs = append(errs, d.closePods(nil, pod))
	}
	return errors.Join(errs...)
}

// open gives the facts of the open runs of those pods that match.
func (d *folder) open(match func(fact.Pod) bool) []fact.Fact {
	d.mu.Lock()
	defer d.mu.Unlock()
	var fs []fact.Fact
	for _, runs := range d.runs {
		for _, r := range runs {
			if match(r.whole[len(r.whole)-1].fact.Pod) {
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
		d.j.o.Log.Warn("journal: cannot keep open runs on disk", "err", err)
	}
	return last
}

func (d *folder) adopt() {
	for _, left := range d.slots.takeLeft() {
		var missing []fact.Fact
		for _, f := range left.facts {
			if _, found, err := d.j.find(f.Pod, f.ID); err == nil && !found {
				missing = append(missing, f)
			}
		}
		if len(missing) > 0 {
			if err := d.j.append(missing); err != nil {
				d.j.o.Log.Error("journal: cannot write a run that was left open", "err", err)
				continue
			}
		}
		d.slots.clear(&left.slot)
	}
}

func (d *folder) sync() error { return d.slots.sync() }
