package fold

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
)

const (
	// youngRun is the number of successes up to which a run is young, so it must
	// not be below any successThreshold in use; youngKeep is what it holds whole.
	youngRun  = 64
	youngKeep = fact.MostNamed - 1
)

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
	whole  []*journal.Packed
	since  time.Time // Seen of the first success of it
	count  int       // successes since it began, written ones too
	slot   *journal.Slot
}

func (r *run) last() fact.Fact { return r.whole[len(r.whole)-1].Fact }

// facts are those that tell of it, by id.
func (r *run) facts() []fact.Fact {
	var fs []fact.Fact
	for _, p := range r.packed() {
		fs = append(fs, p.Fact)
	}
	return fs
}

// with is the run after one more success. The run itself stays as it is.
func (r *run) with(k *journal.Packed, keep int) *run {
	next := *r
	next.whole = append(append(make([]*journal.Packed, 0, len(r.whole)+1), r.whole...), k)
	next.count++
	if next.count <= youngRun {
		keep = max(keep, youngKeep)
	}
	for len(next.whole) > keep {
		next.absorb()
	}
	return &next
}

// packed are the facts that tell of it, to be held.
func (r *run) packed() []*journal.Packed {
	if r.folded == nil {
		return r.whole
	}
	return append([]*journal.Packed{{Fact: *r.folded}}, r.whole...)
}

// absorb moves the oldest whole success into the folded fact.
func (r *run) absorb() {
	f := r.whole[0].Fact
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
