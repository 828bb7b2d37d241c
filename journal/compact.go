package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
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
			j.o.Log.Warn("journal: housekeeping failed, it is tried again", "dir", j.dir, "err", err)
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
	data, err := io.ReadAll(io.NewSectionReader(v.data, 0, 1<<62))
	if err != nil {
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

// damage is something that could not be read.
type damage struct {
	err   error
	seg   *segment
	block block // of seg; zero if it is the index that was lost
	log   *log
	path  string
	spans []span // of log
}

// report takes a note of damage; the keeper sees to it.
func (j *Journal) report(d damage) {
	j.damageMu.Lock()
	j.damage = append(j.damage, d)
	j.damageMu.Unlock()
	j.wakeKeeper()
}

// setAside sees to the damage that was found since the last time: the file goes
// to the directory "aside", a fact.Lost says what is missing, and what can be
// read goes on being served.
func (j *Journal) setAside() error {
	j.damageMu.Lock()
	found := j.damage
	j.damage = nil
	j.damageMu.Unlock()

	var errs []error
	rewritten := map[*segment]bool{}
	for _, d := range found {
		j.noteDamage(d)
		if d.seg == nil || rewritten[d.seg] || !slices.Contains(j.segments(), d.seg) {
			continue
		}
		rewritten[d.seg] = true
		name := d.seg.name
		name.version++
		errs = append(errs, j.rewrite(name, []*segment{d.seg}, func(*segment, block) bool { return true }))
	}
	return errors.Join(errs...)
}

// noteDamage keeps a copy of the damaged file and writes the gap down.
func (j *Journal) noteDamage(d damage) {
	path := d.path
	if d.seg != nil {
		path = d.seg.path
	}
	aside := j.keepAside(path)
	j.o.Log.Error("journal: damaged, the rest is served", "err", d.err, "aside", aside)
	lost := fact.Lost{Source: "journal", Reason: d.err.Error()}
	var pod fact.Pod
	switch {
	case d.seg != nil && d.block.count > 0:
		pod = d.block.pod
		lost.From, lost.Until, lost.Count = clock(d.block.from), clock(d.block.to), d.block.count
	case d.log != nil:
		lost.From, lost.Until = around(d.log.view().entries, d.spans)
	}
	now := j.o.Clock()
	f := fact.Fact{ID: j.Next(1), At: now, Seen: now, Pod: pod, Body: lost}
	if err := j.append([]fact.Fact{f}); err != nil {
		j.o.Log.Error("journal: cannot note a gap", "err", err)
	}
}

func clock(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }

// around gives the times of the records before and behind damaged parts.
func around(entries []entry, spans []span) (from, until time.Time) {
	for _, e := range entries {
		if e.off < spans[0].from {
			from = clock(e.end)
		}
		if e.off >= spans[len(spans)-1].to && until.IsZero() {
			until = clock(e.at)
		}
	}
	return from, until
}

// keepAside gives a file a second name in the directory "aside".
func (j *Journal) keepAside(path string) string {
	to := filepath.Join(j.dir, asideDir, filepath.Base(path))
	err := os.MkdirAll(filepath.Dir(to), dirMode)
	if err == nil {
		err = os.Link(path, to)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		j.o.Log.Warn("journal: cannot set a damaged file aside", "path", path, "err", err)
	}
	return to
}

// moveAside takes a file that cannot even be opened out of the way.
func (j *Journal) moveAside(path string) string {
	to := filepath.Join(j.dir, asideDir, filepath.Base(path))
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), dirMode), os.Rename(path, to)); err != nil {
		j.o.Log.Error("journal: cannot set a file aside", "path", path, "err", err)
	}
	return to
}

// boundAside removes the oldest files that were set aside, beyond an eighth of
// the journal's bytes.
func (j *Journal) boundAside() error {
	files, err := os.ReadDir(filepath.Join(j.dir, asideDir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var infos []os.FileInfo
	var total int64
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			infos = append(infos, info)
			total += info.Size()
		}
	}
	slices.SortFunc(infos, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	var errs []error
	for _, info := range infos {
		if total <= j.o.MaxBytes/8 {
			break
		}
		total -= info.Size()
		errs = append(errs, os.Remove(filepath.Join(j.dir, asideDir, info.Name())))
	}
	return errors.Join(errs...)
}
