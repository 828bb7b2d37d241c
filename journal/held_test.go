package journal

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whylet.dev/whylet/fact"
)

// hold makes what a slot is to hold of facts.
func hold(t testing.TB, s *Slot, facts ...fact.Fact) Hold {
	t.Helper()
	h := Hold{Slot: s}
	for _, f := range facts {
		p, err := Pack(f)
		must(t, err)
		h.Facts = append(h.Facts, p)
	}
	return h
}

// What is held is in the answers, also of another process and after a crash, until it is
// replaced or freed.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	var a, b Slot
	must(t, j.Change(Change{Hold: []Hold{hold(t, &a, success(1, testPod(1), 1)), hold(t, &b, success(2, testPod(2), 2))}}))
	must(t, j.Change(Change{
		Write: []fact.Fact{failure(4, testPod(2), 4)}, Free: []*Slot{&b},
		Hold: []Hold{hold(t, &a, success(1, testPod(1), 1), success(3, testPod(1), 3))},
	}))
	is := func(what string, facts []fact.Fact, want ...fact.ID) {
		t.Helper()
		if !slices.Equal(ids(facts), want) {
			t.Errorf("%s: %v, not %v", what, ids(facts), want)
		}
	}
	is("all", collect(t, j.Query(Query{})), 1, 3, 4)
	is("written", collect(t, j.Query(Query{Written: true})), 4)
	is("of the pod", collect(t, j.Query(Query{UID: testPod(1).UID})), 1, 3)
	r, err := OpenReader(dir)
	must(t, err)
	defer r.Close()
	is("another process", collect(t, r.Query(Query{})), 1, 3, 4)
	is("another process, written", collect(t, r.Query(Query{Written: true})), 4)
	crash(j)
	j = open(t, dir, Options{})
	is("after a crash", collect(t, j.Query(Query{})), 1, 3, 4)
	if next := j.Next(1); next <= 4 {
		t.Errorf("the next id is %d", next)
	}
	left := j.Left()
	if len(left) != 1 || len(j.Left()) != 0 {
		t.Errorf("%d slots are left", len(left))
	}
	if err := j.Change(Change{Write: []fact.Fact{{ID: 9}}, Free: left}); err == nil {
		t.Error("a fact without a body is no error")
	}
	is("after an error", collect(t, j.Query(Query{})), 1, 3, 4)
	must(t, j.Change(Change{Write: []fact.Fact{success(1, testPod(1), 1)}, Free: left}))
	is("freed", collect(t, j.Query(Query{})), 1, 4)
}

// What is too large to be held is written.
func TestTooLargeToBeHeld(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	f := success(1, testPod(1), 1)
	f.Body = fact.Lost{Source: "x", Reason: strings.Repeat("x", maxImage)}
	var s Slot
	must(t, j.Change(Change{Hold: []Hold{hold(t, &s, f)}}))
	if got := collect(t, j.Query(Query{Written: true})); len(got) != 1 || len(s.Facts()) != 0 {
		t.Errorf("%d facts are written, %d held", len(got), len(s.Facts()))
	}
}

// TestSlotsThatAreNotPacked has a slot in the form of the first journals.
func TestSlotsThatAreNotPacked(t *testing.T) {
	image := beginFrame(nil, frameFacts)
	for i := range 3 {
		record, _, err := appendRecord(nil, success(fact.ID(i+1), testPod(1), i))
		must(t, err)
		image = append(binary.AppendUvarint(image, uint64(len(record))), record...)
	}
	endFrame(image, 0)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, slotsFile), image, fileMode))
	j := open(t, dir, Options{})
	if got := collect(t, j.Query(Query{})); len(got) != 3 {
		t.Errorf("%v", ids(got))
	}
	left := j.Left()
	if len(left) != 1 || len(left[0].Facts()) != 3 || len(collect(t, j.Query(Query{}))) != 3 {
		t.Errorf("left are %d", len(left))
	}
	must(t, j.Change(Change{Free: left}))
	if got := collect(t, j.Query(Query{})); len(got) != 0 {
		t.Errorf("freed, and there are %v", ids(got))
	}
}
