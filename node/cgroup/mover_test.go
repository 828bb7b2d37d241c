package cgroup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"whylet.dev/whylet/evidence/cgroupfs"
)

// While somebody expects a move, and only then, the agent moves itself.
func TestMoverMovesWhileExpected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cgroup.procs")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	asked := make(chan bool, 10)
	m := &mover{procs: func() (string, error) { asked <- true; return file, nil }}
	first := m.expect()
	second := m.expect()
	first()
	first() // once is enough
	size := func() int64 {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	more := func(than int64) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); size() <= than; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("no more than %d moves", size())
			}
		}
	}
	more(0)
	more(size())
	stop := m.stop
	second()
	<-stop
	if len(asked) != 1 {
		t.Errorf("%d files were opened, not one", len(asked))
	}
	m.expect()()
	for range 2 {
		<-asked
	}
}

// The agent stays where it is, whatever this machine lets it do.
func TestMoverChangesNothing(t *testing.T) {
	layout, err := cgroupfs.DetectLayout()
	if err != nil {
		t.Skip("needs a machine with cgroups:", err)
	}
	where := func() string {
		own, err := os.ReadFile("/proc/self/cgroup")
		if err != nil {
			t.Fatal(err)
		}
		return string(own)
	}
	before := where()
	path, err := ownProcs(layout)
	if err != nil {
		t.Skip("needs to see its own cgroup:", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Skip("needs root, to move itself to its own cgroup:", err)
	}
	defer f.Close()
	if _, err := f.WriteString("0"); err != nil {
		t.Skip("needs root, to move itself to its own cgroup:", err)
	}
	if after := where(); after != before {
		t.Errorf("moved from\n%sto\n%s", before, after)
	}
}
