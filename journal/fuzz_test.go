package journal

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"whylet.dev/whylet/fact"
)

// FuzzLog has a log of any bytes: it is read without a panic, every fact that
// comes out is a fact, and a journal opens on it.
func FuzzLog(f *testing.F) {
	_, path := written(f, 3)
	whole, err := os.ReadFile(path)
	must(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)-5])
	f.Add([]byte(logMagic))
	f.Add(append([]byte(logMagic), make([]byte, 100)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scanFrames(data, 0, newNames())
		for _, e := range s.entries {
			if e.off < 0 || e.off+int64(e.n) > int64(len(data)) || e.id == 0 {
				t.Fatalf("entry %+v of %d bytes", e, len(data))
			}
		}
		if s.end > int64(len(data)) || s.next > int64(len(data)) {
			t.Fatalf("ends at %d and %d of %d bytes", s.end, s.next, len(data))
		}
	})
}

// FuzzSegment has a segment of any bytes.
func FuzzSegment(f *testing.F) {
	dir := f.TempDir()
	j := open(f, dir, Options{})
	for i := range 5 {
		must(f, j.Append(failure(j.Next(1), testPod(i%2), i)))
	}
	must(f, j.commitAndSeal())
	must(f, j.Close())
	name := segmentName{1, 1, 0}
	whole, err := os.ReadFile(filepath.Join(dir, name.String()))
	must(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)-trailerSize])
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), name.String())
		must(t, os.WriteFile(path, data, fileMode))
		s, err := openSegment(path, name)
		if s == nil {
			t.Fatal(err)
		}
		defer s.f.Close()
		view{segs: []*segment{s}}.each(Query{}, func(f fact.Fact, err error) bool {
			if err == nil && f.ID == 0 {
				t.Error("a fact without an id")
			}
			return true
		})
	})
}

// FuzzSlots has a file of slots of any bytes.
func FuzzSlots(f *testing.F) {
	dir := f.TempDir()
	j := open(f, dir, Options{})
	var a, b Slot
	must(f, j.Change(Change{Hold: []Hold{hold(f, &a, success(1, testPod(0), 1), success(2, testPod(0), 2)), hold(f, &b, success(3, testPod(1), 3))}}))
	whole, err := os.ReadFile(filepath.Join(dir, slotsFile))
	must(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)-5])
	f.Fuzz(func(t *testing.T, data []byte) {
		left, n, err := readSlots(bytes.NewReader(data))
		if err != nil || len(left) > n {
			t.Fatalf("%d are held in %d slots: %v", len(left), n, err)
		}
		for _, s := range left {
			if len(s.facts) == 0 || s.facts[0].Fact.ID == 0 {
				t.Fatalf("read %+v", s)
			}
		}
	})
}

// FuzzSlotBody gets behind the checksums: what a slot holds is of any bytes.
func FuzzSlotBody(f *testing.F) {
	record, _, err := appendRecord(nil, success(1, testPod(1), 1))
	must(f, err)
	facts := append(binary.AppendUvarint(nil, uint64(len(record))), record...)
	f.Add(byte(frameFacts), facts)
	f.Add(byte(framePacked), s2.Encode(nil, facts))
	f.Add(byte(framePacked), []byte{0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		b := append(beginFrame(nil, kind), body...)
		endFrame(b, 0)
		readHalf(append(b, make([]byte, max(0, slotBytes-len(b)))...))
	})
}

// FuzzRead has a portable file of any bytes, packed or not.
func FuzzRead(f *testing.F) {
	dir, _ := written(f, 3)
	r, err := OpenReader(dir)
	must(f, err)
	defer r.Close()
	var file bytes.Buffer
	_, err = Export(&file, Header{Node: "n1"}, r.Query(Query{}))
	must(f, err)
	dec, err := zstd.NewReader(nil)
	must(f, err)
	plain, err := dec.DecodeAll(file.Bytes(), nil)
	must(f, err)
	f.Add(file.Bytes())
	f.Add(plain)
	f.Add(plain[:len(plain)-20])
	f.Add([]byte("{\"whyletJournal\":2}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := NewFile(bytes.NewReader(data))
		if file == nil {
			if err == nil {
				t.Fatal("neither a file nor an error")
			}
			return
		}
		n := 0
		for f, err := range file.Query(Query{}) {
			if err != nil || f.ID == 0 {
				t.Fatalf("fact %d: %v", f.ID, err)
			}
			n++
		}
		if int64(n) != file.Stats().Facts {
			t.Fatalf("%d facts, the stats say %d", n, file.Stats().Facts)
		}
	})
}
