package pressure

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"whylet.dev/whylet/evidence/cgroupfs"
)

// An alarm wakes the manager long before its next look is due.
func TestAlarmWakes(t *testing.T) {
	rings := make(chan struct{}, 1)
	looked := make(chan struct{}, 10)
	f := &fakeNode{use: map[string]int64{}, capacity: 1 << 40, disk: 50}
	m := f.manager(nil, testclock.NewFakeClock(day))
	read := m.c.Read
	m.c.Wake = rings
	m.c.Read = func() Readings { looked <- struct{}{}; return read() }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { m.Run(ctx); close(done) }()
	for range 3 { // on a clock that stands still only an alarm ends a pause
		<-looked
		rings <- struct{}{}
	}
	<-looked
	cancel()
	<-done
}

// The kernel rings when a cgroup's memory crosses the level, and not before.
func TestLevelNotice(t *testing.T) {
	layout, err := cgroupfs.DetectLayout()
	if err != nil || layout.V2 || os.Geteuid() != 0 {
		t.Skip("needs root and cgroup version 1")
	}
	group := layout.At("/whylet-alarm-test")
	if err := os.Mkdir(group.Memory, 0o755); err != nil {
		t.Skipf("no cgroup of its own: %v", err)
	}
	defer os.Remove(group.Memory)
	a := &Alarm{pods: group, wake: make(chan struct{}, 1)}
	defer a.Close()
	if err := a.Set(16 << 20); err != nil {
		t.Fatal(err)
	}
	first := a.level
	if err := a.Set(17 << 20); err != nil || a.level != first {
		t.Errorf("a level that hardly moved was set anew: %v", err)
	}
	if err := a.Set(32 << 20); err != nil || a.level == first {
		t.Errorf("a level that moved was not set: %v", err)
	}
	// Page cache of a file that is written in the cgroup is charged to it.
	eat(t, group, filepath.Join(t.TempDir(), "file"), 64)
	select {
	case <-a.Rings():
	case <-time.After(time.Minute):
		t.Error("64 MiB were used, and it did not ring")
	}
}

// The kernel rings when those in a cgroup wait for memory (version 2 only).
func TestStallNotice(t *testing.T) {
	layout, err := cgroupfs.DetectLayout()
	if err != nil || !layout.V2 || os.Geteuid() != 0 {
		t.Skip("needs root and cgroup version 2")
	}
	group := layout.At("/whylet-stall-test")
	if err := os.Mkdir(group.Unified, 0o755); err != nil {
		t.Skipf("no cgroup of its own: %v", err)
	}
	defer os.Remove(group.Unified)
	// Above this it is slowed down, and memory without a place to go stays above.
	if err := os.WriteFile(filepath.Join(group.Unified, "memory.high"), []byte("4M"), 0); err != nil {
		t.Skipf("no memory controller: %v", err)
	}
	a, err := NewAlarm(group)
	if err != nil {
		t.Skipf("no pressure triggers here: %v", err)
	}
	defer a.Close()
	if own := filepath.Join(group.Unified, "memory.pressure"); a.stall.Name() != own {
		t.Errorf("the trigger is on %s, not on %s", a.stall.Name(), own)
	}
	ctx, cancel := context.WithCancel(t.Context())
	eater := exec.CommandContext(ctx, "sh", "-c", "read x; exec dd if=/dev/zero of=/dev/null bs=32M")
	in, err := eater.StdinPipe()
	if err == nil {
		err = eater.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = eater.Wait() }()
	if err := os.WriteFile(filepath.Join(group.Unified, "cgroup.procs"), fmt.Append(nil, eater.Process.Pid), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.Rings():
	case <-time.After(2 * time.Minute):
		t.Error("a process was held back for want of memory, and it did not ring")
	}
	if s, err := group.Read(); err != nil || s.MemoryHigh != 4<<20 || s.HighEvents == 0 || s.MemorySome == 0 {
		t.Errorf("the throttling cannot be seen: %v, memory.high %d exceeded %d times, stalled for %v", err, s.MemoryHigh, s.HighEvents, s.MemorySome)
	}
}

// eat lets a process in the cgroup write so many MiB. It waits for its standard
// input until it is there.
func eat(t *testing.T, group cgroupfs.Group, file string, mib int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf("read x; exec dd if=/dev/zero of=%s bs=1M count=%d", file, mib))
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(group.Memory, "cgroup.procs"), fmt.Append(nil, cmd.Process.Pid), 0); err != nil {
		t.Error(err)
	}
	if _, err := in.Write([]byte("go\n")); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestNewAlarm(t *testing.T) {
	a, err := NewAlarm(cgroupfs.Group{})
	if err != nil {
		t.Skipf("no pressure triggers here: %v", err)
	}
	a.ring()
	a.ring()
	<-a.Rings()
	if err := a.Set(1 << 30); err != nil {
		t.Errorf("without a cgroup: %v", err)
	}
	a.Close()
}

// The level is where the working set would reach the threshold.
func TestLevel(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "memory.stat"), []byte("cache 5\ntotal_inactive_file 7000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &Alarm{pods: cgroupfs.Group{Memory: dir}}
	readings := Readings{AllocatableMemory: {Available: 1, Capacity: 1 << 30}, MemoryAvailable: {Available: 1, Capacity: 2 << 30}}
	if at, ok := a.Level(Defaults(), readings); !ok || at != 1<<30-100<<20+7000 {
		t.Errorf("%d, %v", at, ok)
	}
	if _, ok := a.Level(Defaults(), Readings{}); ok {
		t.Error("a level of nothing")
	}
}
