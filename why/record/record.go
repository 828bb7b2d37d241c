package record

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Version is the version of the file that this package writes.
const Version = 1

// Manifest says what a case is.
type Manifest struct {
	// Version is [Version]. Its key says what the file is.
	Version int `json:"whyletRecord"`
	// Time is the moment as of which the case is asked about.
	Time time.Time `json:"time"`
	// Namespace is the one that was recorded; empty: all.
	Namespace string `json:"namespace,omitempty"`
	// By is the program that recorded it.
	By string `json:"by,omitempty"`
	// Missing names what could not be read, and why.
	Missing []string `json:"missing,omitempty"`
	// Held are the lists of which all objects are in the case, by [Kind.Held]. Of any other list
	// nobody knows what is not in it. Nil stands for all lists of the namespace.
	Held []string `json:"held,omitempty"`
	// Absent are other namespaces, and Services in them as NAMESPACE/NAME, that the case names
	// and that do not exist.
	Absent []string `json:"absent,omitempty"`
	// Label is what a test expects of answers.
	Label json.RawMessage `json:"label,omitempty"`
}

// Case is what is known of a namespace, or of all of them, at a moment.
type Case struct {
	Manifest
	// Objects are those of the API server, in JSON, each with its apiVersion and kind.
	Objects []json.RawMessage
	// Logs are the last lines of containers with their times, by [LogOf].
	Logs map[string][]byte
	// Facts are what nodes remember, by the node's name: exported journals that are unpacked.
	Facts map[string][]byte
}

// LogOf returns the key of a container's log in [Case.Logs].
func LogOf(namespace, pod, container string, previous bool) string {
	run := "now"
	if previous {
		run = "previous"
	}
	return path.Join(namespace, pod, container+"."+run+".log")
}

// ErrNotRecord means that a file is not one that [Case.Write] wrote.
var ErrNotRecord = errors.New("not a recorded case")

// ErrNotWhole means that a file is a record, and that it cannot be read: it is larger than may be,
// cut short, damaged or of a newer program. It is an [ErrNotRecord] as well.
var ErrNotWhole = fmt.Errorf("%w that is whole", ErrNotRecord)

// Usual is to how many bytes a file may unpack where nothing else is said: a case is some
// hundred KiB.
const Usual = 256 << 20

// mostEntries bounds how many entries an archive has.
const mostEntries = 1 << 16

// Write writes the case as a tar archive that is compressed with zstd.
func (c *Case) Write(w io.Writer) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	return errors.Join(c.Append(t, ""), t.Close(), z.Close())
}

// Append writes the case as entries of an archive below a folder.
func (c *Case) Append(t *tar.Writer, folder string) error {
	c.Version = Version
	manifest, err := json.Marshal(c.Manifest)
	if err != nil {
		return err
	}
	put := func(name string, content []byte) error {
		h := &tar.Header{Name: path.Join(folder, name), Mode: 0o644, Size: int64(len(content)), ModTime: c.Time.Truncate(time.Second)}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := t.Write(content)
		return err
	}
	errs := []error{put(manifestName, manifest), put(objectsName, lines(c.Objects))}
	for _, name := range slices.Sorted(maps.Keys(c.Facts)) {
		errs = append(errs, put(path.Join(factsFolder, name+".facts"), c.Facts[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Logs)) {
		errs = append(errs, put(path.Join(logsFolder, name), c.Logs[name]))
	}
	return errors.Join(errs...)
}

// Home returns the namespace of the only object of a kind, in any case, and name; empty where
// there are several or none.
func (c *Case) Home(kind, name string) (namespace string) {
	for _, raw := range c.Objects {
		var o struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
		}
		if json.Unmarshal(raw, &o) != nil || o.Metadata.Name != name || !strings.EqualFold(o.Kind, kind) {
			continue
		}
		if namespace != "" {
			return ""
		}
		namespace = o.Metadata.Namespace
	}
	return namespace
}

// The names of the entries.
const (
	manifestName = "manifest.json"
	objectsName  = "objects.jsonl"
	factsFolder  = "facts"
	logsFolder   = "logs"
)

func lines(all []json.RawMessage) []byte {
	var b bytes.Buffer
	for _, one := range all {
		b.Write(one)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// Open reads a file that [Case.Write] wrote, of so many bytes at most once it is unpacked. The
// error is [ErrNotRecord] for any other.
func Open(file string, most int64) (*Case, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := Read(f, most)
	if err != nil {
		err = fmt.Errorf("reading %s: %w", file, err)
	}
	return c, err
}

// Read is [Open] for what is not on disk.
func Read(r io.Reader, most int64) (*Case, error) {
	in := bufio.NewReader(r)
	z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(most, 32<<20))))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var only *Case
	err = Each(tar.NewReader(io.LimitReader(z, most+mostEntries<<11)), most, func(_ string, c *Case) error {
		if only != nil {
			return fmt.Errorf("%w: there are several in it", ErrNotRecord)
		}
		only = c
		return nil
	})
	if err == nil && only == nil {
		err = ErrNotRecord
	}
	if err != nil {
		return nil, err
	}
	return only, nil
}

