package runtime

import (
	"bytes"
	"os/exec"
	goruntime "runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStartPunctual starts a process from a thread whose timers may be late.
func TestStartPunctual(t *testing.T) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	own, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	const late = 3_000_000
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, late, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(own), 0, 0, 0) }()
	var out bytes.Buffer
	cmd := exec.Command("cat", "/proc/self/timerslack_ns")
	cmd.Stdout = &out
	if err := startPunctual(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Skip("the kernel has no /proc/PID/timerslack_ns to read: ", err)
	}
	if got := strings.TrimSpace(out.String()); got != "50000" {
		t.Errorf("the process has a timer slack of %s ns", got)
	}
	if now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || now != late {
		t.Errorf("the thread has a timer slack of %d ns afterwards: %v", now, err)
	}
}
