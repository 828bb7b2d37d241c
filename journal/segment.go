package journal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// A segment holds the records of one or more full logs, sorted by pod:
//
//	magic, blocks, ids, index, trailer
//
// A block is compressed records of one pod. It begins with a header of its own,
// so that a lost index can be made again from the blocks:
//
//	u32 "WBLK", u32 compressed length, u32 CRC of the compressed bytes
//
// The ids say which block has which fact (ids.go). The index says of each block
// whose it is, where, and which ids, times and kinds are in it. The trailer finds
// the index:
//
//	u32 length of the index, u32 its CRC, "WEND"
const (
	segmentMagic = "whyseg1\n"
	blockMagic   = 'W' | 'B'<<8 | 'L'<<16 | 'K'<<24
	trailerMagic = 'W' | 'E'<<8 | 'N'<<16 | 'D'<<24
	blockHeader  = 12
	trailerSize  = 12
	// blockBytes is how much of a pod's records is compressed together: more
	// compresses better, less is read for a question about one moment.
	blockBytes = 64 << 10
)

// block is one entry of a segment's index.
type block struct {
	pod        fact.Pod
	off        int64
	size       int64 // compressed, with header
	raw        int64
	count      int64
	minID      fact.ID
	maxID      fact.ID
	from, to   int64 // Unix nanoseconds: the earliest time, the latest end
	kinds      kindSet
	checkpoint fact.ID // the latest fact.Checkpoint in it, or 0
}

// kindSet has a bit for each kind of a segment's own list of kinds.
type kindSet uint64

// segment is a sealed part of the journal. Its index is in memory; blocks are
// read when asked for. It is immutable but for bad.
type segment struct {
	name   segmentName
	path   string
	f      *os.File // closed by the runtime once no question holds the segment
	size   int64
	kinds  []fact.Kind
	blocks []block // by pod, then by first id
	ids    section // of no size if it is lost

	mu  sync.Mutex
	bad map[int64]bool // offsets of blocks that could not be read
}

// CorruptError says which part of the journal could not be read.
type CorruptError struct {
	Path string
	Err  error
}

func (e *CorruptError) Error() string { return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err) }
func (e *CorruptError) Unwrap() error { return e.Err }

// decompressor is shared: DecodeAll may be called from many goroutines.
var decompressor = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxFrame*2))
})

func parseIndex(index []byte, limit int64) ([]fact.Kind, []block, section, error) {
	d := decoder{b: index}
	ids := section{off: int64(d.uvarint()), size: int64(d.uvarint()), crc: uint32(d.uvarint())}
	if !within(ids.off, ids.size, limit) {
		return nil, nil, section{}, errors.New("its ids lie outside the file")
	}
	nkinds := d.uvarint()
	if nkinds > uint64(len(d.b)) {
		return nil, nil, section{}, errShort
	}
	kinds := make([]fact.Kind, nkinds)
	for i := range kinds {
		kinds[i] = fact.Kind(d.bytes())
	}
	nblocks := d.uvarint()
	if nblocks > uint64(len(d.b)) {
		return nil, nil, section{}, errShort
	}
	blocks := make([]block, nblocks)
	n := newNames()
	for i := range blocks {
		b := &blocks[i]
		b.pod = fact.Pod{Namespace: n.text(d.bytes()), Name: n.text(d.bytes())}
		b.pod.UID = uid(n.text(d.bytes()))
		b.off, b.size, b.raw, b.count = int64(d.uvarint()), int64(d.uvarint()), int64(d.uvarint()), int64(d.uvarint())
		b.minID = fact.ID(d.uvarint())
		b.maxID = b.minID + fact.ID(d.uvarint())
		b.kinds, b.checkpoint = kindSet(d.uvarint()), fact.ID(d.uvarint())
		span := int64(d.uvarint())
		b.from = d.varint()
		b.to = b.from + span
		if b.size < blockHeader || !within(b.off, b.size, limit) || b.raw < 0 || b.raw > maxFrame*2 {
			return nil, nil, section{}, fmt.Errorf("block %d lies outside the file", i)
		}
	}
	if d.bad || len(d.b) > 0 {
		return nil, nil, section{}, errShort
	}
	return kinds, blocks, ids, nil
}

func within(off, size, limit int64) bool {
	return off >= 0 && size >= 0 && size <= limit && off <= limit-size
}

// openSegment reads a segment's index, or makes it again from the blocks where
// it is lost; the error is then a *CorruptError and the segment is usable.
func openSegment(path string, name segmentName) (*segment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &segment{name: name, path: path, f: f}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	s.size = info.Size()
	if err := s.readIndex(); err != nil {
		s.rebuild()
		return s, &CorruptError{Path: path, Err: err}
	}
	return s, nil
}

