package journal

import (
	"cmp"
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// share is what one pod has in the segments.
type share struct {
	pod    fact.Pod
	live   bool
	places []place // newest first
	needed int     // so many of the newest must stay
	last   int64   // the latest time in it
}

// kept is how many bytes of the share stay, and how many of its blocks, if it
// may have no more than level bytes.
func (s *share) kept(level int64) (bytes int64, n int) {
	for n < len(s.places) {
		size := s.places[n].size
		if n >= s.needed && bytes+size > level {
			break
		}
		bytes += size
		n++
	}
	return bytes, n
}

// retain drops what is too old, and what there is no room for.
func (j *Journal) retain() error {
	drop := j.plan()
	for _, s := range j.segments() {
		if len(drop[s]) == 0 {
			continue
		}
		name := s.name
		name.version++
		err := j.rewrite(name, []*segment{s}, func(s *segment, b block) bool { return !drop[s][b.off] })
		if err != nil {
			return err
		}
	}
	return nil
}

// plan says which blocks are to be dropped, by segment and offset.
func (j *Journal) plan() map[*segment]map[int64]bool {
	segs := j.segments()
	shares := j.shares(segs)
	drop := map[*segment]map[int64]bool{}
	cut := func(s *share, n int) {
		for _, p := range s.places[n:] {
			if drop[p.seg] == nil {
				drop[p.seg] = map[int64]bool{}
			}
			drop[p.seg][p.off] = true
		}
		s.places = s.places[:n]
	}
	oldest := j.o.Clock().Add(-j.o.MaxAge).UnixNano()
	var total int64
	for _, s := range shares {
		n := len(s.places)
		for n > s.needed && s.places[n-1].to < oldest {
			n--
		}
		cut(s, n)
		for _, p := range s.places {
			total += p.size
		}
	}
	if total > j.o.MaxBytes {
		// A tenth more than needed, so that not every new segment causes this.
		fit(shares, j.o.MaxBytes-j.o.MaxBytes/10, j.o.MaxBytes/64, cut)
	}
	return drop
}

// fit cuts the shares to a total of at most limit bytes, fairly: all are cut to
// the same level, so whoever has less than it loses nothing. The level does not
// fall below floor while there are pods that are gone: these lose all they have,
// longest gone first.
func fit(shares []*share, limit, floor int64, cut func(*share, int)) {
	sum := func(level int64) (total int64) {
		for _, s := range shares {
			bytes, _ := s.kept(level)
			total += bytes
		}
		return total
	}
	if sum(floor) > limit {
		gone := slices.Clone(shares)
		slices.SortFunc(gone, func(a, b *share) int { return cmp.Compare(a.last, b.last) })
		total := sum(floor)
		for _, s := range gone {
			if total <= limit || s.live {
				continue
			}
			bytes, _ := s.kept(floor)
			total -= bytes
			cut(s, 0)
		}
	}
	// The highest level that fits; sum grows with the level.
	level := int64(sort.Search(int(limit), func(l int) bool { return sum(int64(l)+1) > limit }))
	for _, s := range shares {
		_, n := s.kept(level)
		cut(s, n)
	}
}

// shares gathers the blocks by pod and marks what live pods need: the block
// with the latest checkpoint, and all behind it; everything where there is no
// checkpoint.
func (j *Journal) shares(segs []*segment) []*share {
	live := *j.live.Load()
	byPod := map[types.UID]*share{}
	checkpoints := j.view(func(fact.Pod) bool { return false }).checkpoints()
	var all []*share
	for _, seg := range segs {
		for _, b := range seg.blocks {
			s := byPod[b.pod.UID]
			if s == nil {
				s = &share{pod: b.pod, live: b.pod.UID != "" && live(b.pod.UID)}
				byPod[b.pod.UID] = s
				all = append(all, s)
			}
			s.places = append(s.places, place{seg, b})
			s.last = max(s.last, b.to)
		}
	}
	for _, s := range all {
		slices.SortStableFunc(s.places, func(a, b place) int { return cmp.Compare(b.maxID, a.maxID) })
		for s.live && s.needed < len(s.places) && s.places[s.needed].maxID >= checkpoints[s.pod.UID] {
			s.needed++
		}
	}
	return all
}
