package record

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func small() *Case {
	return &Case{
		Manifest: Manifest{Time: time.Unix(1700000000, 5).UTC(), Namespace: "shop", By: "test", Missing: []string{"secrets: forbidden"}},
		Objects:  []json.RawMessage{json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web"}}`)},
		Logs:     map[string][]byte{LogOf("shop", "web", "app", true): []byte("2026-01-01T00:00:00Z bye\n")},
		Facts:    map[string][]byte{"n": []byte("{\"whyletJournal\":1}\n{\"facts\":0}\n")},
	}
}

func TestFile(t *testing.T) {
	want := small()
	var file bytes.Buffer
	if err := want.Write(&file); err != nil {
		t.Fatal(err)
	}
	got, err := Read(bytes.NewReader(file.Bytes()), Usual)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("wrote %+v, read %+v, %v", want, got, err)
	}
	if _, err := Read(bytes.NewReader(file.Bytes()[:file.Len()/2]), Usual); !errors.Is(err, ErrNotRecord) {
		t.Error("of half a file:", err)
	}
	if _, err := Read(strings.NewReader("something else"), Usual); !errors.Is(err, ErrNotRecord) {
		t.Error("of another file:", err)
	}
}

// reread writes a case and reads it again.
func reread(t *testing.T, c *Case) *Case {
	t.Helper()
	var file bytes.Buffer
	if err := c.Write(&file); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&file, Usual)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestNotWhole(t *testing.T) {
	c := small()
	c.Logs["shop/web/app.now.log"] = bytes.Repeat([]byte("x"), 3<<20)
	var file bytes.Buffer
	if err := c.Write(&file); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(bytes.NewReader(file.Bytes()), 2<<20); !errors.Is(err, ErrNotWhole) || !strings.Contains(err.Error(), "raise --max-size") {
		t.Error("of one that is too large:", err)
	}
	if _, err := Read(strings.NewReader("something else"), Usual); errors.Is(err, ErrNotWhole) {
		t.Error("of another file:", err)
	}
	whole := archived(t)
	for name, archive := range map[string][]byte{"cut short": whole[:1600], "sparse": whole} {
		err := Each(tar.NewReader(bytes.NewReader(archive)), 1<<20, func(string, *Case) error { return nil })
		if !errors.Is(err, ErrNotWhole) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// archived is a record with a log that unpacks to 1 PiB of zeros.
func archived(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	manifest := `{"whyletRecord":1}`
	one := w.WriteHeader(&tar.Header{Name: manifestName, Size: int64(len(manifest))})
	_, errOne := w.Write([]byte(manifest))
	two := w.WriteHeader(&tar.Header{Name: "logs/shop/web/app.now.log", Size: 1, PAXRecords: map[string]string{
		"GNU_sparse.numblocks": "1", "GNU_sparse.map": "0,1", "GNU_sparse.size": "1125899906842624", // which the writer leaves out with a dot
	}})
	_, errTwo := w.Write([]byte("x"))
	if err := errors.Join(one, errOne, two, errTwo, w.Close()); err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(b.Bytes(), []byte("GNU_sparse"), []byte("GNU.sparse"))
}

func FuzzRead(f *testing.F) {
	var file bytes.Buffer
	if err := small().Write(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Fuzz(func(_ *testing.T, raw []byte) {
		c, err := Read(bytes.NewReader(raw), Usual)
		if err == nil {
			_, _ = c.Client(true)
		}
	})
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", mostLine+1)
	got := string(Lines([]byte(strings.Repeat("a\n", 100) + long + "\ntoken=abc123\n")))
	if n := strings.Count(got, "\n"); n != LastLines {
		t.Error(n, "lines")
	}
	if strings.Contains(got, long) || strings.Contains(got, "abc123") || !strings.HasSuffix(got, "\n") {
		t.Error("recorded", got)
	}
}
