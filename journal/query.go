package journal

import (
	"cmp"
	"container/heap"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// Query says which facts are asked for. Empty fields ask for all.
type Query struct {
	// UID, Namespace and Name choose the pods. Node asks for the facts that are
	// about no pod.
	UID       types.UID
	Namespace string
	Name      string
	Node      bool
	// Among chooses among these pods; nil: among all.
	Among map[types.UID]bool

	Container string
	Kinds     []fact.Kind

	// From and To bound the time at which it happened, from fact.Fact.When to
	// fact.Fact.End: it is in if any of it is. From is inside, To is not.
	From, To time.Time
	// FromID and ToID bound the ids: FromID is inside, ToID is not.
	FromID, ToID fact.ID

	// SinceCheckpoint leaves out, of each pod, what comes before its latest
	// fact.Checkpoint: what a restart needs.
	SinceCheckpoint bool

	// Written leaves out what is held back from the log.
	Written bool

	// Limit ends the answer after so many facts; 0: no limit.
	Limit int
	// Reverse gives the newest first.
	Reverse bool

	checkpoints map[types.UID]fact.ID // for SinceCheckpoint
}

// Source is what answers questions: a [Journal], a [Reader] or a [File].
type Source interface {
	Query(Query) iter.Seq2[fact.Fact, error]
	Get(fact.ID) (fact.Fact, bool, error)
	Pods() []PodSpan
	Stats() Stats
}

// Query gives the facts that match, by id. It sees the journal as it was when
// the iteration began, and holds up nobody.
//
// What is damaged is left out, and reported by a fact.Lost. An error means that
// one fact could not be read; the iteration goes on after it.
func (j *Journal) Query(q Query) iter.Seq2[fact.Fact, error] {
	return func(yield func(fact.Fact, error) bool) {
		j.view(func(p fact.Pod) bool { return !q.Written && q.wantsPod(p) }).each(q, yield)
	}
}

// Get gives the fact of that id. An attempt that was folded into others has none.
func (j *Journal) Get(id fact.ID) (fact.Fact, bool, error) { return getFrom(j, id) }

func getFrom(s Source, id fact.ID) (fact.Fact, bool, error) {
	for f, err := range s.Query(Query{FromID: id, ToID: id + 1}) {
		return f, err == nil, err
	}
	return fact.Fact{}, false, nil
}

// view is what a question is put to: everything there is at one moment.
type view struct {
	segs   []*segment
	logs   []logView
	open   []fact.Fact  // held, not in a log yet
	report func(damage) // hears of blocks that cannot be read; may be nil
}

// view takes what is held of those pods that match first: what is written in
// between is then seen twice, and not missed.
func (j *Journal) view(match func(fact.Pod) bool) view {
	v := view{open: j.held.open(match), report: j.report}
	j.mu.RLock()
	defer j.mu.RUnlock()
	v.segs = j.segs
	for _, l := range j.logs {
		v.logs = append(v.logs, l.view())
	}
	return v
}

func (q *Query) wantsPod(p fact.Pod) bool {
	return (q.UID == "" || q.UID == p.UID) &&
		(q.Namespace == "" || q.Namespace == p.Namespace) &&
		(q.Name == "" || q.Name == p.Name) &&
		(q.Among == nil || q.Among[p.UID]) &&
		(!q.Node || p == fact.Pod{})
}

func (q *Query) wants(h head) bool {
	return q.wantsSpan(h.id, h.id, h.at, h.end) &&
		(q.Container == "" || q.Container == h.ctr) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, h.kin)) &&
		q.wantsPod(*h.pod) && h.id >= q.checkpoints[h.pod.UID]
}

func (q *Query) wantsSpan(minID, maxID fact.ID, from, to int64) bool {
	return maxID >= q.FromID && (q.ToID == 0 || minID < q.ToID) &&
		(q.From.IsZero() || to >= q.From.UnixNano()) &&
		(q.To.IsZero() || from < q.To.UnixNano())
}

// chunk is a group of records that is read in one go.
type chunk struct {
	minID, maxID fact.ID
	load         func(*Query) ([]record, error)
}

// chunks are the parts of the view in which something may match.
func (v view) chunks(q *Query) []chunk {
	var all []chunk
	for _, s := range v.segs {
		all = append(all, v.blocks(s, q)...)
	}
	for _, l := range v.logs {
		if c, ok := l.chunk(q); ok {
			all = append(all, c)
		}
	}
	for _, f := range v.open {
		h := headOf(f)
		if q.wants(h) {
			all = append(all, chunk{f.ID, f.ID, func(*Query) ([]record, error) { return []record{{head: h, known: &f}}, nil }})
		}
	}
	return all
}

// checkpoints gives the id of each pod's latest checkpoint.
func (v view) checkpoints() map[types.UID]fact.ID {
	latest := map[types.UID]fact.ID{}
	for _, s := range v.segs {
		for i := range s.blocks {
			b := &s.blocks[i]
			latest[b.pod.UID] = max(latest[b.pod.UID], b.checkpoint)
		}
	}
	for _, l := range v.logs {
		for i := range l.entries {
			if e := &l.entries[i]; e.kin == checkpointKind {
				latest[e.pod.UID] = max(latest[e.pod.UID], e.id)
			}
		}
	}
	return latest
}

func (v view) blocks(s *segment, q *Query) []chunk {
	kinds := s.kindsOf(q.Kinds)
	blocks := s.blocks
	if q.ToID == q.FromID+1 && q.UID == "" {
		blocks = s.blocksWith(q.FromID)
	}
	var all []chunk
	for _, b := range blocks {
		if b.kinds&kinds == 0 || !q.wantsSpan(b.minID, b.maxID, b.from, b.to) || !q.wantsPod(b.pod) ||
			b.maxID < q.checkpoints[b.pod.UID] || s.isBad(b) {
			continue
		}
		all = append(all, chunk{b.minID, b.maxID, func(q *Query) ([]record, error) { return v.readBlock(s, b, q) }})
	}
	return all
}

