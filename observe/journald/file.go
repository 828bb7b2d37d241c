package journald

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// The parts of the format that are used here: offsets into the header and objects, in
// bytes, and flags.
const (
	magic      = "LPKSHHRH"
	headerSize = 208

	flagsAt      = 12
	fieldTableAt = 120
	headTimeAt   = 184
	tailTimeAt   = 192

	compressedXZ, compressedLZ4, keyedHash, compressedZstd, compact uint32 = 1, 2, 4, 8, 16

	objectHeader = 16
	typeData     = 1
	typeField    = 2
	typeEntry    = 3
	typeArray    = 6
)

const (
	// largest bounds an object, and most the steps along a chain: what is longer is not
	// what systemd writes.
	largest = 1 << 20
	most    = 1 << 18
)

var errFormat = errors.New("it is no journal that is understood here")

// file is a journal file that may still be written to. Not safe for concurrent use.
type file struct {
	f       *os.File
	compact bool
	fields  uint64 // where the table of fields is
	buckets uint64

	// others are values that are no message, so that they are not read for each entry.
	others map[uint64]bool
}

func open(path string) (*file, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	one := &file{f: f, others: map[uint64]bool{}}
	if err := one.begin(); err != nil {
		_ = f.Close() // it was only read
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return one, nil
}

func (f *file) close() { _ = f.f.Close() } // it was only read

func (f *file) begin() error {
	head, err := f.read(0, headerSize)
	if err != nil {
		return err
	}
	flags := binary.LittleEndian.Uint32(head[flagsAt:])
	if string(head[:len(magic)]) != magic || flags&^(compressedXZ|compressedLZ4|keyedHash|compressedZstd|compact) != 0 {
		return errFormat
	}
	f.compact = flags&compact != 0
	f.fields, f.buckets = number(head, fieldTableAt), number(head, fieldTableAt+8)/16
	return nil
}

// times are those of the first and the last entry, in microseconds since 1970.
func (f *file) times() (first, last uint64) {
	head, err := f.read(0, headerSize)
	if err != nil {
		return 0, 0
	}
	return number(head, headTimeAt), number(head, tailTimeAt)
}

func (f *file) read(at uint64, n int) ([]byte, error) {
	b := make([]byte, n)
	if at > 1<<62 {
		return nil, errFormat
	}
	_, err := f.f.ReadAt(b, int64(at))
	return b, err
}

func number(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// head reads the beginning of an object, of which at least so many bytes are needed.
func (f *file) head(at uint64, kind byte, need int) (b []byte, size int, err error) {
	b, err = f.read(at, need)
	if err != nil {
		return nil, 0, err
	}
	long := number(b, 8)
	if at == 0 || b[0] != kind || long < uint64(need) {
		return nil, 0, errFormat
	}
	return b, int(min(long, largest)), nil
}

// value finds the object of a value such as _SYSTEMD_UNIT=kubelet.service; 0: nothing
// in this file has it.
func (f *file) value(field, value string) (uint64, error) {
	const headData, next, payload = 32, 24, 40
	steps := 0
	for bucket := range min(f.buckets, most) {
		b, err := f.read(f.fields+16*bucket, 8)
		if err != nil {
			return 0, err
		}
		for at := number(b, 0); at != 0; steps++ {
			b, size, err := f.head(at, typeField, payload)
			if err != nil || steps > most {
				return 0, errors.Join(errFormat, err)
			}
			if size == payload+len(field) {
				if name, err := f.read(at+payload, len(field)); err == nil && string(name) == field {
					return f.among(number(b, headData), field+"="+value)
				}
			}
			at = number(b, next)
		}
	}
	return 0, nil
}

// among finds a value in the list of all that a field ever had.
func (f *file) among(at uint64, want string) (uint64, error) {
	const nextOfField = 32
	payload := f.payload()
	for steps := 0; at != 0; steps++ {
		b, size, err := f.head(at, typeData, payload)
		if err != nil || steps > most {
			return 0, errors.Join(errFormat, err)
		}
		if size == payload+len(want) {
			if text, err := f.read(at+uint64(payload), len(want)); err == nil && string(text) == want {
				return at, nil
			}
		}
		at = number(b, nextOfField)
	}
	return 0, nil
}

// payload is where the text of a value begins.
func (f *file) payload() int {
	if f.compact {
		return 72
	}
	return 64
}

// entries gives the entries of a value, oldest first, but for the first skip, until take
// says no. It gives how many there were in all.
func (f *file) entries(value, skip uint64, take func(at uint64) bool) (total uint64, err error) {
	const first, array, count = 40, 48, 56
	b, _, err := f.head(value, typeData, 64)
	if err != nil {
		return 0, err
	}
	total = number(b, count)
	if skip == 0 && total > 0 && !take(number(b, first)) {
		return total, nil
	}
	seen := uint64(1)
	for at := number(b, array); at != 0 && seen < total; {
		next, items, err := f.array(at, skip, &seen, total, take)
		if err != nil || !items {
			return total, err
		}
		if next != 0 && next <= at {
			return total, errFormat // each array is written after the one before
		}
		at = next
	}
	return total, nil
}

// array gives the entries that one array lists.
func (f *file) array(at, skip uint64, seen *uint64, total uint64, take func(uint64) bool) (next uint64, more bool, err error) {
	const nextArray, items = 16, 24
	b, err := f.read(at, items)
	if err != nil {
		return 0, false, err
	}
	width := uint64(8)
	if f.compact {
		width = 4
	}
	long := number(b, 8)
	if b[0] != typeArray || long < items {
		return 0, false, errFormat
	}
	holds := min((long-items)/width, total-*seen)
	next = number(b, nextArray)
	if *seen+holds <= skip {
		*seen += holds
		return next, true, nil
	}
	for i := uint64(0); i < holds; i++ {
		if *seen++; *seen <= skip {
			continue
		}
		b, err := f.read(at+items+i*width, int(width))
		if err != nil {
			return 0, false, err
		}
		entry := uint64(binary.LittleEndian.Uint32(b))
		if !f.compact {
			entry = number(b, 0)
		}
		if !take(entry) {
			return 0, false, nil
		}
	}
	return next, true, nil
}
