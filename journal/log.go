package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"sync"

	"whylet.dev/whylet/fact"
)

const logMagic = "whylog1\n"

// entry is a record's place in a log. off and n bound the record itself,
// without its length.
type entry struct {
	head
	off int64
	n   int32
}

// log takes facts in the order of writing. It lies in a file or, while the disk
// cannot be written, in memory.
//
// Only the committer (who holds Journal.commit) writes; the others read under mu.
type log struct {
	seq uint64 // its number in file names; 0 in memory

	mu       sync.RWMutex
	data     backing
	entries  []entry
	dropped  int  // entries that memory had no room for
	next     *log // the one that took over, nil while this one is written
	unsynced bool
	damaged  bool // set before anybody else sees the log
}

// backing is where a log's bytes lie.
type backing interface {
	io.ReaderAt
	// append adds b as a whole or, on an error, not at all, and gives the offset
	// at which b begins.
	append(b []byte) (int64, error)
	sync() error
	size() int64
}

// logView is a log as it was at one moment. It stays readable whatever becomes
// of the log.
type logView struct {
	data    io.ReaderAt
	entries []entry
	dropped int // entries that were before these
}

func (l *log) view() logView {
	l.mu.RLock()
	defer l.mu.RUnlock()
	v := logView{data: l.data, entries: l.entries, dropped: l.dropped}
	if m, ok := l.data.(*memory); ok {
		v.data = m.snapshot()
	}
	return v
}

// write appends frames whose records are at the given places, relative to the
// start of frames.
func (l *log) write(frames []byte, at []entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	off, err := l.data.append(frames)
	if err != nil {
		return err
	}
	for i := range at {
		at[i].off += off
	}
	l.entries = append(l.entries, at...)
	l.unsynced = true
	return nil
}

func (l *log) bytes() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.data.size()
}

// sync makes what was written so far survive a loss of power.
func (l *log) sync() error {
	l.mu.Lock()
	data, need := l.data, l.unsynced
	l.unsynced = false
	l.mu.Unlock()
	if !need {
		return nil
	}
	err := data.sync()
	if err != nil {
		l.mu.Lock()
		l.unsynced = true
		l.mu.Unlock()
	}
	return err
}

// fileBacking writes at an offset of its own, so that what a failed write left
// behind is overwritten by the next.
type fileBacking struct {
	f   *os.File
	end int64
}

func (b *fileBacking) ReadAt(p []byte, off int64) (int, error) { return b.f.ReadAt(p, off) }
func (b *fileBacking) size() int64                             { return b.end }

func (b *fileBacking) append(p []byte) (int64, error) {
	off := b.end
	if _, err := b.f.WriteAt(p, off); err != nil {
		// Give a full disk its blocks back. Should that fail too, the rest of the
		// frame is a torn tail to every reader.
		return 0, errors.Join(err, b.f.Truncate(off))
	}
	b.end += int64(len(p))
	return off, nil
}

// memory holds frames while no file can. Offsets grow for ever; base is the
// first that is still there.
type memory struct {
	frames [][]byte
	starts []int64
	base   int64
	end    int64
}

func (m *memory) size() int64 { return m.end - m.base }
func (m *memory) sync() error { return nil }

func (m *memory) append(p []byte) (int64, error) {
	off := m.end
	m.frames = append(m.frames, bytes.Clone(p))
	m.starts = append(m.starts, off)
	m.end += int64(len(p))
	return off, nil
}

// snapshot is for readers: the slices may grow behind it, but not change.
func (m *memory) snapshot() *memory {
	c := *m
	return &c
}

// ReadAt reads within one frame, which is all that records need.
func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	i := sort.Search(len(m.starts), func(i int) bool { return m.starts[i] > off }) - 1
	if i < 0 || off >= m.starts[i]+int64(len(m.frames[i])) {
		return 0, io.EOF
	}
	n := copy(p, m.frames[i][off-m.starts[i]:])
	if n < len(p) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

