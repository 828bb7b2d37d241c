package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// SyncPolicy says when a fact survives a loss of power. The death of the
// process alone it survives in either case.
type SyncPolicy int

const (
	// SyncPeriodic makes facts durable within [Options.SyncEvery] and the time
	// that one fdatasync takes.
	SyncPeriodic SyncPolicy = iota
	// SyncAlways makes them durable before Append returns. Concurrent Appends
	// share one fdatasync.
	SyncAlways
)

// Options of a journal. The zero value is good for a node.
type Options struct {
	// MaxBytes bounds the sealed segments on disk; 0: 256 MiB. The log being
	// written comes on top, and so do facts that live pods still need.
	MaxBytes int64
	// MaxAge is how long a fact is kept, if there is room; 0: 30 days.
	MaxAge time.Duration
	// SegmentBytes is the size at which a log is sealed; 0: 8 MiB.
	SegmentBytes int64
	// MemoryBytes bounds what is kept while the disk cannot be written; 0: 32 MiB.
	MemoryBytes int64

	Sync SyncPolicy
	// SyncEvery is the period of fdatasync under SyncPeriodic; 0: 200 ms.
	SyncEvery time.Duration

	// Live says whether a pod still needs its latest checkpoint and what follows
	// it. It is called from a goroutine of the journal. Nil: no pod is live; see
	// also [Journal.SetLive].
	Live func(types.UID) bool

	// Clock gives the wall time; nil: time.Now.
	Clock func() time.Time
	Log   *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 256 << 20
	}
	if o.MaxAge <= 0 {
		o.MaxAge = 30 * 24 * time.Hour
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = 8 << 20
	}
	if o.MemoryBytes <= 0 {
		o.MemoryBytes = 32 << 20
	}
	if o.SyncEvery <= 0 {
		o.SyncEvery = 200 * time.Millisecond
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

const (
	// idGap is skipped after an end that was not clean: facts may have been seen
	// by somebody, though a loss of power undid the writing of them.
	idGap = 1 << 16
	// retryEvery is how often a disk that failed is tried again.
	retryEvery = time.Second
	// keepEvery is how often age is looked at, and sealAge the age at which even
	// a log that is not full is sealed, so that it becomes small.
	keepEvery = 10 * time.Minute
	sealAge   = 24 * time.Hour
)

// checkpointKind is the one kind that retention must know.
var checkpointKind = fact.Checkpoint{}.Kind()

// ErrLocked means that another process writes this journal.
var ErrLocked = errors.New("journal is written by another process")

// ErrClosed means that the journal was closed before.
var ErrClosed = errors.New("journal is closed")

// Journal writes and answers. All methods may be called from many goroutines.
type Journal struct {
	dir string
	o   Options

	next   atomic.Uint64 // the next free id
	live   atomic.Pointer[func(types.UID) bool]
	closed atomic.Bool

	// mu guards which segments and logs there are. The last log is being written.
	mu      sync.RWMutex
	segs    []*segment
	logs    []*log
	lastSeq uint64

	// commit is held while the last log is written or replaced. pending gathers
	// what is to be written next.
	commit    sync.Mutex
	pendingMu sync.Mutex
	pending   *group
	trouble   atomic.Pointer[trouble]
	loaded    bool // the directory was read; guarded by commit
	lock      *os.File

	held held

	keeping  sync.Mutex // held for housekeeping
	damageMu sync.Mutex
	damage   []damage

	followersMu sync.Mutex
	followers   map[chan struct{}]struct{}

	kick    chan struct{} // wakes the keeper
	stop    chan struct{}
	workers sync.WaitGroup
}

// Open opens the journal in dir, which is made if needed (0700), and recovers
// what an earlier process left: a torn tail is cut, what is damaged is set
// aside and reported by a fact.Lost of source "journal".
//
// A directory that cannot be read or written is no error: the journal then
// starts in memory, says so by [Journal.Degraded], and moves to the disk when
// it can. The only errors are [ErrLocked] and an empty dir.
func Open(dir string, o Options) (*Journal, error) {
	if dir == "" {
		return nil, errors.New("journal: no directory given")
	}
	j := &Journal{
		dir: dir, o: o.withDefaults(),
		followers: map[chan struct{}]struct{}{},
		kick:      make(chan struct{}, 1), stop: make(chan struct{}),
	}
	j.SetLive(o.Live)
	j.next.Store(1)
	j.held.all = map[*Slot]struct{}{}
	err := j.load()
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("opening %s: %w; stop that agent first", dir, err)
	}
	if err == nil {
		err = j.continueLog()
	}
	if err != nil {
		if !j.loaded {
			// Nobody knows which ids the directory holds, so ours begin above all
			// that can be there. They stay below 2^53, for the sake of JSON.
			j.next.Store(uint64(max(j.o.Clock().Unix(), 1)) << 20)
		}
		j.commit.Lock()
		j.degrade(err)
		j.commit.Unlock()
	}
	j.workers.Go(j.syncer)
	j.workers.Go(j.keeper)
	j.wakeKeeper()
	return j, nil
}

