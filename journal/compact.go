package journal

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
)

// mergeCount segments of one tier that lie side by side become one of the next;
// a tier is eight times as large as the one before. Segments of the last tier
// stay as they are.
const (
	mergeCount = 8
	lastTier   = 2
)

// keeper seals, merges and drops in the background.
func (j *Journal) keeper() {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-j.stop:
			return
		case <-j.kick:
		case <-tick.C:
		}
		if err := j.keep(); err != nil {
			j.o.Log.Warn("journal: housekeeping failed, it is tried again", "dir", j.dir, "error", err)
		}
	}
}

func (j *Journal) wakeKeeper() {
	select {
	case j.kick <- struct{}{}:
	default:
	}
}

// keep does the housekeeping that is due. Nothing is lost where it fails.
func (j *Journal) keep() error {
	j.keeping.Lock()
	defer j.keeping.Unlock()
	if j.trouble.Load() != nil {
		return nil
	}
	return errors.Join(j.setAside(), j.rollOld(), j.sealAll(), j.merge(), j.retain(), j.boundAside())
}

// rollOld begins a new log when the current one is old, so that it is sealed.
func (j *Journal) rollOld() error {
	j.commit.Lock()
	defer j.commit.Unlock()
	v := j.current().view()
	if len(v.entries) == 0 || j.o.Clock().Sub(time.Unix(0, v.entries[0].at)) < sealAge {
		return nil
	}
	return j.beginLog()
}

// sealAll seals every log that is no longer written, oldest first. It stops at
// the first that fails, so that the numbers of segments have no holes.
func (j *Journal) sealAll() error {
	j.mu.RLock()
	logs := j.logs
	j.mu.RUnlock()
	for i, l := range logs {
		if i == len(logs)-1 {
			break
		}
		if err := j.seal(l); err != nil {
			return fmt.Errorf("sealing %s: %w", logName(l.seq), err)
		}
	}
	return nil
}

// seal makes a segment of a log.
func (j *Journal) seal(l *log) error {
	v := l.view()
	path := filepath.Join(j.dir, logName(l.seq))
	if len(v.entries) == 0 {
		j.publish([]*log{l}, nil, nil)
		return os.Remove(path)
	}
	data := make([]byte, l.bytes())
	if _, err := v.data.ReadAt(data, 0); err != nil {
		return err
	}
	entries := slices.Clone(v.entries)
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(comparePods(*a.pod, *b.pod), cmp.Compare(a.id, b.id))
	})
	name := segmentName{first: l.seq, last: l.seq}
	s, err := j.writeSegment(name, func(w *segmentWriter) error {
		for _, e := range entries {
			if err := w.add(e.head, data[e.off:e.off+int64(e.n)]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	j.publish([]*log{l}, nil, s)
	return os.Remove(path)
}

func (j *Journal) writeSegment(name segmentName, fill func(*segmentWriter) error) (*segment, error) {
	path := filepath.Join(j.dir, name.String())
	w, err := newSegmentWriter(path)
	if err != nil {
		return nil, err
	}
	if err := fill(w); err != nil {
		w.abandon()
		return nil, err
	}
	if err := w.finish(); err != nil {
		w.abandon()
		return nil, err
	}
	return openSegment(path, name)
}

// publish replaces logs and segments by a new segment, which may be nil. The
// slices are copied: questions under way go on with the old ones.
func (j *Journal) publish(logs []*log, segs []*segment, s *segment) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.logs = slices.DeleteFunc(slices.Clone(j.logs), func(l *log) bool { return slices.Contains(logs, l) })
	kept := slices.DeleteFunc(slices.Clone(j.segs), func(o *segment) bool { return slices.Contains(segs, o) })
	if s != nil {
		kept = append(kept, s)
	}
	slices.SortFunc(kept, func(a, b *segment) int { return cmp.Compare(a.name.first, b.name.first) })
	j.segs = kept
}

func (j *Journal) segments() []*segment {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.segs
}

func (j *Journal) tier(s *segment) int {
	t := 0
	for size := j.o.SegmentBytes / 16; s.size > size && t < lastTier; size *= mergeCount {
		t++
	}
	return t
}

// merge puts small segments together, until there are none left to merge.
func (j *Journal) merge() error {
	for {
		segs := j.segments()
		from, n := 0, 0
		for i, s := range segs {
			if i > 0 && j.tier(s) == j.tier(segs[from]) {
				n++
			} else {
				from, n = i, 1
			}
			if n == mergeCount && j.tier(s) < lastTier {
				break
			}
			if n == mergeCount {
				n = 0
				from = i + 1
			}
		}
		if n < mergeCount {
			return nil
		}
		in := segs[from : from+n]
		name := segmentName{first: in[0].name.first, last: in[n-1].name.last}
		if err := j.rewrite(name, in, func(*segment, block) bool { return true }); err != nil {
			return fmt.Errorf("merging %d segments: %w", n, err)
		}
	}
}

// place is a block and the segment that it lies in.
type place struct {
	seg *segment
	block
}

// facts gives the ids of the facts that a block has, from the segment's ids or, where they are
// lost, from the block itself.
func (p place) facts(known map[*segment]map[int64][]fact.ID) ([]fact.ID, error) {
	byBlock, ok := known[p.seg]
	if !ok {
		byBlock = p.seg.idsByBlock()
		known[p.seg] = byBlock
	}
	if byBlock != nil {
		return byBlock[p.off], nil
	}
	raw, err := p.seg.unpack(p.block)
	if err != nil {
		return nil, err
	}
	var ids []fact.ID
	err = eachRecord(raw, newNames(), func(_, _ int, r record) { ids = append(ids, r.id) })
	return ids, err
}

// rewrite makes one segment of those given, of the blocks that are to be kept.
// A block that cannot be read is reported and left out; the segment that it was
// in is set aside before.
func (j *Journal) rewrite(name segmentName, in []*segment, keep func(*segment, block) bool) error {
	var places []place
	for _, s := range in {
		for _, b := range s.blocks {
			if !s.isBad(b) && keep(s, b) {
				places = append(places, place{s, b})
			}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(comparePods(a.pod, b.pod), cmp.Compare(a.minID, b.minID))
	})
	var s *segment
	if len(places) > 0 {
		var err error
		if s, err = j.writeSegment(name, func(w *segmentWriter) error { return j.joinAll(w, places) }); err != nil {
			return err
		}
	}
	j.publish(nil, in, s)
	var errs []error
	for _, old := range in {
		errs = append(errs, os.Remove(old.path))
	}
	return errors.Join(errs...)
}

func (j *Journal) joinAll(w *segmentWriter, places []place) error {
	known := map[*segment]map[int64][]fact.ID{}
	for _, p := range places {
		ids, err := p.facts(known)
		if err == nil {
			err = w.join(p.seg, p.block, ids)
		}
		var corrupt *CorruptError
		if errors.As(err, &corrupt) {
			if p.seg.markBad(p.block) {
				j.noteDamage(damage{seg: p.seg, block: p.block, err: err})
			}
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
