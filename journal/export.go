package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"whylet.dev/whylet/fact"
)

// ExportVersion is the version of the portable file that this package writes.
// It reads this one and those before it.
const ExportVersion = 1

// Header is the first line of a portable file. The facts follow, one JSON
// object a line, by id; the last line is a [Trailer]. The whole is compressed
// with zstd, so `zstdcat FILE` shows it; a file that was unpacked is read too.
type Header struct {
	// Version is ExportVersion. Its key says what the file is.
	Version int `json:"whyletJournal"`
	// Node is the node the facts are from, where the exporter knew it.
	Node string `json:"node,omitempty"`
	// Pods are those that were asked for; none: all the node has.
	Pods     []fact.Pod `json:"pods,omitempty"`
	Exported time.Time  `json:"exported,omitzero"`
}

// Trailer is the last line. A file without it was cut short.
type Trailer struct {
	Facts int64 `json:"facts"`
}

var (
	// ErrNotExport means that a file is not one that Export wrote.
	ErrNotExport = errors.New("not an exported journal")
	// ErrCutShort means that the end of an exported file is missing. What is
	// there can be used.
	ErrCutShort = errors.New("exported journal is cut short")
)

// flushEvery is after how many facts what was written can be unpacked, should
// the rest be missing.
const flushEvery = 1000

// Export writes facts as a portable file and gives their number.
func Export(w io.Writer, h Header, facts iter.Seq2[fact.Fact, error]) (int64, error) {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return 0, err
	}
	h.Version = ExportVersion
	lines := json.NewEncoder(z)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(h); err != nil {
		return 0, err
	}
	var n int64
	for f, err := range facts {
		if err != nil {
			return n, err
		}
		line, err := f.MarshalJSON()
		if err != nil {
			return n, err
		}
		if _, err := z.Write(append(line, '\n')); err != nil {
			return n, err
		}
		if n++; n%flushEvery == 0 {
			if err := z.Flush(); err != nil {
				return n, err
			}
		}
	}
	return n, errors.Join(lines.Encode(Trailer{Facts: n}), z.Close())
}

// maxLine bounds a line of a portable file.
const maxLine = maxFrame

// Bounds are how much a portable file may unpack to: a hundred kilobytes of it can be a gigabyte.
type Bounds struct {
	// Bytes are those of all its lines together.
	Bytes int64
	// Facts are how many it has; 0: as many as there is room for.
	Facts int64
}

// Usual are the bounds of a file that a person opens.
var Usual = Bounds{Bytes: 256 << 20}

// ErrTooLarge means that a portable file unpacks to more than it may.
var ErrTooLarge = errors.New("the exported journal unpacks to more than it may (--max-size)")

// isTooLarge reports whether reading ended at a bound: of the lines together, or of what has to be held
// to unpack them.
func isTooLarge(err error) bool {
	return errors.Is(err, ErrTooLarge) || errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded)
}

// maxWindow bounds how far back a compressed file may refer: what zstd --long=27 needs.
const maxWindow = 128 << 20

// Read reads a portable file as [Bounds.Read] does, within the usual bounds.
func Read(r io.Reader) (Header, iter.Seq2[fact.Fact, error], error) { return Usual.Read(r) }

// Read reads a portable file: its header, and its facts as they come. After the last fact the
// iteration may yield an error, [ErrCutShort] and [ErrTooLarge] among them.
func (b Bounds) Read(r io.Reader) (Header, iter.Seq2[fact.Fact, error], error) {
	var h Header
	in := bufio.NewReader(r)
	var plain io.Reader = in
	if magic, _ := in.Peek(4); bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(uint64(max(zstd.MinWindowSize, min(maxWindow, b.Bytes/4)))))
		if err != nil {
			return h, nil, err
		}
		plain = z.IOReadCloser()
	}
	lines := bufio.NewScanner(&bounded{plain, b.Bytes})
	lines.Buffer(make([]byte, 64<<10), maxLine)
	begins := lines.Scan()
	if isTooLarge(lines.Err()) {
		return h, nil, ErrTooLarge
	}
	if !begins || json.Unmarshal(lines.Bytes(), &h) != nil || h.Version == 0 {
		return h, nil, ErrNotExport
	}
	if h.Version > ExportVersion {
		return h, nil, fmt.Errorf("%w of a version this program knows: it has version %d, known is %d; use a newer whylet", ErrNotExport, h.Version, ExportVersion)
	}
	return h, func(yield func(fact.Fact, error) bool) { b.readLines(lines, yield) }, nil
}