// SetLive replaces [Options.Live].
func (j *Journal) SetLive(live func(types.UID) bool) {
	if live == nil {
		live = func(types.UID) bool { return false }
	}
	j.live.Store(&live)
}

// Next reserves n consecutive ids and gives the first.
func (j *Journal) Next(n int) fact.ID {
	return fact.ID(j.next.Add(uint64(max(n, 0))) - uint64(max(n, 0)))
}

// load makes and locks the directory and reads what is in it.
func (j *Journal) load() error {
	if err := os.MkdirAll(j.dir, dirMode); err != nil {
		return err
	}
	if err := j.takeLock(); err != nil {
		return err
	}
	l, err := list(j.dir)
	if err != nil {
		return err
	}
	for _, name := range append(l.tmp, l.obsolete...) {
		if err := os.Remove(filepath.Join(j.dir, name)); err != nil {
			j.o.Log.Warn("journal: cannot remove a leftover", "file", name, "error", err)
		}
	}
	segs := j.loadSegments(l.segments)
	logs, clean := j.loadLogs(l.logs)
	empty := len(l.segments)+len(l.logs) == 0

	j.mu.Lock()
	j.segs = segs
	j.logs = append(logs, j.logs...)
	j.mu.Unlock()
	j.reserve(clean, empty)
	j.loaded = true
	return nil
}

