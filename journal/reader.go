package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
)

// Reader reads a journal's directory while another process writes it, or after.
// It takes no lock and writes nothing. It may be used from many goroutines.
type Reader struct {
	dir string

	mu     sync.Mutex
	segs   map[segmentName]*segment
	logs   map[uint64]*readLog
	damage []error
}

// readLog is a log as far as it was read.
type readLog struct {
	f       *os.File
	end     int64
	entries []entry
	names   *names
	torn    int64 // bytes behind end that are of a frame which is not whole
}

// DirBelow returns where the journal is below a data directory: node/journal of a node of
// Whylet's own, journal of an agent beside another kubelet.
func DirBelow(dataDir string) string {
	agents := filepath.Join(dataDir, "journal")
	if info, err := os.Stat(agents); err == nil && info.IsDir() {
		return agents
	}
	return filepath.Join(dataDir, "node", "journal")
}

// OpenBelow opens the journal below a data directory for reading. The error names the directory if it has none.
func OpenBelow(dataDir string) (*Reader, error) {
	r, err := OpenReader(DirBelow(dataDir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s has no journal, neither of whylet nor of whylet-observe; name the directory with --data-dir: %w", dataDir, err)
	}
	return r, err
}

// OpenReader opens the journal in dir for reading.
func OpenReader(dir string) (*Reader, error) {
	r := &Reader{dir: dir, segs: map[segmentName]*segment{}, logs: map[uint64]*readLog{}}
	if _, err := r.view(); err != nil {
		return nil, fmt.Errorf("reading the journal in %s: %w", dir, err)
	}
	return r, nil
}

// Query is as [Journal.Query]. Each call looks anew at what is there.
func (r *Reader) Query(q Query) iter.Seq2[fact.Fact, error] {
	return func(yield func(fact.Fact, error) bool) {
		v, err := r.view()
		if err != nil {
			yield(fact.Fact{}, err)
			return
		}
		if q.Written {
			v.open = nil
		}
		v.each(q, yield)
	}
}

// Get is as [Journal.Get].
func (r *Reader) Get(id fact.ID) (fact.Fact, bool, error) { return getFrom(r, id) }

// Pods is as [Journal.Pods]; nil if the directory cannot be read.
func (r *Reader) Pods() []PodSpan {
	v, err := r.view()
	if err != nil {
		return nil
	}
	return v.pods()
}

// Stats is as [Journal.Stats]. What the writer has in memory is not seen.
func (r *Reader) Stats() Stats {
	v, err := r.view()
	if err != nil {
		return Stats{Degraded: err.Error()}
	}
	return v.stats()
}

// Damage gives what could not be read so far.
func (r *Reader) Damage() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.damage)
}

// pollEvery is how often Tail looks for new facts.
const pollEvery = 200 * time.Millisecond

