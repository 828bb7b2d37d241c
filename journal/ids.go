package journal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"whylet.dev/whylet/fact"
)

// A segment is sorted by pod, and a fact is asked for by its id alone, too. So
// each segment has a list of its facts, by id, with the numbers of their blocks:
// pairs of a uvarint (how much larger than the id before) and a varint (how much
// larger than the block before), compressed. It is read when it is needed.

// section is where a part of a segment lies.
type section struct {
	off, size int64
	crc       uint32
}

// idPlace is a fact and the number of its block.
type idPlace struct {
	id    fact.ID
	block int
}

// packIDs sorts the list and writes it.
func packIDs(ids []idPlace) ([]byte, error) {
	slices.SortFunc(ids, func(a, b idPlace) int { return cmp.Compare(a.id, b.id) })
	var b []byte
	var last idPlace
	for _, p := range ids {
		b = binary.AppendUvarint(b, uint64(p.id-last.id))
		b = binary.AppendVarint(b, int64(p.block-last.block))
		last = p
	}
	enc, err := compressor()
	if err != nil {
		return nil, err
	}
	return enc.EncodeAll(b, nil), nil
}

// eachID visits the list, by id, until visit says no. It fails where the list
// cannot be read.
func (s *segment) eachID(visit func(idPlace) bool) error {
	if s.ids.size == 0 {
		return errShort
	}
	packed := make([]byte, s.ids.size)
	if _, err := s.f.ReadAt(packed, s.ids.off); err != nil {
		return err
	}
	if crc32.Checksum(packed, castagnoli) != s.ids.crc {
		return errors.New("its ids have a wrong checksum")
	}
	dec, err := decompressor()
	if err != nil {
		return err
	}
	raw, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return err
	}
	d := decoder{b: raw}
	var p idPlace
	for len(d.b) > 0 {
		p.id += fact.ID(d.uvarint())
		p.block += int(d.varint())
		if d.bad || p.block < 0 || p.block >= len(s.blocks) {
			return errShort
		}
		if !visit(p) {
			return nil
		}
	}
	return nil
}

// blocksWith gives the blocks in which a fact may be: one, none, or, where the
// list is lost, all.
func (s *segment) blocksWith(id fact.ID) []block {
	if !slices.ContainsFunc(s.blocks, func(b block) bool { return b.minID <= id && id <= b.maxID }) {
		return nil
	}
	var found []block
	err := s.eachID(func(p idPlace) bool {
		if p.id == id {
			found = append(found, s.blocks[p.block])
		}
		return p.id < id
	})
	if err != nil {
		return s.blocks
	}
	return found
}

// idsByBlock gives the facts of every block, by its offset; nil where the list is
// lost.
func (s *segment) idsByBlock() map[int64][]fact.ID {
	byBlock := make(map[int64][]fact.ID, len(s.blocks))
	err := s.eachID(func(p idPlace) bool {
		off := s.blocks[p.block].off
		byBlock[off] = append(byBlock[off], p.id)
		return true
	})
	if err != nil {
		return nil
	}
	return byBlock
}