// kindsOf gives the bits of the kinds that are asked for.
func (s *segment) kindsOf(kinds []fact.Kind) kindSet {
	if len(kinds) == 0 {
		return ^kindSet(0)
	}
	var set kindSet
	for no, k := range s.kinds {
		if slices.Contains(kinds, k) {
			set |= 1 << min(no, 63)
		}
	}
	return set
}

// readBlock gives the records of a block that match. A damaged block is
// reported once, and is empty.
func (v view) readBlock(s *segment, b block, q *Query) ([]record, error) {
	raw, err := s.unpack(b)
	var rs []record
	if err == nil {
		err = eachRecord(raw, newNames(), func(_, _ int, r record) {
			if q.wants(r.head) {
				rs = append(rs, r)
			}
		})
	}
	if err != nil && s.markBad(b) && v.report != nil {
		v.report(damage{seg: s, block: b, err: err})
	}
	return rs, nil
}

// spanAtOnce is how much of a log is read in one go, rather than record by record.
const spanAtOnce = 16 << 20

// chunk gives the matching records of a log.
func (l logView) chunk(q *Query) (chunk, bool) {
	var found []entry
	for _, e := range l.entries {
		if q.wants(e.head) {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		return chunk{}, false
	}
	c := chunk{minID: found[0].id, maxID: found[0].id}
	for _, e := range found {
		c.minID, c.maxID = min(c.minID, e.id), max(c.maxID, e.id)
	}
	c.load = func(*Query) ([]record, error) { return l.read(found) }
	return c, true
}

func (l logView) read(found []entry) ([]record, error) {
	rs := make([]record, 0, len(found))
	n := newNames()
	first, last := found[0], found[len(found)-1]
	var all []byte
	if _, inMemory := l.data.(*memory); !inMemory && len(found) > 16 && last.off-first.off < spanAtOnce {
		all = make([]byte, last.off+int64(last.n)-first.off)
		if _, err := l.data.ReadAt(all, first.off); err != nil {
			return nil, err
		}
	}
	for _, e := range found {
		var b []byte
		if all != nil {
			b = all[e.off-first.off:][:e.n]
		} else {
			b = make([]byte, e.n)
			if _, err := l.data.ReadAt(b, e.off); err != nil && err != io.EOF {
				return nil, err
			}
		}
		r, err := parseRecord(b, n)
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// each yields the facts that match, merging the chunks by id: a chunk is read
// when its first id is due, so what is in memory is what overlaps.
func (v view) each(q Query, yield func(fact.Fact, error) bool) {
	m := merge{reverse: q.Reverse}
	if q.SinceCheckpoint {
		q.checkpoints = v.checkpoints()
	}
	chunks := v.chunks(&q)
	slices.SortFunc(chunks, func(a, b chunk) int { return m.order(m.begin(a), m.begin(b)) })

	var last fact.ID
	var boot string
	for n := 0; len(chunks) > 0 || len(m.lists) > 0; {
		for len(chunks) > 0 && (len(m.lists) == 0 || m.order(m.begin(chunks[0]), m.lists[0][0].id) <= 0) {
			rs, err := chunks[0].load(&q)
			chunks = chunks[1:]
			if err != nil && !yield(fact.Fact{}, err) {
				return
			}
			m.add(rs)
		}
		if len(m.lists) == 0 {
			continue
		}
		r := m.next()
		if r.id == last {
			continue // it was held, and reached the log meanwhile
		}
		last = r.id
		f, err := r.fact(boot)
		boot = f.Boot
		if err != nil {
			err = fmt.Errorf("journal: fact %d: %w", r.id, err)
		}
		if !yield(f, err) {
			return
		}
		if n++; n == q.Limit {
			return
		}
	}
}

// merge is a heap of sorted lists, none of them empty.
type merge struct {
	reverse bool
	lists   [][]record
}

func (m *merge) order(a, b fact.ID) int {
	if m.reverse {
		a, b = b, a
	}
	return cmp.Compare(a, b)
}

// begin is the id at which a chunk is due.
func (m *merge) begin(c chunk) fact.ID {
	if m.reverse {
		return c.maxID
	}
	return c.minID
}

func (m *merge) add(rs []record) {
	if len(rs) == 0 {
		return
	}
	slices.SortFunc(rs, func(a, b record) int { return m.order(a.id, b.id) })
	heap.Push(m, rs)
}

// next takes the record that is due off its list.
func (m *merge) next() record {
	r := m.lists[0][0]
	if len(m.lists[0]) == 1 {
		heap.Pop(m)
		return r
	}
	m.lists[0] = m.lists[0][1:]
	heap.Fix(m, 0)
	return r
}

// The methods of [heap.Interface].

func (m *merge) Len() int           { return len(m.lists) }
func (m *merge) Less(a, b int) bool { return m.order(m.lists[a][0].id, m.lists[b][0].id) < 0 }
func (m *merge) Swap(a, b int)      { m.lists[a], m.lists[b] = m.lists[b], m.lists[a] }
func (m *merge) Push(x any)         { rs, _ := x.([]record); m.lists = append(m.lists, rs) }
func (m *merge) Pop() any {
	n := len(m.lists) - 1
	x := m.lists[n]
	m.lists = m.lists[:n]
	return x
}

// Chooses says whether a fact is among those that are asked for. It does not
// look at Limit and SinceCheckpoint.
func (q Query) Chooses(f fact.Fact) bool { return q.wants(headOf(f)) }