// Tail is as [Journal.Tail], seen from another process: new facts come within
// a fifth of a second.
func (r *Reader) Tail(ctx context.Context, from fact.ID) iter.Seq2[fact.Fact, error] {
	return func(yield func(fact.Fact, error) bool) {
		// Ids of different pods may be written slightly out of order, so some that
		// were seen are asked for again.
		seen := map[fact.ID]bool{}
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		for {
			var last fact.ID
			for f, err := range r.Query(Query{FromID: from, Written: true}) {
				if err == nil && seen[f.ID] {
					continue
				}
				if ctx.Err() != nil || !yield(f, err) {
					return
				}
				seen[f.ID] = true
				last = max(last, f.ID)
			}
			if last > lookBack && last-lookBack > from {
				from = last - lookBack
				for id := range seen {
					if id < from {
						delete(seen, id)
					}
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}
}

// lookBack is how many ids behind the newest one Tail still expects late ones.
const lookBack = 4096

// view reads what is new. The writer may seal and merge meanwhile: a name that
// vanished between listing and opening has the directory listed again.
func (r *Reader) view() (view, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for range 20 {
		var v view
		if v, err = r.tryView(); err == nil || !errors.Is(err, os.ErrNotExist) {
			return v, err
		}
		if _, missing := os.Stat(r.dir); missing != nil {
			return view{}, missing
		}
	}
	return view{}, err
}

func (r *Reader) tryView() (view, error) {
	// What is held comes first: what is written meanwhile is seen twice, not missed.
	open := r.held()
	l, err := r.stableList()
	if err != nil {
		return view{}, err
	}
	v := view{report: r.note}
	segs := map[segmentName]*segment{}
	for _, n := range l.segments {
		s := r.segs[n]
		if s == nil {
			s, err = openSegment(filepath.Join(r.dir, n.String()), n)
			if s == nil {
				return view{}, err
			}
			if err != nil {
				r.damage = append(r.damage, err)
			}
		}
		segs[n] = s
		v.segs = append(v.segs, s)
	}
	logs := map[uint64]*readLog{}
	for _, seq := range l.logs {
		log, err := r.readLog(seq)
		if err != nil {
			return view{}, err
		}
		logs[seq] = log
		v.logs = append(v.logs, logView{data: log.f, entries: log.entries})
	}
	r.segs, r.logs = segs, logs
	v.open = open
	return v, nil
}

// stableList lists until two listings agree: one alone may miss a name that
// came and see none that it replaced.
func (r *Reader) stableList() (listing, error) {
	before, err := list(r.dir)
	for range 20 {
		if err != nil {
			return listing{}, err
		}
		var again listing
		again, err = list(r.dir)
		if slices.Equal(before.logs, again.logs) && slices.Equal(before.segments, again.segments) {
			break
		}
		before = again
	}
	return before, err
}

// readLog reads on from where the log ended the last time.
func (r *Reader) readLog(seq uint64) (*readLog, error) {
	l := r.logs[seq]
	if l == nil {
		f, err := os.Open(filepath.Join(r.dir, logName(seq)))
		if err != nil {
			return nil, err
		}
		l = &readLog{f: f, names: newNames()}
	}
	data, err := io.ReadAll(io.NewSectionReader(l.f, l.end, 1<<62))
	if err != nil {
		return nil, err
	}
	s := scanFrames(data, l.end, l.names)
	for _, bad := range s.bad {
		r.damage = append(r.damage, &CorruptError{Path: l.f.Name(), Err: fmt.Errorf("bytes %d to %d", bad.from, bad.to)})
	}
	torn := int64(0)
	if rest := data[s.next-l.end:]; s.torn && !allZero(rest) {
		torn = int64(len(rest))
	}
	// The slice is never written in place: earlier views hold its beginning.
	return &readLog{f: l.f, end: s.next, entries: append(slices.Clip(l.entries), s.entries...), names: l.names, torn: torn}, nil
}

// Unfinished is how many bytes at the ends of logs are of records whose writing was not finished: a
// writer died there, or the file was cut. What is being written right now does not count.
func (r *Reader) Unfinished() int64 {
	last := int64(0)
	for range 2 { // a writer that is at it is done in between
		if _, err := r.view(); err != nil {
			return 0
		}
		r.mu.Lock()
		n := int64(0)
		for _, l := range r.logs {
			n += l.torn
		}
		r.mu.Unlock()
		if n == 0 {
			return 0
		}
		last = n
	}
	return last
}

func (r *Reader) held() []fact.Fact {
	f, err := os.Open(filepath.Join(r.dir, slotsFile))
	if err != nil {
		return nil
	}
	defer f.Close()
	left, _, err := readSlots(f)
	if err != nil {
		return nil
	}
	var fs []fact.Fact
	for _, s := range left {
		for _, p := range s.facts {
			fs = append(fs, p.Fact)
		}
	}
	return fs
}

// note hears of damaged blocks, while Query runs.
func (r *Reader) note(d damage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.damage = append(r.damage, d.err)
}

// Close gives the files back. Questions under way may fail.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, s := range r.segs {
		errs = append(errs, s.f.Close())
	}
	for _, l := range r.logs {
		errs = append(errs, l.f.Close())
	}
	r.segs, r.logs = map[segmentName]*segment{}, map[uint64]*readLog{}
	return errors.Join(errs...)
}
