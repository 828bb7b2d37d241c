package journal

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// PodSpan says from when to when a pod is known, and what it takes.
type PodSpan struct {
	Pod         fact.Pod
	First, Last time.Time
	Facts       int64
	// Bytes it takes on disk; what is not sealed yet is not compressed yet.
	Bytes int64
}

// Stats are a journal's numbers.
type Stats struct {
	Facts    int64
	Pods     int
	FirstID  fact.ID
	LastID   fact.ID
	First    time.Time
	Last     time.Time
	Segments int
	// SegmentBytes is the size of the sealed part, LogBytes that of the rest.
	SegmentBytes int64
	LogBytes     int64
	// RawBytes is the size of the sealed records before compression.
	RawBytes int64
	// Held is the number of facts that are held back from the log.
	Held int
	// Degraded says why facts are in memory only; empty while all is well.
	Degraded string
}

// Pods gives every pod of which there are facts, by namespace, name and UID.
// The facts about the node itself are those of the pod without a name.
func (j *Journal) Pods() []PodSpan { return j.view(anyPod).pods() }

// Stats gives the journal's numbers.
func (j *Journal) Stats() Stats {
	v := j.view(anyPod)
	s := v.stats()
	s.Degraded = j.Degraded()
	return s
}

func anyPod(fact.Pod) bool { return true }

// tally is what is known of one pod.
type tally struct {
	PodSpan
	from, to int64
}

func (v view) pods() []PodSpan {
	all := map[types.UID]*tally{}
	add := func(p *fact.Pod, from, to, facts, bytes int64) {
		t := all[p.UID]
		if t == nil {
			t = &tally{PodSpan: PodSpan{Pod: *p}, from: from, to: to}
			all[p.UID] = t
		}
		t.from, t.to = min(t.from, from), max(t.to, to)
		t.Facts += facts
		t.Bytes += bytes
	}
	for _, s := range v.segs {
		for i := range s.blocks {
			b := &s.blocks[i]
			add(&b.pod, b.from, b.to, b.count, b.size)
		}
	}
	for _, l := range v.logs {
		for i := range l.entries {
			e := &l.entries[i]
			add(e.pod, e.at, e.end, 1, int64(e.n))
		}
	}
	for _, f := range v.open {
		h := headOf(f)
		add(h.pod, h.at, h.end, 1, 0)
	}
	spans := make([]PodSpan, 0, len(all))
	for _, t := range all {
		t.First, t.Last = clock(t.from), clock(t.to)
		spans = append(spans, t.PodSpan)
	}
	slices.SortFunc(spans, func(a, b PodSpan) int { return comparePods(a.Pod, b.Pod) })
	return spans
}

func (v view) stats() Stats {
	s := Stats{Segments: len(v.segs), Held: len(v.open)}
	first := func(id fact.ID) {
		if s.FirstID == 0 || id < s.FirstID {
			s.FirstID = id
		}
	}
	for _, seg := range v.segs {
		s.SegmentBytes += seg.size
		for _, b := range seg.blocks {
			first(b.minID)
			s.LastID = max(s.LastID, b.maxID)
			s.RawBytes += b.raw
		}
	}
	for _, l := range v.logs {
		for _, e := range l.entries {
			first(e.id)
			s.LastID = max(s.LastID, e.id)
			s.LogBytes += int64(e.n)
		}
	}
	for _, f := range v.open {
		first(f.ID)
		s.LastID = max(s.LastID, f.ID)
	}
	pods := v.pods()
	for _, p := range pods {
		s.Facts += p.Facts
		if p.Pod != (fact.Pod{}) {
			s.Pods++
		}
	}
	if len(pods) > 0 {
		s.First = slices.MinFunc(pods, func(a, b PodSpan) int { return a.First.Compare(b.First) }).First
		s.Last = slices.MaxFunc(pods, func(a, b PodSpan) int { return cmp.Compare(a.Last.UnixNano(), b.Last.UnixNano()) }).Last
	}
	return s
}
