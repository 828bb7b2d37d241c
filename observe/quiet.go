package observe

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// wakeSlack is how late the kernel may end a wait for a moment, to end several with one
// wake-up (PR_SET_TIMERSLACK). What comes from outside wakes the agent at once.
const wakeSlack = 10 * time.Millisecond

// nice is how far it gives way to who shares its cgroup, or has none, as an agent that was started
// by hand does: a tenth of a share. In a pod its request of CPU time says that.
const nice = 10

// Quieten has the agent disturb its machine less: no thread of it takes a processor from
// somebody who uses it (SCHED_BATCH, and nice), and its waits end together. It works on one processor
// at a time: to spread over others what takes a moment costs more than the moment. Where
// the kernel refuses, it stays as it is.
func Quieten() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	batch := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Nice: nice}
	for _, thread := range threads { // later ones have it from these
		if tid, err := strconv.Atoi(thread.Name()); err == nil {
			_ = unix.SchedSetAttr(tid, &batch, 0) // it may be gone
		}
		// A thread has this file below its own number only.
		file := filepath.Join("/proc", thread.Name(), "timerslack_ns")
		_ = os.WriteFile(file, []byte(strconv.FormatInt(wakeSlack.Nanoseconds(), 10)), 0)
	}
}