// shrink drops the oldest frames until at most limit bytes are left.
func (m *memory) shrink(limit int64) {
	for m.size() > limit && len(m.frames) > 1 {
		m.base += int64(len(m.frames[0]))
		m.frames, m.starts = m.frames[1:], m.starts[1:]
	}
}

// scan is what was found in the file of a log.
type scan struct {
	entries []entry
	end     int64   // behind the last frame that is whole, before anything bad
	next    int64   // behind everything but a torn frame
	torn    bool    // a frame that was being written when its writer died follows
	bad     []span  // what is damaged
	closed  fact.ID // the next free id, if the last frame says it was closed; else 0
}

// span is a damaged part of a file.
type span struct {
	from, to int64
}

// scanFrames finds the records in the bytes of a log from offset base on, which
// is 0 or behind a frame. It passes over damage: what follows is found by the
// checksums of frame headers.
func scanFrames(data []byte, base int64, n *names) scan {
	s := scan{end: base, next: base}
	off := 0
	if base == 0 {
		if len(data) < len(logMagic) {
			s.torn = len(data) > 0
			return s
		}
		off = len(logMagic)
		if string(data[:off]) != logMagic {
			s.bad = append(s.bad, span{0, int64(off)})
		} else {
			s.end = int64(off)
		}
	}
	for off < len(data) {
		body, size, state := readFrame(data[off:])
		if state == frameGood && s.take(body, base+int64(off), n) {
			off += size
			if len(s.bad) == 0 {
				s.end = base + int64(off)
			}
			continue
		}
		after := nextFrame(data, off+1)
		if after == len(data) && (state == frameTorn || allZero(data[off:])) {
			s.torn = true
			break
		}
		s.bad = append(s.bad, span{base + int64(off), base + int64(after)})
		off = after
		s.closed = 0
	}
	s.next = base + int64(off)
	if s.torn || len(s.bad) > 0 {
		s.closed = 0
	}
	return s
}

// take adds a frame's records; it reports whether they were what they should be.
func (s *scan) take(body []byte, off int64, n *names) bool {
	base := off + frameHeader + 1
	switch body[0] {
	case frameFacts:
		before := len(s.entries)
		err := eachRecord(body[1:], n, func(at, size int, r record) {
			s.entries = append(s.entries, entry{head: r.head, off: base + int64(at), n: int32(size)})
		})
		if err != nil {
			s.entries = s.entries[:before]
			return false
		}
		s.closed = 0
		return true
	case frameClosed:
		id, k := binary.Uvarint(body[1:])
		s.closed = fact.ID(id)
		return k > 0
	}
	return false
}

// nextFrame finds the next offset from which a good frame can be read, or the
// length of data.
func nextFrame(data []byte, from int) int {
	for off := from; off+frameHeader < len(data); off++ {
		if _, _, state := readFrame(data[off:]); state == frameGood {
			return off
		}
	}
	return len(data)
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// readLogFile scans the log in a file, which it gives back open.
func readLogFile(path string, flag int, n *names) (*os.File, []byte, scan, error) {
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, nil, scan{}, err
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<62))
	if err != nil {
		f.Close()
		return nil, nil, scan{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return f, data, scanFrames(data, 0, n), nil
}

func (b *fileBacking) sync() error { return syncData(b.f) }

// shrink drops the oldest facts of a log in memory, and gives their number.
func (l *log) shrink(limit int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok := l.data.(*memory)
	if !ok || m.size() <= limit {
		return 0
	}
	m.shrink(limit)
	n := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].off >= m.base })
	l.entries = l.entries[n:]
	l.dropped += n
	return n
}

// moveTo puts a log that was in memory into the file of another, which holds
// the same frames.
func (l *log) moveTo(file *log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	shift := int64(len(logMagic))
	if m, ok := l.data.(*memory); ok {
		shift -= m.base
	}
	// A copy, because questions under way hold the old slice and the old bytes.
	moved := slices.Clone(l.entries)
	for i := range moved {
		moved[i].off += shift
	}
	l.seq, l.data, l.entries, l.unsynced = file.seq, file.data, moved, false
}
