package dump

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// mostFiles bounds how many files a dump has.
	mostFiles = 200_000
	// mostLog is how much of a log is kept: its end.
	mostLog = 256 << 10
	// expands is how many times as much as is kept an archive may unpack to: logs are cut.
	expands = 16
)

type file struct {
	name     string // below the dump's root, with slashes
	modified time.Time
	size     int64
	in       io.Reader
}

func (r *reader) files(at string) error {
	info, err := os.Stat(at)
	if err != nil {
		return fmt.Errorf("%w; --dump takes a folder, an archive or a file", err)
	}
	if info.IsDir() {
		return r.folder(at)
	}
	f, err := os.Open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	magic, _ := in.Peek(512)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		return r.archive(z)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(r.most, 1<<20))))
		if err != nil {
			return err
		}
		defer z.Close()
		return r.archive(z)
	case len(magic) > 262 && string(magic[257:262]) == "ustar":
		return r.archive(in)
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is neither a folder nor a file")
	}
	r.take(file{name: filepath.Base(at), modified: info.ModTime(), size: info.Size(), in: in})
	return nil
}

// folder reads the files of a folder. Nothing outside it is read: links are left out.
func (r *reader) folder(at string) error {
	root, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	defer root.Close()
	n := 0
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			r.miss(name, err.Error())
			return nil
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			r.miss(name, "it is a link or no file")
			return nil
		}
		if n++; n > mostFiles {
			r.miss(name, fmt.Sprintf("it and those after it are more than %d files", mostFiles))
			return fs.SkipAll
		}
		f, err := root.Open(filepath.FromSlash(name))
		if err != nil {
			r.miss(name, err.Error())
			return nil
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			r.miss(name, err.Error())
			return nil
		}
		r.take(file{name: name, modified: info.ModTime(), size: info.Size(), in: f})
		return nil
	})
}

// archive reads the files of a tar archive. Nothing is written anywhere, so a name that leads
// elsewhere is only a name.
func (r *reader) archive(in io.Reader) error {
	bounded := &io.LimitedReader{R: in, N: r.most * expands}
	t := tar.NewReader(bounded)
	unpacked := &io.LimitedReader{R: t, N: r.most * expands}
	for n := 0; ; n++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF) && n > 0 && bounded.N > 0:
			return nil
		case err != nil && bounded.N <= 0:
			r.miss("the rest", fmt.Sprintf("the archive unpacks to more than %d MiB; unpack it and name the folder, or raise --max-size", r.most*expands>>20))
			return nil
		case err != nil && n > 0:
			r.miss("the rest", "the archive is damaged: "+err.Error())
			return nil
		case err != nil:
			return fmt.Errorf("it is no tar archive: %w", err)
		case n == mostFiles:
			r.miss("the rest", fmt.Sprintf("the archive has more than %d files", mostFiles))
			return nil
		case h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if h.Typeflag != tar.TypeReg || isSparse(h) {
			r.miss(name, "it is a link, a sparse file or no file")
			continue
		}
		if h.Size > unpacked.N {
			r.miss("the rest", fmt.Sprintf("the archive unpacks to more than %d MiB; unpack it and name the folder, or raise --max-size", r.most*expands>>20))
			return nil
		}
		r.take(file{name: name, modified: h.ModTime, size: h.Size, in: unpacked})
	}
}

// isSparse reports whether an entry unpacks to more than the archive has of it.
func isSparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// take reads a file: the end of a log, all of any other.
func (r *reader) take(f file) {
	if isTimestamp(f.name) {
		text, _ := io.ReadAll(io.LimitReader(f.in, 1<<10))
		r.moment.stamp(string(text))
		return
	}
	r.moment.file(f.modified)
	if isLog(f.name) {
		tail, err := end(f.in, f.size)
		if err != nil {
			r.miss(f.name, err.Error())
			return
		}
		if r.room(f.name, int64(len(tail))) {
			r.logs = append(r.logs, log{name: f.name, text: tail})
		}
		return
	}
	if !r.room(f.name, f.size) {
		return
	}
	content, err := io.ReadAll(io.LimitReader(f.in, f.size))
	if err != nil {
		r.miss(f.name, err.Error())
		return
	}
	r.content(f.name, content)
}

// room takes so many bytes of those that may be kept.
func (r *reader) room(name string, size int64) bool {
	if size < 0 || size > r.left {
		r.miss(name, fmt.Sprintf("there is no room for it in %d MiB; raise --max-size", r.most>>20))
		return false
	}
	r.left -= size
	return true
}

// end reads the last bytes, from the start of a line.
func end(in io.Reader, size int64) ([]byte, error) {
	if s, ok := in.(io.Seeker); ok && size > mostLog {
		if _, err := s.Seek(size-mostLog, io.SeekStart); err != nil {
			return nil, err
		}
	}
	var all []byte
	chunk := make([]byte, 64<<10)
	for {
		n, err := in.Read(chunk)
		all = append(all, chunk[:n]...)
		if len(all) > 2*mostLog {
			all = append(all[:0], all[len(all)-mostLog:]...)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return lastOf(all), nil
}

// lastOf cuts a log to its last lines.
func lastOf(text []byte) []byte {
	if len(text) <= mostLog {
		return text
	}
	text = text[len(text)-mostLog:]
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return text
}

// content finds out what a file is, and reads it.
func (r *reader) content(name string, content []byte) {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	text := bytes.TrimSpace(content)
	known := false
	switch {
	case len(text) == 0:
		return
	case hasStream(text):
		known = r.stream(name, content)
	case isDescription(text):
		known = r.descriptions(name, string(text))
	case isTable(text):
		known = r.table(name, string(text))
	case text[0] == '{' || text[0] == '[':
		known = r.jsonDocuments(name, text)
	case isYAML(name, text):
		known = r.yamlDocuments(name, text)
	}
	switch {
	case known:
	case strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml"):
		r.miss(name, "it has no object of the API")
	case bytes.IndexByte(text, 0) >= 0:
		r.miss(name, "it is of no form that is known")
	default:
		r.logs = append(r.logs, log{name: name, text: lastOf(content)}) // if its name is a pod's
	}
}
