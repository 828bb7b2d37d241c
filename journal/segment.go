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
	"path/filepath"
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

var compressor = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(false))
})

// segmentWriter writes a segment to a file that is not yet in its place.
type segmentWriter struct {
	f      *os.File
	path   string // where it will be
	off    int64
	kinds  []fact.Kind
	kindNo map[fact.Kind]int
	blocks []block
	ids    []idPlace

	open    block // the block that is being filled
	pending []byte
	packed  []byte
}

func newSegmentWriter(path string) (*segmentWriter, error) {
	f, err := os.OpenFile(path+tmpSuffix, os.O_CREATE|os.O_TRUNC|os.O_RDWR, fileMode)
	if err != nil {
		return nil, err
	}
	w := &segmentWriter{f: f, path: path, kindNo: map[fact.Kind]int{}}
	return w, w.write([]byte(segmentMagic))
}

func (w *segmentWriter) write(b []byte) error {
	_, err := w.f.WriteAt(b, w.off)
	w.off += int64(len(b))
	return err
}

// kind gives the bit of a kind. More than 64 kinds share the last bit, which
// then only means "look into the block".
func (w *segmentWriter) kind(k fact.Kind) kindSet {
	no, ok := w.kindNo[k]
	if !ok {
		no = min(len(w.kinds), 63)
		w.kindNo[k] = no
		w.kinds = append(w.kinds, k)
	}
	return 1 << no
}

// add appends a record of the pod. Records come by pod and, for each, by id.
func (w *segmentWriter) add(h head, raw []byte) error {
	if w.open.count > 0 && (w.open.pod != *h.pod || w.open.raw >= blockBytes) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	b := block{pod: *h.pod, count: 1, minID: h.id, maxID: h.id, from: h.at, to: h.end, kinds: w.kind(h.kin)}
	if h.kin == checkpointKind {
		b.checkpoint = h.id
	}
	before := len(w.pending)
	w.pending = binary.AppendUvarint(w.pending, uint64(len(raw)))
	w.pending = append(w.pending, raw...)
	b.raw = int64(len(w.pending) - before)
	w.open = w.open.join(b)
	w.ids = append(w.ids, idPlace{h.id, len(w.blocks)})
	return nil
}

// join is the description of two blocks of one pod put together.
func (b block) join(c block) block {
	if b.count == 0 {
		return c
	}
	b.raw += c.raw
	b.count += c.count
	b.minID, b.maxID = min(b.minID, c.minID), max(b.maxID, c.maxID)
	b.from, b.to = min(b.from, c.from), max(b.to, c.to)
	b.kinds |= c.kinds
	b.checkpoint = max(b.checkpoint, c.checkpoint)
	return b
}

// join takes over a block of another segment, which has the given facts: small
// ones are packed together with their neighbours, large ones are copied as they
// are.
func (w *segmentWriter) join(from *segment, b block, ids []fact.ID) error {
	if w.open.count > 0 && (w.open.pod != b.pod || w.open.raw+b.raw > blockBytes) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if b.raw >= blockBytes/2 && w.open.count == 0 {
		packed, err := from.packed(b)
		if err != nil {
			return err
		}
		w.has(ids)
		return w.put(w.translate(from, b), packed)
	}
	raw, err := from.unpack(b)
	if err != nil {
		return err
	}
	w.has(ids)
	w.pending = append(w.pending, raw...)
	w.open = w.open.join(w.translate(from, b))
	return nil
}

// has notes the facts of the block that is written next.
func (w *segmentWriter) has(ids []fact.ID) {
	for _, id := range ids {
		w.ids = append(w.ids, idPlace{id, len(w.blocks)})
	}
}

// translate gives a block the kind numbers of this segment.
func (w *segmentWriter) translate(from *segment, b block) block {
	var set kindSet
	for no, k := range from.kinds {
		if b.kinds&(1<<min(no, 63)) != 0 {
			set |= w.kind(k)
		}
	}
	b.kinds = set
	return b
}

func (w *segmentWriter) flush() error {
	if w.open.count == 0 {
		return nil
	}
	enc, err := compressor()
	if err != nil {
		return err
	}
	w.packed = enc.EncodeAll(w.pending, w.packed[:0])
	b := w.open
	w.open, w.pending = block{}, w.pending[:0]
	return w.put(b, w.packed)
}

func (w *segmentWriter) put(b block, packed []byte) error {
	b.off, b.size = w.off, int64(blockHeader+len(packed))
	var h [blockHeader]byte
	binary.LittleEndian.PutUint32(h[:], blockMagic)
	binary.LittleEndian.PutUint32(h[4:], uint32(len(packed)))
	binary.LittleEndian.PutUint32(h[8:], crc32.Checksum(packed, castagnoli))
	if err := errors.Join(w.write(h[:]), w.write(packed)); err != nil {
		return err
	}
	w.blocks = append(w.blocks, b)
	return nil
}

// finish writes the index, makes the file durable and moves it to its place.
func (w *segmentWriter) finish() error {
	if err := w.flush(); err != nil {
		return err
	}
	packed, err := packIDs(w.ids)
	if err != nil {
		return err
	}
	ids := section{off: w.off, size: int64(len(packed)), crc: crc32.Checksum(packed, castagnoli)}
	if err := errors.Join(w.write(packed), w.write(appendIndex(nil, w.kinds, w.blocks, ids))); err != nil {
		return err
	}
	if err := errors.Join(w.f.Sync(), w.f.Close()); err != nil {
		return err
	}
	if err := os.Rename(w.path+tmpSuffix, w.path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(w.path))
}

// abandon removes what was written so far.
func (w *segmentWriter) abandon() {
	w.f.Close()
	os.Remove(w.path + tmpSuffix)
}

func appendIndex(b []byte, kinds []fact.Kind, blocks []block, ids section) []byte {
	start := len(b)
	b = binary.AppendUvarint(b, uint64(ids.off))
	b = binary.AppendUvarint(b, uint64(ids.size))
	b = binary.AppendUvarint(b, uint64(ids.crc))
	b = binary.AppendUvarint(b, uint64(len(kinds)))
	for _, k := range kinds {
		b = appendString(b, string(k))
	}
	b = binary.AppendUvarint(b, uint64(len(blocks)))
	for _, k := range blocks {
		b = appendString(appendString(appendString(b, k.pod.Namespace), k.pod.Name), string(k.pod.UID))
		for _, v := range [...]uint64{
			uint64(k.off), uint64(k.size), uint64(k.raw), uint64(k.count),
			uint64(k.minID), uint64(k.maxID - k.minID), uint64(k.kinds), uint64(k.checkpoint), uint64(k.to - k.from),
		} {
			b = binary.AppendUvarint(b, v)
		}
		b = binary.AppendVarint(b, k.from)
	}
	index := b[start:]
	b = binary.LittleEndian.AppendUint32(b, uint32(len(index)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(index, castagnoli))
	return binary.LittleEndian.AppendUint32(b, trailerMagic)
}

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
