package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
)

// group is what several Appends write together.
type group struct {
	frames []byte
	at     []entry
	done   bool
	err    error
}

// trouble is why facts are in memory, and since when.
type trouble struct {
	err   error
	since time.Time
	lost  int64 // facts that memory had no room for
}

// Append writes facts, whose ids come from [Journal.Next]. When it returns, the
// operating system has them, so they survive the death of the process; a loss
// of power, as [Options.Sync] says. The facts of one call are found together or
// not at all, so an observation and the decisions that follow from it belong in
// one call.
//
// The error is never about the disk, but about the facts: no id, no body, a
// decision without a reason. Nothing is written then.
func (j *Journal) Append(facts ...fact.Fact) error {
	if len(facts) == 0 {
		return nil
	}
	if j.closed.Load() {
		return ErrClosed
	}
	return j.append(facts)
}

// scratch is what an Append needs until its group is written.
type scratch struct {
	frame, record []byte
	at            []entry
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// append writes facts as one frame.
func (j *Journal) append(facts []fact.Fact) error {
	s, _ := scratches.Get().(*scratch)
	defer scratches.Put(s)
	if err := s.fill(facts); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return j.write(s.frame, s.at)
}

// fill makes one frame of the facts.
func (s *scratch) fill(facts []fact.Fact) error {
	s.frame, s.at = beginFrame(s.frame[:0], frameFacts), s.at[:0]
	for _, f := range facts {
		var h head
		var err error
		if s.record, h, err = appendRecord(s.record[:0], f); err != nil {
			return fmt.Errorf("%s %d of pod %s: %w", kindOf(f), f.ID, f.Pod, err)
		}
		s.frame = binary.AppendUvarint(s.frame, uint64(len(s.record)))
		s.at = append(s.at, entry{head: h, off: int64(len(s.frame)), n: int32(len(s.record))})
		s.frame = append(s.frame, s.record...)
	}
	if len(s.frame) > maxFrame {
		return fmt.Errorf("facts of %d bytes in one Append; at most %d", len(s.frame), maxFrame)
	}
	endFrame(s.frame, 0)
	return nil
}

func kindOf(f fact.Fact) fact.Kind {
	if f.Body == nil {
		return "fact"
	}
	return f.Body.Kind()
}

// write hands a frame to the next group. Whoever gets hold of commit first
// writes the group for all; the others find it done. Where nobody else writes, the
// frame is a group of its own.
func (j *Journal) write(frame []byte, at []entry) error {
	j.pendingMu.Lock()
	g := j.pending
	if g == nil && j.commit.TryLock() {
		j.pendingMu.Unlock()
		defer j.commit.Unlock()
		g = &group{frames: frame, at: at}
		j.writeGroup(g)
		return g.err
	}
	if g == nil {
		g = &group{}
		j.pending = g
	}
	base := int64(len(g.frames))
	g.frames = append(g.frames, frame...)
	for _, e := range at {
		e.off += base
		g.at = append(g.at, e)
	}
	j.pendingMu.Unlock()

	j.commit.Lock()
	defer j.commit.Unlock()
	if !g.done {
		j.pendingMu.Lock()
		j.pending = nil
		j.pendingMu.Unlock()
		j.writeGroup(g)
		g.done = true
	}
	return g.err
}

// writeGroup writes to the disk or, failing that, to memory.
// The caller holds commit.
func (j *Journal) writeGroup(g *group) {
	l := j.current()
	err := l.write(g.frames, g.at)
	if err == nil && j.o.Sync == SyncAlways {
		if err := l.sync(); err != nil {
			j.degrade(err)
		}
	}
	if err != nil {
		j.degrade(err)
		g.err = j.current().write(g.frames, g.at)
	}
	if j.trouble.Load() != nil {
		j.bound()
	} else if l.bytes() >= j.o.SegmentBytes {
		if err := j.beginLog(); err != nil {
			j.degrade(err)
		}
		j.wakeKeeper()
	}
	j.wakeFollowers()
}

// degrade makes memory take the facts. The caller holds commit.
func (j *Journal) degrade(err error) {
	if j.trouble.Load() != nil {
		return
	}
	j.o.Log.Error("journal: cannot write, keeping facts in memory", "dir", j.dir, "error", err)
	j.trouble.Store(&trouble{err: err, since: j.o.Clock()})
	j.replaceLog(&log{data: &memory{}})
}

// bound keeps the memory within its limit. The caller holds commit.
func (j *Journal) bound() {
	n := j.current().shrink(j.o.MemoryBytes)
	if n == 0 {
		return
	}
	t := *j.trouble.Load()
	if t.lost == 0 {
		j.o.Log.Error("journal: memory is full too, dropping the oldest facts", "limit", j.o.MemoryBytes)
	}
	t.lost += int64(n)
	j.trouble.Store(&t)
}

// recover moves the facts from memory to the disk, if it can be written again.
// The caller holds commit.
func (j *Journal) recover() {
	t := j.trouble.Load()
	if t == nil {
		return
	}
	if err := j.moveToDisk(); err != nil {
		if err.Error() != t.err.Error() {
			again := *t
			again.err = err
			j.trouble.Store(&again)
		}
		return
	}
	now := j.o.Clock()
	j.trouble.Store(nil)
	j.o.Log.Info("journal: the disk can be written again", "dir", j.dir, "after", now.Sub(t.since), "lost", t.lost)
	if t.lost > 0 {
		j.lost(t.err.Error(), t.since, now, t.lost)
	}
	j.wakeKeeper()
}

func (j *Journal) moveToDisk() error {
	if !j.loaded {
		if err := j.load(); err != nil {
			return err
		}
	}
	l := j.current()
	m, ok := l.data.(*memory)
	if !ok {
		return errors.New("the log in memory is gone")
	}
	file, err := j.createLog(m.frames)
	if err != nil {
		return err
	}
	l.moveTo(file)
	return nil
}

// lost writes down that facts are missing. The caller holds commit.
func (j *Journal) lost(reason string, from, until time.Time, count int64) {
	now := j.o.Clock()
	f := fact.Fact{ID: j.Next(1), At: now, Seen: now, Body: fact.Lost{
		Source: fact.SourceJournal, Reason: reason, From: from, Until: until, Count: count,
	}}
	var s scratch
	if err := s.fill([]fact.Fact{f}); err != nil {
		j.o.Log.Error("journal: cannot note a gap", "error", err)
		return
	}
	j.writeGroup(&group{frames: s.frame, at: s.at})
}

// Degraded says why facts are kept in memory only; empty while all is well.
func (j *Journal) Degraded() string {
	t := j.trouble.Load()
	if t == nil {
		if err := j.held.slots.trouble(); err != nil {
			return fmt.Sprintf("what is held back from the log is kept in memory: %v", err)
		}
		return ""
	}
	s := fmt.Sprintf("facts are kept in memory since %s: %v", t.since.UTC().Format(time.RFC3339), t.err)
	if t.lost > 0 {
		s += fmt.Sprintf("; %d of them are lost", t.lost)
	}
	return s
}

// syncer makes facts durable and tries a failed disk again.
func (j *Journal) syncer() {
	tick := time.NewTicker(min(j.o.SyncEvery, retryEvery))
	defer tick.Stop()
	var tried, slotsSynced time.Time
	for {
		select {
		case <-j.stop:
			return
		case now := <-tick.C:
			if j.trouble.Load() != nil && now.Sub(tried) >= retryEvery {
				tried = now
				j.commit.Lock()
				j.recover()
				j.commit.Unlock()
			}
		}
		if err := j.syncDue(&slotsSynced); err != nil && !errors.Is(err, os.ErrClosed) {
			j.commit.Lock()
			j.degrade(err)
			j.commit.Unlock()
		}
	}
}

// syncSlotsEvery is longer than SyncEvery because the same blocks are written
// again and again.
const syncSlotsEvery = 30 * time.Second

func (j *Journal) syncDue(slotsSynced *time.Time) error {
	if now := time.Now(); now.Sub(*slotsSynced) >= syncSlotsEvery {
		*slotsSynced = now
		if err := j.held.slots.sync(); err != nil {
			return err
		}
	}
	return j.syncLogs()
}
