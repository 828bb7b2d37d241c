package journald

import (
	"encoding/binary"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

const message = "MESSAGE="

// mostOthers bounds what is remembered of values that are no message.
const mostOthers = 1 << 14

// entry reads an entry's time, and its message; ok is false where it has none that can
// be read.
func (f *file) entry(at uint64) (when time.Time, text string, ok bool) {
	const realtime, items = 24, 64
	b, size, err := f.head(at, typeEntry, items)
	if err != nil {
		return time.Time{}, "", false
	}
	when = time.UnixMicro(int64(number(b, realtime) & (1<<62 - 1))).UTC()
	width := 16
	if f.compact {
		width = 4
	}
	list, err := f.read(at+items, size-items)
	if err != nil {
		return when, "", false
	}
	for ; len(list) >= width; list = list[width:] {
		value := uint64(binary.LittleEndian.Uint32(list))
		if !f.compact {
			value = number(list, 0)
		}
		if value == 0 || f.others[value] {
			continue
		}
		text, ok = f.text(value)
		if ok && strings.HasPrefix(text, message) {
			return when, text[len(message):], true
		}
		if len(f.others) > mostOthers {
			f.others = map[uint64]bool{}
		}
		f.others[value] = true
	}
	return when, "", false
}

// text reads a value; ok is false where it is compressed in a way that is not read here,
// or surely no message.
func (f *file) text(at uint64) (text string, ok bool) {
	const flags, zstdFlag = 1, 4
	payload := f.payload()
	b, size, err := f.head(at, typeData, payload)
	if err != nil {
		return "", false
	}
	raw := b[flags]&(zstdFlag|2|1) == 0
	if !raw && b[flags] != zstdFlag {
		return "", false
	}
	if raw && size-payload > len(message) {
		begin, err := f.read(at+uint64(payload), len(message))
		if err != nil || string(begin) != message {
			return "", false
		}
	}
	body, err := f.read(at+uint64(payload), size-payload)
	if err != nil {
		return "", false
	}
	if !raw {
		if body, err = unpacker().DecodeAll(body, nil); err != nil {
			return "", false
		}
	}
	return string(body), true
}

// unpacker is one for all files: it keeps some memory.
var unpacker = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(largest))
	if err != nil {
		panic(err) // no option above can be refused
	}
	return d
})