// takeLock keeps a second writer out. The lock ends with the process.
func (j *Journal) takeLock() error {
	if j.lock != nil {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(j.dir, lockFile), os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return err
	}
	if err := lock(f); err != nil {
		f.Close()
		if errors.Is(err, ErrLocked) {
			return err
		}
		return fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	j.lock = f
	return nil
}

func (j *Journal) loadSegments(found []segmentName) []*segment {
	var segs []*segment
	for _, n := range found {
		path := filepath.Join(j.dir, n.String())
		s, err := openSegment(path, n)
		if s == nil {
			j.o.Log.Error("journal: cannot open a segment", "path", path, "error", err, "aside", j.moveAside(path))
			continue
		}
		if err != nil {
			j.report(damage{seg: s, err: err})
		}
		segs = append(segs, s)
		j.lastSeq = max(j.lastSeq, n.last)
	}
	return segs
}

// loadLogs recovers the logs. clean is the next free id if the newest of them
// was closed as it should be, else 0.
func (j *Journal) loadLogs(found []uint64) (logs []*log, clean fact.ID) {
	n := newNames()
	for _, seq := range found {
		path := filepath.Join(j.dir, logName(seq))
		f, data, s, err := readLogFile(path, os.O_RDWR, n)
		if err != nil {
			// It must not stay: a later segment's name could cover its number.
			j.o.Log.Error("journal: cannot read a log", "path", path, "error", err, "aside", j.moveAside(path))
			continue
		}
		if s.torn && len(s.bad) == 0 {
			j.o.Log.Info("journal: cutting a torn tail", "path", path, "bytes", int64(len(data))-s.end)
		}
		l := &log{seq: seq, data: &fileBacking{f: f, end: s.end}, entries: s.entries, unsynced: true}
		if len(s.bad) > 0 {
			l.data = &fileBacking{f: f, end: int64(len(data))}
			j.report(damage{log: l, path: path, spans: s.bad, err: &CorruptError{Path: path, Err: fmt.Errorf("%d damaged parts", len(s.bad))}})
		}
		l.damaged = len(s.bad) > 0
		logs = append(logs, l)
		clean = s.closed
		j.lastSeq = max(j.lastSeq, seq)
	}
	return logs, clean
}

// reserve puts the next free id behind all that were given.
func (j *Journal) reserve(clean fact.ID, empty bool) {
	last := fact.ID(0)
	for _, s := range j.segs {
		last = max(last, s.maxID())
	}
	for _, l := range j.logs {
		for _, e := range l.entries {
			last = max(last, e.id)
		}
	}
	last = max(last, j.held.load(j))
	next := uint64(last) + 1
	switch {
	case clean > last:
		next = uint64(clean)
	case !empty:
		next += idGap
	}
	j.next.Store(max(next, j.next.Load()))
}

// continueLog goes on writing the newest log if it is sound and not full, or
// begins a new one.
func (j *Journal) continueLog() error {
	if n := len(j.logs); n > 0 {
		l := j.logs[n-1]
		file, ok := l.data.(*fileBacking)
		if ok && !l.damaged && file.end >= int64(len(logMagic)) && file.end < j.o.SegmentBytes {
			return file.f.Truncate(file.end)
		}
	}
	return j.beginLog()
}

// beginLog makes a new log the one that is written.
func (j *Journal) beginLog() error {
	l, err := j.createLog(nil)
	if err != nil {
		return err
	}
	j.replaceLog(l)
	return nil
}

// createLog makes the file of the next log, with the given frames in it.
func (j *Journal) createLog(frames [][]byte) (*log, error) {
	seq := j.lastSeq + 1
	f, err := os.OpenFile(filepath.Join(j.dir, logName(seq)), os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
	if err != nil {
		return nil, err
	}
	b := &fileBacking{f: f}
	_, err = b.append([]byte(logMagic))
	for _, frame := range frames {
		if err == nil {
			_, err = b.append(frame)
		}
	}
	if err == nil {
		err = errors.Join(b.sync(), syncDir(j.dir))
	}
	if err != nil {
		f.Close()
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	j.lastSeq = seq
	return &log{seq: seq, data: b}, nil
}

// replaceLog makes l the one that is written.
func (j *Journal) replaceLog(l *log) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.logs); n > 0 {
		old := j.logs[n-1]
		old.mu.Lock()
		old.next = l
		old.mu.Unlock()
	}
	j.logs = append(j.logs, l)
}

// current is the log that is written. The caller holds commit.
func (j *Journal) current() *log {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.logs[len(j.logs)-1]
}

// Sync makes everything that was appended survive a loss of power. It fails
// while facts are in memory only.
func (j *Journal) Sync() error {
	err := errors.Join(j.held.slots.sync(), j.syncLogs())
	if t := j.trouble.Load(); t != nil {
		err = errors.Join(err, t.err)
	}
	return err
}

func (j *Journal) syncLogs() error {
	j.mu.RLock()
	logs := j.logs
	j.mu.RUnlock()
	var errs []error
	for _, l := range logs {
		errs = append(errs, l.sync())
	}
	return errors.Join(errs...)
}

// Close makes all durable and ends; what is held stays held. Facts that could not reach
// the disk are lost, and the error says so.
func (j *Journal) Close() error {
	if j.closed.Swap(true) {
		return ErrClosed
	}
	close(j.stop)
	j.workers.Wait()
	j.commit.Lock()
	defer j.commit.Unlock()
	j.recover()
	var err error
	if t := j.trouble.Load(); t != nil {
		err = fmt.Errorf("closing the journal in %s: its latest facts were in memory only: %w", j.dir, t.err)
	} else {
		err = errors.Join(j.writeClosed(), j.Sync())
	}
	if j.lock != nil {
		err = errors.Join(err, j.lock.Close())
	}
	return err
}

// writeClosed notes a clean end, so that the next start need not skip ids.
func (j *Journal) writeClosed() error {
	b := binary.AppendUvarint(beginFrame(nil, frameClosed), j.next.Load())
	endFrame(b, 0)
	return j.current().write(b, nil)
}
