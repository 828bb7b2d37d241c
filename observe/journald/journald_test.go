package journald

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recorded unpacks a file that systemd 252 wrote: 60 entries, one each 100 ms, of which
// 40 are kubelet's, one of them compressed.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", name+".journal.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	in, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// machine makes the paths of a machine whose journal is this.
func machine(t *testing.T, live []byte) (root, path string) {
	t.Helper()
	root = t.TempDir()
	path = filepath.Join(root, "var/log/journal/4e8ee0d4/system.journal")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, path, live)
	return root, path
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

var began = time.Unix(1763860000, 0).UTC()

// Only the unit's records come, in order, whole, from the moment on that was asked for;
// in both forms in which systemd writes files.
func TestFollow(t *testing.T) {
	for _, form := range []string{"compact", "regular"} {
		t.Run(form, func(t *testing.T) {
			root, path := machine(t, recorded(t, form))
			var lines []string
			ctx, cancel := context.WithCancel(t.Context())
			since := began.Add(time.Second)
			record := func(at time.Time, text string) {
				if at.Before(since) {
					t.Errorf("%v is before %v", at, since)
				}
				lines = append(lines, text)
			}
			if err := Follow(ctx, root, "kubelet.service", since, record, cancel); err != nil {
				t.Fatal(err)
			}
			if len(lines) != 34 || !strings.HasSuffix(lines[0], `"line 10"`) || !strings.HasSuffix(lines[33], `"line 59"`) {
				t.Errorf("%d lines: %q", len(lines), lines)
			}
			if !strings.Contains(strings.Join(lines, "\n"), strings.Repeat("x", 700)) {
				t.Error("the compressed line is missing")
			}
			if _, err := find(filepath.Dir(path)); err == nil {
				t.Error("a journal where none is")
			}
		})
	}
}

// When the file is replaced, the new one is read from its beginning; older ones are read
// first.
func TestFilesAreRotated(t *testing.T) {
	b := recorded(t, "compact")
	root, path := machine(t, b)
	write(t, filepath.Join(filepath.Dir(path), "system@1-2-3.journal"), b)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	n := 0
	record := func(time.Time, string) {
		if n++; n == 3*40 {
			cancel()
		}
	}
	rotate := func() {
		if n != 2*40 {
			t.Errorf("%d lines before", n)
		}
		write(t, path+".new", b)
		if err := os.Rename(path+".new", path); err != nil {
			t.Error(err)
		}
	}
	if err := Follow(ctx, root, "kubelet.service", time.Time{}, record, rotate); err != nil || n != 3*40 {
		t.Errorf("%d lines, %v", n, err)
	}
}

// Whatever a file holds, reading it ends, and does not panic.
func FuzzFile(f *testing.F) {
	b := recorded(f, "compact")
	f.Add(uint32(120), []byte{0xff, 0xff})
	f.Add(uint32(200), []byte("x"))
	f.Add(uint32(len(b)/100), bytes.Repeat([]byte{0x10}, 64))
	path := filepath.Join(f.TempDir(), "j")
	f.Fuzz(func(t *testing.T, at uint32, change []byte) {
		broken := bytes.Clone(b[:1<<20])
		copy(broken[min(int(at), len(broken)):], change)
		one := fmt.Sprintf("%s-%d", path, os.Getpid())
		write(t, one, broken)
		file, err := open(one)
		if err != nil {
			return
		}
		defer file.close()
		r := reader{unit: "kubelet.service", record: func(time.Time, string) {}}
		r.begin(file)
		r.more()
	})
}