// Each calls f with each case of an archive, of so many bytes at most once it is unpacked, and the
// folder that it is in. The entries of a case follow one another, its manifest first.
func Each(t *tar.Reader, most int64, f func(folder string, c *Case) error) error {
	var c *Case
	folder, left := "", most
	failed := func(err error) error {
		if c != nil && c.Version > 0 {
			return fmt.Errorf("%w: %w", ErrNotWhole, err)
		}
		return fmt.Errorf("%w: %w", ErrNotRecord, err)
	}
	for n := 0; ; n++ {
		h, err := t.Next()
		if err == io.EOF {
			if c == nil {
				return nil
			}
			return f(folder, c)
		}
		switch {
		case err != nil:
			return failed(err)
		case n == mostEntries || h.Typeflag != tar.TypeReg:
			return failed(errors.New("it has more entries than a record, or others"))
		}
		if path.Base(h.Name) == manifestName {
			left = most
		}
		if h.Size > left {
			return failed(fmt.Errorf("it unpacks to more than %d MiB; raise --max-size", most>>20))
		}
		content, err := io.ReadAll(io.LimitReader(t, left+1))
		if err != nil {
			return failed(err)
		}
		left -= int64(len(content))
		if path.Base(h.Name) == manifestName {
			if c != nil {
				if err := f(folder, c); err != nil {
					return err
				}
			}
			folder, c = path.Dir(h.Name), &Case{Logs: map[string][]byte{}, Facts: map[string][]byte{}}
		}
		if c == nil {
			return ErrNotRecord
		}
		if err := c.take(strings.TrimPrefix(h.Name, strings.TrimPrefix(folder+"/", "./")), content); err != nil {
			return err
		}
	}
}

// take puts an entry into the case; one of a name that is not known is left out.
func (c *Case) take(name string, content []byte) error {
	first, rest, _ := strings.Cut(name, "/")
	switch first {
	case manifestName:
		if err := json.Unmarshal(content, &c.Manifest); err != nil || c.Version == 0 {
			return errors.Join(ErrNotRecord, err)
		}
		if c.Version > Version {
			return fmt.Errorf("%w: it has version %d, known is %d; use a newer kubectl-why", ErrNotWhole, c.Version, Version)
		}
	case objectsName:
		for line := range bytes.Lines(content) {
			if !json.Valid(line) {
				return fmt.Errorf("%w: an object in it is no JSON", ErrNotRecord)
			}
			line = bytes.TrimSpace(line)
			if err := Sound(line); err != nil {
				c.Missing = append(c.Missing, "an object: "+err.Error())
				continue
			}
			c.Objects = append(c.Objects, json.RawMessage(line))
		}
	case factsFolder:
		c.Facts[strings.TrimSuffix(rest, ".facts")] = content
	case logsFolder:
		if strings.Count(rest, "/") == 1 { // of a case that names no namespace in them
			rest = path.Join(c.Namespace, rest)
		}
		c.Logs[rest] = content
	}
	return nil
}
