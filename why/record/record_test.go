package record

import (
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
