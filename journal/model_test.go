package journal_test

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/fold"
	"whylet.dev/whylet/test/attempts"
	_ "whylet.dev/whylet/test/fixedseed"
)

// model is a journal as a plain slice. It knows folding only by its promises.
type model struct {
	t    *rapid.T
	dir  string
	j    *fold.Journal
	o    journal.Options
	fold fold.Options
	all  []fact.Fact // everything that was appended
	now  journal.TestClock
	live map[types.UID]bool
	cut  bool // retention may have dropped something
}

// TestModel has a journal do what an agent does, crashes and all, and compares
// it with a slice after every step.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "journal-model-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		m := &model{t: t, dir: dir, live: map[types.UID]bool{}}
		m.fold = fold.Options{Every: 10 * time.Minute, Keep: rapid.IntRange(1, 4).Draw(t, "keep")}
		m.o = journal.Options{
			SegmentBytes: 4 << 10, MaxBytes: 1 << 30, MaxAge: 1000 * time.Hour,
			Clock: m.now.Now,
			Live:  func(uid types.UID) bool { return m.live[uid] },
		}
		if rapid.Bool().Draw(t, "small") {
			m.o.MaxBytes, m.cut = 12<<10, true
		}
		m.live[attempts.Pod(0).UID] = true
		m.open()
		defer func() { _ = m.j.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"success":    m.success,
			"failure":    m.failure,
			"decision":   m.decision,
			"checkpoint": m.checkpoint,
			"sample":     m.sample,
			"restart":    func(*rapid.T) { m.noError(m.j.Close()); m.open() },
			"crash":      func(*rapid.T) { journal.Crash(m.j.Journal); m.open() },
			"seal":       func(*rapid.T) { m.noError(journal.Seal(m.j.Journal)) },
			"":           func(*rapid.T) { m.check() },
		})
		m.exportAndCompare()
	})
}

func (m *model) noError(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) open() {
	j, err := fold.Open(m.dir, m.o, m.fold)
	m.noError(err)
	m.j = j
}

func (m *model) next(t *rapid.T) (fact.ID, fact.Pod, int) {
	m.now.Advance(time.Duration(rapid.IntRange(1, 120).Draw(t, "seconds")) * time.Second)
	return m.j.Next(1), attempts.Pod(rapid.IntRange(0, 3).Draw(t, "pod")), int(m.now.Now().Sub(attempts.Day) / time.Second)
}

func (m *model) append(fs ...fact.Fact) {
	m.noError(m.j.Append(fs...))
	m.all = append(m.all, fs...)
}

func (m *model) success(t *rapid.T) {
	for range rapid.IntRange(1, 12).Draw(t, "n") {
		id, pod, at := m.next(t)
		f := attempts.Success(id, pod, at)
		p, _ := f.Body.(fact.Probed)
		p.Evidence.Status = rapid.SampledFrom([]int{200, 200, 200, 200, 204}).Draw(t, "status")
		if rapid.Bool().Draw(t, "readiness") {
			p.Probe = fact.Readiness
		}
		f.Body = p
		m.append(f)
	}
}

func (m *model) failure(t *rapid.T) {
	id, pod, at := m.next(t)
	m.append(attempts.Failure(id, pod, at))
}

func (m *model) sample(t *rapid.T) {
	id, pod, at := m.next(t)
	f := attempts.Failure(id, pod, at)
	f.Body = fact.Sampled{MemoryCurrent: int64(id)}
	m.append(f)
}

func (m *model) checkpoint(t *rapid.T) {
	id, pod, at := m.next(t)
	m.append(journal.Checkpoint(id, pod, at))
}

func (m *model) decision(t *rapid.T) {
	id, pod, at := m.next(t)
	f := attempts.Success(id, pod, at)
	m.append(f, fact.Decide("app", 0, fact.Marked{Ready: true}, id).Fact(m.j.Next(1), f))
}

// isSuccess tells what folding may have changed.
func isSuccess(f fact.Fact) bool {
	p, ok := f.Body.(fact.Probed)
	return ok && p.Verdict == fact.Success
}