// bounded reads so many bytes, and then fails.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (b Bounds) readLines(lines *bufio.Scanner, yield func(fact.Fact, error) bool) {
	var n int64
	for lines.Scan() {
		if b.Facts > 0 && n > b.Facts {
			yield(fact.Fact{}, ErrTooLarge)
			return
		}
		var f fact.Fact
		if err := f.UnmarshalJSON(lines.Bytes()); err != nil {
			var t Trailer
			trailer := json.Unmarshal(lines.Bytes(), &t) == nil && t.Facts == n
			switch last := !lines.Scan(); {
			case isTooLarge(lines.Err()):
				yield(fact.Fact{}, ErrTooLarge)
			case trailer && last && lines.Err() == nil:
			case last:
				yield(fact.Fact{}, errors.Join(ErrCutShort, lines.Err()))
			default:
				yield(fact.Fact{}, fmt.Errorf("line %d: %w", n+2, err))
			}
			return
		}
		if n++; !yield(f, nil) {
			return
		}
	}
	if isTooLarge(lines.Err()) {
		yield(fact.Fact{}, ErrTooLarge)
		return
	}
	yield(fact.Fact{}, errors.Join(ErrCutShort, lines.Err()))
}

// File is an exported history, held in memory, that answers as a [Journal] does.
type File struct {
	Header Header
	v      view
}

// OpenFile reads a portable file as [Bounds.OpenFile] does, within the usual bounds.
func OpenFile(path string) (*File, error) { return Usual.OpenFile(path) }

// OpenFile reads a portable file. With [ErrCutShort] the File is usable, and
// has what was there.
func (b Bounds) OpenFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := b.NewFile(f)
	if err != nil {
		err = fmt.Errorf("reading %s: %w", path, err)
	}
	return file, err
}

// NewFile is OpenFile for what is not on disk.
func NewFile(r io.Reader) (*File, error) { return Usual.NewFile(r) }

// NewFile is [Bounds.OpenFile] for what is not on disk.
func (b Bounds) NewFile(r io.Reader) (*File, error) {
	h, facts, err := b.Read(r)
	if err != nil {
		return nil, err
	}
	l := &log{data: &memory{}}
	var s scratch
	n := newNames()
	seen := map[fact.ID]bool{}
	for f, err := range facts {
		if errors.Is(err, ErrCutShort) {
			return &File{Header: h, v: view{logs: []logView{l.view()}}}, err
		}
		if err != nil {
			return nil, err
		}
		if seen[f.ID] {
			return nil, fmt.Errorf("%w: fact %d is in it twice", ErrNotExport, f.ID)
		}
		seen[f.ID] = true
		if err := s.fill([]fact.Fact{f}); err != nil {
			return nil, err
		}
		s.at[0].pod = n.pod(*s.at[0].pod)
		if err := l.write(s.frame, s.at); err != nil {
			return nil, err
		}
	}
	return &File{Header: h, v: view{logs: []logView{l.view()}}}, nil
}

// Query is as [Journal.Query].
func (f *File) Query(q Query) iter.Seq2[fact.Fact, error] {
	return func(yield func(fact.Fact, error) bool) { f.v.each(q, yield) }
}

// Get is as [Journal.Get].
func (f *File) Get(id fact.ID) (fact.Fact, bool, error) { return getFrom(f, id) }

// Pods is as [Journal.Pods].
func (f *File) Pods() []PodSpan { return f.v.pods() }

// Stats is as [Journal.Stats].
func (f *File) Stats() Stats { return f.v.stats() }

// importBatch is how many facts Import writes at once.
const importBatch = 32

// Import makes a journal as [Bounds.Import] does, within the usual bounds.
func Import(dir string, r io.Reader) (int64, error) { return Usual.Import(dir, r) }

// Import makes a journal in dir, which must be empty or missing, of a portable
// file, and gives the number of facts. Ids stay as they are, which is why the
// history of another node cannot be added to a journal that has its own. Of a file that is too
// large nothing is left.
func (b Bounds) Import(dir string, r io.Reader) (int64, error) {
	if found, err := os.ReadDir(dir); err == nil && len(found) > 0 {
		return 0, fmt.Errorf("importing into %s: it is not empty; give a new directory", filepath.Clean(dir))
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	_, facts, err := b.Read(r)
	if err != nil {
		return 0, err
	}
	j, err := Open(dir, Options{MaxBytes: 1 << 50, MaxAge: 1 << 62})
	if err != nil {
		return 0, err
	}
	n, err := j.takeAll(facts)
	err = errors.Join(err, j.Close())
	if errors.Is(err, ErrTooLarge) {
		return 0, errors.Join(err, os.RemoveAll(dir)) // it was empty or missing before
	}
	return n, err
}

func (j *Journal) takeAll(facts iter.Seq2[fact.Fact, error]) (int64, error) {
	var n int64
	var last fact.ID
	var batch []fact.Fact
	for f, err := range facts {
		if err != nil {
			return n, errors.Join(err, j.Append(batch...))
		}
		if f.ID <= last {
			return n, fmt.Errorf("%w: fact %d comes after fact %d", ErrNotExport, f.ID, last)
		}
		last = f.ID
		batch = append(batch, f)
		n++
		if len(batch) == importBatch {
			if err := j.Append(batch...); err != nil {
				return n, err
			}
			batch = batch[:0]
		}
	}
	j.next.Store(uint64(last) + 1)
	return n, j.Append(batch...)
}
