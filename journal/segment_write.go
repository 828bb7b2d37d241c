package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"

	"whylet.dev/whylet/fact"
)

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
