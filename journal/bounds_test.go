package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// bomb is a small file that unpacks to so many facts with so long a message each.
func bomb(t testing.TB, facts, long int) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	must(t, err)
	fmt.Fprintf(z, "{\"whyletJournal\":1,\"node\":\"n\"}\n")
	text := bytes.Repeat([]byte("A"), long)
	for i := range facts {
		fmt.Fprintf(z, `{"id":%d,"seen":"2026-11-21T05:51:55Z","pod":{"namespace":"x","name":"y","uid":"z"},"ctr":"c","kind":"Exited","body":{"containerID":"","exitCode":1,"message":"%s"}}`+"\n", i+1, text)
	}
	fmt.Fprintf(z, "{\"facts\":%d}\n", facts)
	must(t, z.Close())
	return out.Bytes()
}

// resident is how much memory is in use.
func resident() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A hundred kilobytes that unpack to a gigabyte are given up, whoever reads them.
func TestBombs(t *testing.T) {
	text := bomb(t, 2000, 600_000)
	t.Logf("%d KiB unpack to 1.2 GB", len(text)>>10)
	before := resident()
	for name, read := range map[string]func() error{
		"a file of one's own": func() error { _, err := NewFile(bytes.NewReader(text)); return err },
		"what a node gives": func() error {
			_, err := Bounds{Bytes: 64 << 20, Facts: 200_000}.NewFile(bytes.NewReader(text))
			return err
		},
		"a file that is read": func() error {
			_, facts, err := Read(bytes.NewReader(text))
			if err != nil {
				return err
			}
			for _, err := range facts {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"an import": func() error {
			dir := filepath.Join(t.TempDir(), "imported")
			_, err := Import(dir, bytes.NewReader(text))
			if _, there := os.Stat(dir); there == nil {
				t.Error("what was imported is left")
			}
			return err
		},
		"facts without end": func() error {
			_, err := Bounds{Bytes: 64 << 20, Facts: 1000}.NewFile(bytes.NewReader(bomb(t, 2000, 1)))
			return err
		},
		"one line without end": func() error {
			_, err := NewFile(bytes.NewReader(bomb(t, 1, 400<<20)))
			return err
		},
	} {
		if err := read(); !errors.Is(err, ErrTooLarge) && name != "one line without end" || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := resident(); after > before+64<<20 {
		t.Errorf("%d MiB before, %d after", before>>20, after>>20)
	}
	if _, err := NewFile(bytes.NewReader(bomb(t, 1000, 1000))); err != nil {
		t.Errorf("what is not large: %v", err)
	}
}

// A history whose lines need not even be unpacked to see that it is too large is called that.
func TestTooLargeIsNoOtherError(t *testing.T) {
	text := bomb(t, 2000, 1000)
	for most := int64(1); most < 1<<20; most *= 4 {
		_, err := Bounds{Bytes: most}.NewFile(bytes.NewReader(text))
		if !errors.Is(err, ErrTooLarge) || !bytes.Contains([]byte(err.Error()), []byte("--max-size")) {
			t.Errorf("%d bytes: %v", most, err)
		}
	}
}

// A frame that claims to refer far back gets no memory for it.
func TestWindowIsBounded(t *testing.T) {
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, zstd.WithWindowSize(512<<20))
	must(t, err)
	_, err = io.WriteString(z, "{\"whyletJournal\":1}\n")
	must(t, err)
	must(t, z.Flush())
	_, err = z.Write(bytes.Repeat([]byte("{}\n"), 1<<20))
	must(t, err)
	must(t, z.Close())
	if _, err := NewFile(&out); err == nil {
		t.Error("a window of 512 MiB is taken")
	}
}
