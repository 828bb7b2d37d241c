package journal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/s2"

	"whylet.dev/whylet/fact"
)

// The file "open" keeps what is held back from the log, in slots that are
// overwritten again and again. A slot has two halves, which are written in
// turn, so that one of them is whole whatever happens to the writer. The half
// with the larger last id is the newer one.
//
// The file is sparse: of a half, the blocks that were written take space.
const slotBytes = 32 << 10 // of a half

// maxImage bounds what a slot holds before it is packed, and so what a damaged length
// can make a reader allocate.
const maxImage = 1 << 20

// slot is a place in the file. The zero value has none yet.
type slot struct {
	no   int // from 1
	half int // the one to be written next
}

func (s slot) offset(half int) int64 {
	return int64(s.no-1)*2*slotBytes + int64(half)*slotBytes
}

type slots struct {
	mu    sync.Mutex
	f     *os.File
	n     int   // slots in the file
	free  []int // of these, the unused ones
	left  []*Slot
	dirty bool
	err   error // why the latest save failed, nil if it did not
}

// load opens the file and reads what was left in it. It gives the largest id.
func (s *slots) load(dir string) (fact.ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(dir, slotsFile), os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		s.err = err
		return 0, err
	}
	left, n, err := readSlots(f)
	if err != nil {
		f.Close()
		s.err = err
		return 0, err
	}
	s.f, s.n, s.left = f, n, left
	var last fact.ID
	taken := map[int]bool{}
	for _, l := range left {
		taken[l.at.no] = true
		for _, p := range l.facts {
			last = max(last, p.Fact.ID)
		}
	}
	for no := range n {
		if !taken[no+1] {
			s.free = append(s.free, no+1)
		}
	}
	return last, nil
}

// readSlots gives the newer half of every slot in use, and the number of slots.
func readSlots(f io.ReaderAt) (left []*Slot, n int, err error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<62))
	if err != nil {
		return nil, 0, err
	}
	n = (len(data) + 2*slotBytes - 1) / (2 * slotBytes)
	data = append(data, make([]byte, n*2*slotBytes-len(data))...)
	for no := 1; no <= n; no++ {
		a, b := slot{no: no, half: 1}, slot{no: no, half: 0}
		first, second := readHalf(data[a.offset(0):]), readHalf(data[a.offset(1):])
		switch {
		case len(first) == 0 && len(second) == 0:
			continue
		case lastID(first) > lastID(second):
			left = append(left, &Slot{a, first})
		default:
			left = append(left, &Slot{b, second})
		}
	}
	return left, n, nil
}

func readHalf(b []byte) []*Packed {
	body, _, state := readFrame(b[:slotBytes])
	if state != frameGood {
		return nil
	}
	kind, body := body[0], body[1:]
	if kind == framePacked {
		n, err := s2.DecodedLen(body)
		if err != nil || n > maxImage {
			return nil
		}
		if body, err = s2.Decode(nil, body); err != nil {
			return nil
		}
	} else if kind != frameFacts { // the form of the first journals
		return nil
	}
	var fs []*Packed
	var bad error
	err := eachRecord(body, newNames(), func(_, _ int, r record) {
		f, err := r.fact("")
		fs, bad = append(fs, &Packed{Fact: f}), errors.Join(bad, err)
	})
	if err != nil || bad != nil {
		return nil
	}
	return fs
}

func lastID(fs []*Packed) fact.ID {
	if len(fs) == 0 {
		return 0
	}
	return fs[len(fs)-1].Fact.ID
}

// save writes the image of what a slot holds. Where it cannot, that is in memory only
// until it is replaced; see [Journal.Degraded].
func (s *slots) save(at *slot, image []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return
	}
	if at.no == 0 {
		at.no = s.take()
	}
	if _, err := s.f.WriteAt(image, at.offset(at.half)); err != nil {
		s.err = err
		return
	}
	s.err = nil
	s.dirty = true
	at.half = 1 - at.half
}

func (s *slots) take() int {
	if n := len(s.free); n > 0 {
		no := s.free[n-1]
		s.free = s.free[:n-1]
		return no
	}
	s.n++
	return s.n
}

// clear frees a slot, the older half first: what is left if the process dies in
// between is the newer one, whose facts are all in the log.
func (s *slots) clear(at *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil || at.no == 0 {
		return
	}
	var zero [frameHeader]byte
	if _, err := s.f.WriteAt(zero[:], at.offset(at.half)); err != nil {
		s.err = err
	}
	if _, err := s.f.WriteAt(zero[:], at.offset(1-at.half)); err != nil {
		s.err = err
	}
	s.dirty = true
	s.free = append(s.free, at.no)
	*at = slot{}
}

func (s *slots) takeLeft() []*Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.left
	s.left = nil
	return left
}

func (s *slots) stillLeft() []*Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

func (s *slots) sync() error {
	s.mu.Lock()
	f, dirty := s.f, s.dirty
	s.dirty = false
	s.mu.Unlock()
	if f == nil || !dirty {
		return nil
	}
	return syncData(f)
}

func (s *slots) trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