func (s *segment) readIndex() error {
	var t [trailerSize]byte
	if s.size < int64(len(segmentMagic)+trailerSize) {
		return errShort
	}
	if _, err := s.f.ReadAt(t[:], s.size-trailerSize); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(t[:]))
	if binary.LittleEndian.Uint32(t[8:]) != trailerMagic || n > s.size-trailerSize {
		return errors.New("no index at its end")
	}
	index := make([]byte, n)
	if _, err := s.f.ReadAt(index, s.size-trailerSize-n); err != nil {
		return err
	}
	if crc32.Checksum(index, castagnoli) != binary.LittleEndian.Uint32(t[4:]) {
		return errors.New("its index has a wrong checksum")
	}
	var err error
	s.kinds, s.blocks, s.ids, err = parseIndex(index, s.size)
	return err
}

// rebuild makes the index from those blocks that can be read.
func (s *segment) rebuild() {
	data, err := io.ReadAll(io.NewSectionReader(s.f, 0, s.size))
	if err != nil {
		return
	}
	s.kinds, s.blocks, s.ids = nil, nil, section{}
	w := segmentWriter{kindNo: map[fact.Kind]int{}}
	n := newNames()
	magic := binary.LittleEndian.AppendUint32(nil, blockMagic)
	for off := 0; ; off++ {
		i := bytes.Index(data[off:], magic)
		if i < 0 {
			break
		}
		off += i
		b := block{off: int64(off), size: blockHeader}
		if off+blockHeader <= len(data) {
			b.size += int64(binary.LittleEndian.Uint32(data[off+4:]))
		}
		raw, err := s.unpack(b)
		if err != nil {
			continue
		}
		err = eachRecord(raw, n, func(_, size int, r record) {
			c := block{pod: *r.pod, off: b.off, size: b.size, count: 1, minID: r.id, maxID: r.id, from: r.at, to: r.end, kinds: w.kind(r.kin)}
			if r.kin == checkpointKind {
				c.checkpoint = r.id
			}
			b = b.join(c)
		})
		b.raw = int64(len(raw))
		if err == nil && b.count > 0 {
			s.blocks = append(s.blocks, b)
			off += int(b.size) - 1
		}
	}
	s.kinds = w.kinds
	sortBlocks(s.blocks)
}

func sortBlocks(blocks []block) {
	slices.SortFunc(blocks, func(a, b block) int {
		return cmp.Or(comparePods(a.pod, b.pod), cmp.Compare(a.minID, b.minID))
	})
}

// packed reads a block as it lies on disk, without its header.
func (s *segment) packed(b block) ([]byte, error) {
	if b.size < blockHeader || b.size > s.size-b.off {
		return nil, &CorruptError{Path: s.path, Err: errShort}
	}
	buf := make([]byte, b.size)
	if _, err := s.f.ReadAt(buf, b.off); err != nil {
		return nil, &CorruptError{Path: s.path, Err: err}
	}
	packed := buf[blockHeader:]
	switch {
	case binary.LittleEndian.Uint32(buf) != blockMagic, int(binary.LittleEndian.Uint32(buf[4:])) != len(packed):
		return nil, &CorruptError{Path: s.path, Err: fmt.Errorf("no block at byte %d", b.off)}
	case crc32.Checksum(packed, castagnoli) != binary.LittleEndian.Uint32(buf[8:]):
		return nil, &CorruptError{Path: s.path, Err: fmt.Errorf("block at byte %d has a wrong checksum", b.off)}
	}
	return packed, nil
}

// unpack reads the records of a block.
func (s *segment) unpack(b block) ([]byte, error) {
	packed, err := s.packed(b)
	if err != nil {
		return nil, err
	}
	dec, err := decompressor()
	if err != nil {
		return nil, err
	}
	raw, err := dec.DecodeAll(packed, make([]byte, 0, b.raw))
	if err != nil {
		return nil, &CorruptError{Path: s.path, Err: fmt.Errorf("block at byte %d: %w", b.off, err)}
	}
	return raw, nil
}

// markBad remembers that a block cannot be read; it reports whether that is news.
func (s *segment) markBad(b block) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad[b.off] {
		return false
	}
	if s.bad == nil {
		s.bad = map[int64]bool{}
	}
	s.bad[b.off] = true
	return true
}

func (s *segment) isBad(b block) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bad[b.off]
}

// maxID is the largest id in the segment.
func (s *segment) maxID() fact.ID {
	var id fact.ID
	for _, b := range s.blocks {
		id = max(id, b.maxID)
	}
	return id
}

func comparePods(a, b fact.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

func uid(s string) types.UID { return types.UID(s) }
