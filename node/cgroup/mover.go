package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/cgroups"

	"whylet.dev/whylet/evidence/cgroupfs"
)

// mover keeps the kernel ready to move processes between cgroups.
//
// Who moves one takes a lock that every fork and exit of the machine shares, and that
// costs those next to nothing because the first to take it waits for a grace period
// of RCU: some twelve milliseconds at 250 ticks a second, a fifth of what the start of
// a container takes. Whoever comes within another one of the last finds it ready
// (kernel/cgroup/cgroup.c, cgroup_attach_lock; kernel/rcu/sync.c). So while the
// runtime starts a container, the agent moves itself to where it is, which changes
// nothing, and the wait is over before the runtime comes to its move. The mount
// option favordynmods would do the same for good, and for all of the machine.
type mover struct {
	// procs gives the file through which the agent moves itself to where it is.
	procs func() (string, error)

	mu       sync.Mutex
	expected int
	stop     chan struct{}
}

// moveEvery is short enough for the lock to stay ready; a move that has nothing to
// do takes less than a tenth of a millisecond of CPU time.
const moveEvery = 4 * time.Millisecond

// Expect says that the runtime is about to move a process into a cgroup, until done
// is called. Where the agent may not, nothing is won and nothing lost.
func (m *Manager) Expect() (done func()) { return m.mover.expect() }

func (m *mover) expect() (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expected++
	if m.expected == 1 {
		m.stop = make(chan struct{})
		go m.keepReady(m.stop)
	}
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.expected--; m.expected == 0 {
			close(m.stop)
		}
	})
}

func (m *mover) keepReady(stop <-chan struct{}) {
	path, err := m.procs() // anew each time: somebody may have moved the agent
	if err != nil {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	tick := time.NewTicker(moveEvery)
	defer tick.Stop()
	for {
		if _, err := f.WriteString("0"); err != nil { // 0: who writes it
			return
		}
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// ownProcs is the file through which processes join this process's cgroup. It is
// looked into first: in a namespace of its own the agent may be told another path than
// that by which its cgroup is mounted, and must not move there.
func ownProcs(l cgroupfs.Layout) (string, error) {
	own, err := cgroups.ParseCgroupFile("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("own cgroup: %w", err)
	}
	controller := "memory"
	if l.V2 {
		controller = ""
	}
	file := filepath.Join(l.At(own[controller]).Main(), "cgroup.procs")
	pids, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("own cgroup: %w", err)
	}
	if !slices.Contains(strings.Fields(string(pids)), strconv.Itoa(os.Getpid())) {
		return "", fmt.Errorf("this process is not in %s", file)
	}
	return file, nil
}
