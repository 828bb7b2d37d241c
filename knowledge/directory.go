package knowledge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Directory is the embedded base with the entries of a directory's files, *.yaml, and what of them is refused, each with
// its file, line and reason. An empty path is no directory. The error is about the directory as a whole.
func Directory(path string) (b *Base, refused []error, err error) {
	if path == "" {
		return Embedded(), nil, nil
	}
	names, err := filepath.Glob(filepath.Join(path, "*.yaml"))
	if err == nil && len(names) == 0 {
		err = errors.New("it has no file *.yaml")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--knowledge %s: %w", path, err)
	}
	b, _, refused = ofFiles(names)
	return b, refused, nil
}

// TestFiles reports what is wrong with files of entries that are to be used together, and how many messages and samples
// they have.
func TestFiles(names []string) (messages, samples int, refused []error) {
	_, entries, refused := ofFiles(names)
	for _, e := range entries {
		samples += len(e.Samples) + len(e.Not)
	}
	return len(entries), samples, refused
}

// ofFiles are the embedded base with the entries of files, all entries of these, and what is refused.
func ofFiles(names []string) (b *Base, entries []*Entry, refused []error) {
	for _, name := range names {
		text, err := readFile(name)
		if err == nil {
			var of []*Entry
			of, err = Load(name, text)
			entries = append(entries, of...)
		}
		if err != nil {
			refused = append(refused, err)
		}
	}
	left, faults := OfDirectory.Within(entries)
	b, more := Embedded().With(left)
	for _, f := range append(faults, more...) {
		refused = append(refused, f)
	}
	return b, entries, refused
}

// readFile reads a file that is not larger than Load allows.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: no file", name)
	case info.Size() > mostBytes:
		return nil, fmt.Errorf("%s: more than %d bytes", name, mostBytes)
	}
	return os.ReadFile(name)
}
