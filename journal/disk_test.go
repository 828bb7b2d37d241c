package journal

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
)

// smallDisk mounts a filesystem of its own.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("journal-test", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
	return dir
}

// TestFullDisk fills a disk for real, goes on, and makes room again.
func TestFullDisk(t *testing.T) {
	disk := smallDisk(t, "size=1m")
	dir := filepath.Join(disk, "journal")
	j := open(t, dir, Options{})
	want := []fact.ID{}
	add := func() {
		f := failure(j.Next(1), testPod(len(want)%3), len(want))
		must(t, j.Append(f))
		want = append(want, f.ID)
	}
	add()
	must(t, os.WriteFile(filepath.Join(disk, "hog"), nil, 0o600))
	fill(t, filepath.Join(disk, "hog"))
	for j.Degraded() == "" {
		add()
	}
	if s := j.Degraded(); !strings.Contains(s, "no space left on device") {
		t.Errorf("degraded: %s", s)
	}
	if err := j.Sync(); err == nil {
		t.Error("Sync says that facts in memory are durable")
	}
	for range 100 {
		add()
	}
	if got := ids(collect(t, j.Query(Query{}))); !slices.Equal(got, want) {
		t.Fatalf("while the disk is full, %d facts are served, not %d", len(got), len(want))
	}
	r, err := OpenReader(dir)
	must(t, err)
	defer r.Close()
	if got := collect(t, r.Query(Query{})); len(got) == 0 || len(got) > len(want)-100 {
		t.Errorf("another process sees %d facts", len(got))
	}
	must(t, os.Remove(filepath.Join(disk, "hog")))
	eventually(t, "it recovers by itself", func() bool { return j.Degraded() == "" })
	add()
	must(t, j.Sync())
	crash(j)
	j = open(t, dir, Options{})
	if got := ids(collect(t, j.Query(Query{}))); !slices.Equal(got, want) {
		t.Errorf("after a restart there are %d facts, not %d", len(got), len(want))
	}
}

// fill writes to a file until nothing more fits.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	for size := 64 << 10; size > 0; size /= 2 {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		err = nil
	}
}

// TestMemoryIsBounded has an outage that memory cannot hold: the oldest facts
// go, and how many is written down.
func TestMemoryIsBounded(t *testing.T) {
	disk := smallDisk(t, "size=2m")
	j := open(t, filepath.Join(disk, "journal"), Options{MemoryBytes: 64 << 10})
	must(t, os.WriteFile(filepath.Join(disk, "hog"), nil, 0o600))
	fill(t, filepath.Join(disk, "hog"))
	n := 0
	for ; n < 1000 || j.Degraded() == ""; n++ {
		must(t, j.Append(failure(j.Next(1), testPod(1), n)))
	}
	if !strings.Contains(j.Degraded(), "lost") {
		t.Errorf("degraded: %s", j.Degraded())
	}
	must(t, os.Remove(filepath.Join(disk, "hog")))
	var got []fact.Fact
	eventually(t, "it recovers, and tells of the loss", func() bool { // which it does once it has recovered
		got = collect(t, j.Query(Query{}))
		return j.Degraded() == "" && len(ofKind(got, "Lost")) > 0
	})
	lost := ofKind(got, "Lost")
	if len(lost) != 1 {
		t.Fatalf("%d facts say that something is lost", len(lost))
	}
	if l, _ := lost[0].Body.(fact.Lost); int(l.Count)+len(got)-1 != n || l.Source != "journal" {
		t.Errorf("%d facts were appended, %d are there, and %+v", n, len(got)-1, l)
	}
}

func TestDirectoryThatComesLater(t *testing.T) {
	disk := smallDisk(t, "size=1m,mode=0500")
	blocked := filepath.Join(disk, "not-a-directory")
	must(t, os.WriteFile(blocked, nil, 0o600))
	dir := filepath.Join(blocked, "journal")
	j := open(t, dir, Options{})
	if !strings.Contains(j.Degraded(), "not a directory") {
		t.Errorf("degraded: %q", j.Degraded())
	}
	first := j.Next(1)
	must(t, j.Append(failure(first, testPod(1), 0)))
	must(t, j.Append(success(j.Next(1), testPod(1), 1)))
	must(t, os.Remove(blocked))
	eventually(t, "it moves to the disk", func() bool { return j.Degraded() == "" })
	must(t, j.Append(failure(j.Next(1), testPod(1), 2)))
	r, err := OpenReader(dir)
	must(t, err)
	defer r.Close()
	if got := ids(collect(t, r.Query(Query{}))); !slices.Equal(got, []fact.ID{first, first + 1, first + 2}) {
		t.Errorf("on the disk are %v", got)
	}
}
