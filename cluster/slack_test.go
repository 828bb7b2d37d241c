package cluster

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestSlacken sets the slack of every thread that there is.
func TestSlacken(t *testing.T) {
	if _, err := os.Stat("/proc/self/timerslack_ns"); err != nil {
		t.Skip("the kernel has no /proc/PID/timerslack_ns to read and write: ", err)
	}
	defer slacken(50 * time.Microsecond)
	for deadline := time.Now().Add(time.Minute); ; {
		slacken(2 * time.Millisecond)
		others := unslackened(t, "2000000")
		if len(others) == 0 {
			return
		}
		if time.Now().After(deadline) { // a thread may have come while the others were told
			t.Fatalf("threads with another slack: %v", others)
		}
	}
}

// unslackened lists the threads that have another slack, in nanoseconds.
func unslackened(t *testing.T, slack string) (others []string) {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		file := fmt.Sprintf("/proc/%s/timerslack_ns", thread.Name())
		has, err := os.ReadFile(file)
		if errors.Is(err, os.ErrPermission) {
			t.Skip("needs CAP_SYS_NICE, to set the slack of other threads: ", err)
		}
		if err == nil && strings.TrimSpace(string(has)) != slack {
			others = append(others, thread.Name())
		}
	}
	return others
}
