package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"whylet.dev/whylet/fact"
)

// A record is a fact with the parts of its envelope that questions ask for in
// front, so that looking for a fact decodes no JSON:
//
//	uvarint id, varint at, uvarint end-at, five strings, the wire form to the end
//
// Times are Unix nanoseconds; a string is a uvarint length and its bytes. The
// strings are namespace, name, UID, container and kind.
//
// A frame holds the records of one Append, so that they are found together or
// not at all:
//
//	u32 length, u32 CRC of the body, u32 CRC of the eight bytes before, body
//
// The second checksum tells a frame that was cut (a torn tail) from one that
// was damaged. Integers are little-endian, checksums CRC-32C.
const (
	frameHeader = 12
	// maxFrame bounds what a damaged length can make a reader allocate. The API
	// server takes objects of up to 1.5 MiB.
	maxFrame = 64 << 20
)

// The first byte of a frame's body.
const (
	frameFacts  = 1 // records follow, each after its uvarint length
	frameClosed = 2 // a uvarint follows: the next free id at a clean end
	framePacked = 3 // as frameFacts, packed with S2; only in slots
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errShort = errors.New("record is cut short")

// head is what of a fact can be known without decoding it.
type head struct {
	id  fact.ID
	at  int64 // Unix nanoseconds of Fact.When
	end int64 // Unix nanoseconds of Fact.End
	pod *fact.Pod
	ctr string
	kin fact.Kind
}

// record is a head and the wire form, or the fact itself where it is at hand.
type record struct {
	head
	wire  []byte
	known *fact.Fact
}

// fact decodes the record; boot is what the one before it has, mostly the same.
func (r record) fact(boot string) (fact.Fact, error) {
	if r.known != nil {
		return *r.known, nil
	}
	f := fact.Fact{Boot: boot, Pod: *r.pod, Container: r.ctr}
	if err := f.Decode(r.kin, r.wire); err != nil {
		return fact.Fact{}, err
	}
	return f, nil
}

func headOf(f fact.Fact) head {
	pod := f.Pod
	h := head{id: f.ID, at: nanos(f.When()), pod: &pod, ctr: f.Container, kin: f.Body.Kind()}
	h.end = max(h.at, nanos(f.End()))
	return h
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// appendRecord adds the record of f to b, without its length.
func appendRecord(b []byte, f fact.Fact) ([]byte, head, error) {
	if f.ID == 0 {
		return b, head{}, errors.New("fact has no id")
	}
	if f.Body == nil {
		return b, head{}, errors.New("fact has no body")
	}
	h := headOf(f)
	b = binary.AppendUvarint(b, uint64(h.id))
	b = binary.AppendVarint(b, h.at)
	b = binary.AppendUvarint(b, uint64(h.end-h.at))
	for _, s := range [...]string{h.pod.Namespace, h.pod.Name, string(h.pod.UID), h.ctr, string(h.kin)} {
		b = appendString(b, s)
	}
	b, err := f.AppendJSON(b)
	return b, h, err
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// names keeps one copy of the strings that repeat from record to record.
type names struct {
	pods    map[fact.Pod]*fact.Pod
	strings map[string]string
}

func newNames() *names {
	return &names{pods: map[fact.Pod]*fact.Pod{}, strings: map[string]string{}}
}

func (n *names) pod(p fact.Pod) *fact.Pod {
	if known, ok := n.pods[p]; ok {
		return known
	}
	n.pods[p] = &p
	return &p
}

func (n *names) text(b []byte) string {
	if s, ok := n.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	n.strings[s] = s
	return s
}

// parseRecord reads one record. Its wire form is a part of b.
func parseRecord(b []byte, n *names) (record, error) {
	d := decoder{b: b}
	r := record{head: head{id: fact.ID(d.uvarint()), at: d.varint()}}
	r.end = r.at + int64(d.uvarint())
	pod := fact.Pod{Namespace: n.text(d.bytes()), Name: n.text(d.bytes())}
	pod.UID = uid(n.text(d.bytes()))
	r.ctr = n.text(d.bytes())
	r.kin = fact.Kind(n.text(d.bytes()))
	if d.bad || r.id == 0 || r.end < r.at {
		return record{}, errShort
	}
	r.pod = n.pod(pod)
	r.wire = d.b
	return r, nil
}

// decoder takes values off the front of b; after the first that is not there
// all further ones are zero and bad is set.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	return v * d.took(n)
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	return v * int64(d.took(n))
}

func (d *decoder) took(n int) uint64 {
	if n <= 0 || d.bad {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return 1
}

func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return nil
	}
	s := d.b[:n]
	d.b = d.b[n:]
	return s
}

// beginFrame makes room for a frame's header at the end of b; endFrame fills it
// in once the body is there.
func beginFrame(b []byte, kind byte) []byte {
	return append(append(b, make([]byte, frameHeader)...), kind)
}

func endFrame(b []byte, start int) {
	h, body := b[start:start+frameHeader], b[start+frameHeader:]
	binary.LittleEndian.PutUint32(h, uint32(len(body)))
	binary.LittleEndian.PutUint32(h[4:], crc32.Checksum(body, castagnoli))
	binary.LittleEndian.PutUint32(h[8:], crc32.Checksum(h[:8], castagnoli))
}

// frameState is how far a frame is what it should be.
type frameState int

const (
	frameGood frameState = iota
	frameTorn            // nothing wrong with it, but it ends too early
	frameBad
)

// readFrame looks at the frame at the start of b and gives its body and its
// whole length.
func readFrame(b []byte) (body []byte, size int, state frameState) {
	if len(b) < frameHeader {
		return nil, 0, frameTorn
	}
	n := binary.LittleEndian.Uint32(b)
	if crc32.Checksum(b[:8], castagnoli) != binary.LittleEndian.Uint32(b[8:]) || n == 0 || n > maxFrame {
		return nil, 0, frameBad
	}
	size = frameHeader + int(n)
	if size > len(b) {
		return nil, size, frameTorn
	}
	body = b[frameHeader:size]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return nil, size, frameBad
	}
	return body, size, frameGood
}

// eachRecord visits the records of a frame's body (after its kind) or of a
// block, with their offsets and lengths in it.
func eachRecord(b []byte, n *names, visit func(off, size int, r record)) error {
	for off := 0; off < len(b); {
		size, k := binary.Uvarint(b[off:])
		if k <= 0 || size > uint64(len(b)-off-k) {
			return errShort
		}
		off += k
		r, err := parseRecord(b[off:off+int(size)], n)
		if err != nil {
			return fmt.Errorf("at byte %d: %w", off, err)
		}
		visit(off, int(size), r)
		off += int(size)
	}
	return nil
}
