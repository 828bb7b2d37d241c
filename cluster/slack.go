package cluster

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// calmSlack is how late the kernel may end a wait for a point in time, so that it
// can end several with one wake-up. The components here have some hundred tickers,
// each at its own moment, and on a node at rest to be woken costs more than all that
// is done then: with the kernel's 50 µs it is twice the CPU time. Whatever comes from
// outside (a request, an answer, a process that ends) wakes the process at once, and
// on a busy machine the kernel's own tick, four milliseconds at most, ends the waits
// that are due.
const calmSlack = 10 * time.Millisecond

// slacken sets the slack of all threads (prctl(2), PR_SET_TIMERSLACK); those that come
// later have it from them. Processes that are started have it too: see how
// cluster/runtime starts containerd. Without CAP_SYS_NICE it stays as it is.
func slacken(slack time.Duration) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, thread := range threads {
		// A thread has this file below its own number only. One that ended needs none.
		file := filepath.Join("/proc", thread.Name(), "timerslack_ns")
		_ = os.WriteFile(file, []byte(strconv.FormatInt(slack.Nanoseconds(), 10)), 0)
	}
}