func (m *model) check() {
	got := m.facts(journal.Query{})
	if !slices.IsSortedFunc(got, func(a, b fact.Fact) int { return cmp.Compare(a.ID, b.ID) }) {
		m.t.Fatalf("not by id: %v", journal.IDs(got))
	}
	want := map[fact.ID]fact.Fact{}
	for _, f := range m.all {
		want[f.ID] = f
	}
	counted := map[types.UID]int{}
	for _, f := range got {
		counted[f.Pod.UID] += attempts.Successes([]fact.Fact{f})
		p, _ := f.Body.(fact.Probed)
		if p.Count == 0 && m.wire(f) != m.wire(want[f.ID]) {
			m.t.Fatalf("fact %d came back as\n%s\nwas\n%s", f.ID, m.wire(f), m.wire(want[f.ID]))
		}
	}
	m.checkMissing(got, counted)
	m.checkAround(got)
	if m.cut {
		return // retention works while we look
	}
	q := journal.Query{Among: map[types.UID]bool{attempts.Pod(0).UID: true, attempts.Pod(2).UID: true}}
	if !slices.Equal(journal.IDs(m.facts(q)), journal.IDs(journal.Choose(got, q))) {
		m.t.Fatalf("among pods 0 and 2: %v, want %v", journal.IDs(m.facts(q)), journal.IDs(journal.Choose(got, q)))
	}
	q = journal.Query{UID: attempts.Pod(1).UID, Reverse: true, Limit: 3}
	if !slices.Equal(journal.IDs(m.facts(q)), journal.IDs(journal.Choose(got, q))) {
		m.t.Fatalf("the newest three of pod 1: %v, want %v", journal.IDs(m.facts(q)), journal.IDs(journal.Choose(got, q)))
	}
}

// checkMissing: what is not found was folded and is counted, or retention was
// allowed to drop it.
func (m *model) checkMissing(got []fact.Fact, counted map[types.UID]int) {
	found := map[fact.ID]bool{}
	for _, f := range got {
		found[f.ID] = true
	}
	needed := map[types.UID]fact.ID{} // from which id on a pod's facts must be there
	for _, f := range m.all {
		if m.cut && (!m.live[f.Pod.UID] || f.Body.Kind() == (fact.Checkpoint{}).Kind()) {
			needed[f.Pod.UID] = f.ID
		}
	}
	appended := map[types.UID]int{}
	for _, f := range m.all {
		if m.cut && !m.live[f.Pod.UID] {
			continue
		}
		if isSuccess(f) {
			appended[f.Pod.UID]++
		} else if f.ID >= needed[f.Pod.UID] && !found[f.ID] {
			m.t.Fatalf("fact %d (%s) of pod %s is missing", f.ID, f.Body.Kind(), f.Pod)
		}
	}
	for pod, n := range appended {
		if needed[pod] == 0 && counted[pod] != n {
			m.t.Fatalf("pod %s had %d successes, %d are there", pod, n, counted[pod])
		}
	}
}

// checkAround: the success right before a failure or a decision's is whole.
func (m *model) checkAround(got []fact.Fact) {
	if m.cut {
		return
	}
	whole := map[fact.ID]bool{}
	for _, f := range got {
		p, _ := f.Body.(fact.Probed)
		whole[f.ID] = p.Count == 0
	}
	last := map[types.UID]fact.Fact{}
	for _, f := range m.all {
		before, ok := last[f.Pod.UID]
		if ok && !isSuccess(f) && f.Body.Kind() != "Sampled" && isSuccess(before) && !whole[before.ID] {
			m.t.Fatalf("success %d before fact %d is not whole", before.ID, f.ID)
		}
		if f.Body.Kind() != "Sampled" {
			last[f.Pod.UID] = f
		}
	}
}

// exportAndCompare: what another process reads, and what an exported file has,
// is what the journal had when it ended.
func (m *model) exportAndCompare() {
	m.noError(m.j.Close())
	r, err := journal.OpenReader(m.dir)
	m.noError(err)
	defer r.Close()
	var file bytes.Buffer
	if _, err := journal.Export(&file, journal.Header{Node: "n1"}, r.Query(journal.Query{})); err != nil {
		m.t.Fatal(err)
	}
	f, err := journal.NewFile(&file)
	m.noError(err)
	want := m.from(r, journal.Query{})
	got := m.from(f, journal.Query{})
	m.open() // from here on retention may drop what r has read
	if len(got) != len(want) {
		m.t.Fatalf("the exported file has %d facts, not %d", len(got), len(want))
	}
	for i := range got {
		if m.wire(got[i]) != m.wire(want[i]) {
			m.t.Fatalf("in the exported file, fact %d differs", got[i].ID)
		}
	}
	if m.cut {
		return
	}
	if again := m.facts(journal.Query{}); !slices.Equal(journal.IDs(again), journal.IDs(want)) {
		m.t.Fatalf("opened again there are %v, before %v", journal.IDs(again), journal.IDs(want))
	}
}

func (m *model) facts(q journal.Query) []fact.Fact { return m.from(m.j, q) }

func (m *model) from(s journal.Source, q journal.Query) []fact.Fact {
	var all []fact.Fact
	var errs error
	for f, err := range s.Query(q) {
		all, errs = append(all, f), errors.Join(errs, err)
	}
	m.noError(errs)
	return all
}

func (m *model) wire(f fact.Fact) string {
	b, err := f.MarshalJSON()
	m.noError(err)
	return string(b)
}
