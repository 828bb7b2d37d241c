package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"

	"whylet.dev/whylet/fact"
)

// Slot is a place for facts that are held back from the log, because they may still be
// replaced by others. They are in the answers, and in a file of their own (slots.go), so
// they survive the process as every other fact does; a loss of power they survive within
// half a minute. The zero value holds nothing. A Slot belongs to one journal, and must not
// be copied.
type Slot struct {
	at    slot
	facts []*Packed
}

// Facts are those that it holds, by id. It may not be called while a [Change] with the
// slot is being made.
func (s *Slot) Facts() []*Packed { return s.facts }

// Packed is a fact that may be held. From [Pack] it has its record with it, and is encoded
// once, however often it is held.
type Packed struct {
	Fact   fact.Fact
	record []byte
}

// Pack encodes a fact. The error is as that of [Journal.Append].
func Pack(f fact.Fact) (*Packed, error) {
	s, _ := scratches.Get().(*scratch)
	defer scratches.Put(s)
	var err error
	if s.record, _, err = appendRecord(s.record[:0], f); err != nil {
		return nil, fmt.Errorf("journal: %s %d of pod %s: %w", kindOf(f), f.ID, f.Pod, err)
	}
	return &Packed{f, bytes.Clone(s.record)}, nil
}

// Change is a step from facts that are held to others. Who asks sees all of it or nothing.
type Change struct {
	// Write goes to the log, as by one [Journal.Append].
	Write []fact.Fact
	// Free are slots whose facts are held no more: they are in Write, or in others.
	Free []*Slot
	Hold []Hold
}

// Hold is what a slot is to hold in place of what it holds: some facts by id. Where they are
// too large to be held, they go to the log, and the slot holds nothing.
type Hold struct {
	Slot  *Slot
	Facts []*Packed
}

// held is all that is held back from the log.
type held struct {
	mu    sync.Mutex // taken before Journal.commit
	all   map[*Slot]struct{}
	slots slots
	// record, packing and image are used again for each Hold.
	record, packing, image []byte
}

// Change makes a change. The error is as that of [Journal.Append]; where Write has one,
// nothing is changed.
func (j *Journal) Change(c Change) error {
	if j.closed.Load() {
		return ErrClosed
	}
	h := &j.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(c.Write) > 0 {
		if err := j.append(c.Write); err != nil {
			return err
		}
	}
	for _, s := range c.Free {
		h.free(s)
	}
	for _, hold := range c.Hold {
		fits, err := h.makeImage(hold.Facts)
		if err != nil {
			return err
		}
		if fits {
			h.slots.save(&hold.Slot.at, h.image)
			hold.Slot.facts = hold.Facts
			h.all[hold.Slot] = struct{}{}
			continue
		}
		h.free(hold.Slot)
		large := make([]fact.Fact, 0, len(hold.Facts))
		for _, p := range hold.Facts {
			large = append(large, p.Fact)
		}
		if err := j.append(large); err != nil {
			return err
		}
	}
	return nil
}

func (h *held) free(s *Slot) {
	h.slots.clear(&s.at)
	s.facts = nil
	delete(h.all, s)
}

// makeImage makes image the facts as one frame; false where they are too large. It is
// packed because it is written again and again, and then fits into one block of the disk.
func (h *held) makeImage(facts []*Packed) (fits bool, err error) {
	b := h.packing[:0]
	for _, p := range facts {
		record := p.record
		if record == nil {
			if h.record, _, err = appendRecord(h.record[:0], p.Fact); err != nil {
				return false, fmt.Errorf("journal: %w", err)
			}
			record = h.record
		}
		b = append(binary.AppendUvarint(b, uint64(len(record))), record...)
	}
	h.packing = b
	if len(b) > maxImage {
		return false, nil
	}
	image := slices.Grow(beginFrame(h.image[:0], framePacked), s2.MaxEncodedLen(len(b)))
	h.image = image[:len(image)+len(s2.Encode(image[len(image):], b))]
	endFrame(h.image, 0)
	return len(h.image) <= slotBytes, nil
}

// Left gives what an earlier process held, each slot once. It is held on until it is freed:
// whoever knows what it is looks whether it reached the log meanwhile. After an end that
// was not clean some of it may have. What was left in a directory that could not be read
// comes when it can.
func (j *Journal) Left() []*Slot {
	j.held.mu.Lock()
	defer j.held.mu.Unlock()
	left := j.held.slots.takeLeft()
	for _, s := range left {
		j.held.all[s] = struct{}{}
	}
	return left
}

// open gives the facts that are held of those pods that match.
func (h *held) open(match func(fact.Pod) bool) []fact.Fact {
	h.mu.Lock()
	defer h.mu.Unlock()
	var fs []fact.Fact
	add := func(s *Slot) {
		for _, p := range s.facts {
			if match(p.Fact.Pod) {
				fs = append(fs, p.Fact)
			}
		}
	}
	for s := range h.all {
		add(s)
	}
	for _, s := range h.slots.stillLeft() {
		add(s)
	}
	return fs
}

// load reads what an earlier process held and gives the largest id in it.
func (h *held) load(j *Journal) fact.ID {
	last, err := h.slots.load(j.dir)
	if err != nil {
		j.o.Log.Warn("journal: cannot hold facts on disk", "error", err)
	}
	return last
}
