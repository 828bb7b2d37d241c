package evidence

import (
	"context"
	"encoding/hex"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// collected is what a connector told.
type collected struct {
	mu     sync.Mutex
	events []ProcessEvent
}

func (c *collected) tell(e ProcessEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
}

func (c *collected) find(what ProcessWhat, pid int) (ProcessEvent, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.What == what && e.PID == pid {
			return e, true
		}
	}
	return ProcessEvent{}, false
}

func openConnector(t testing.TB, tell func(ProcessEvent)) *Connector {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	c, err := OpenConnector(tell, func() {})
	if err != nil {
		t.Skipf("this machine has no process connector: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = c.Close()
	})
	return c
}

func TestConnectorTellsExitFromKill(t *testing.T) {
	all := &collected{}
	c := openConnector(t, all.tell)
	tests := map[string]struct {
		script string
		status WaitStatus
	}{
		"exit 137": {"exit 137", 0x8900},
		"SIGKILL":  {"kill -9 $$", 0x0009},
		"exit 3":   {"exit 3", 0x0300},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/bin/sh", "-c", test.script)
			_ = cmd.Run()
			pid := cmd.Process.Pid
			var e ProcessEvent
			var ok bool
			for deadline := time.Now().Add(time.Minute); !ok && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
				c.Drain() // the kernel wakes the parent just before it tells of the end
				e, ok = all.find(ProcessExited, pid)
			}
			if !ok || e.Status != test.status {
				t.Errorf("the end of %d was told as %+v (%v), want status %#x", pid, e, ok, test.status)
			}
			if f, ok := all.find(ProcessForked, pid); !ok || f.Parent != os.Getpid() {
				t.Errorf("its fork was told as %+v (%v)", f, ok)
			}
		})
	}
}

// What may not wait is told soon though nobody drains, and what may a little later.
func TestConnectorTellsByItself(t *testing.T) {
	all := &collected{}
	openConnector(t, all.tell)
	for _, code := range []string{"3", "0"} {
		cmd := exec.Command("/bin/sh", "-c", "exit "+code)
		_ = cmd.Run()
		deadline := time.Now().Add(time.Minute)
		for ok := false; !ok; time.Sleep(time.Millisecond) {
			if _, ok = all.find(ProcessExited, cmd.Process.Pid); time.Now().After(deadline) {
				t.Fatalf("an end with %s is not told", code)
			}
		}
	}
}

func TestWaitStatus(t *testing.T) {
	for status, want := range map[WaitStatus]struct {
		code, signal int32
		core         bool
	}{
		0: {0, 0, false}, 0x8900: {137, 0, false}, 0x0009: {137, 9, false}, 0x008b: {139, 11, true}, 0x0100: {1, 0, false},
	} {
		if status.ExitCode() != want.code || status.Signal() != want.signal || status.CoreDumped() != want.core {
			t.Errorf("%#x: code %d signal %d core %v", status, status.ExitCode(), status.Signal(), status.CoreDumped())
		}
	}
}

// recordedExit is a message of a real kernel (6.18): process 18758 of parent
// 18700 ended with exit code 3.
const recordedExit = "4c0000000300000000000000000000000100000001000000a1420000000000002800000000000080010000003930000000000000" +
	"46490000464900000003000011000000" + "0c4900000c490000"

func FuzzConnector(f *testing.F) {
	b, err := hex.DecodeString(recordedExit)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(append(b, b...))
	f.Add(b[:40])
	f.Add(controlMessage(1))
	f.Fuzz(func(t *testing.T, b []byte) {
		told := 0
		parseConnector(b, func(e ProcessEvent) {
			told++
			if e.PID <= 0 {
				t.Errorf("told of process %d", e.PID)
			}
		})
		if told*eventData > len(b) {
			t.Errorf("%d events in %d bytes", told, len(b))
		}
	})
}

// BenchmarkConnector measures what reading costs this process while others come
// and go: the share of one core at 5000 forks a second.
func BenchmarkConnector(b *testing.B) {
	exits := 0
	c := openConnector(b, func(e ProcessEvent) {
		if e.What == ProcessExited {
			exits++
		}
	})
	before := ownCPU(b)
	for b.Loop() {
		_ = exec.Command("/bin/sh", "-c", "i=0; while [ $i -lt 5000 ]; do (:); i=$((i+1)); done").Run()
	}
	c.Drain()
	b.ReportMetric(float64(exits)/b.Elapsed().Seconds(), "exits/s")
	b.ReportMetric(100*5000*(ownCPU(b)-before).Seconds()/float64(exits), "%core/5000forks/s")
}

func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// What a thread is left in never is what /proc shows of the process.
func TestOnItsOwnThread(t *testing.T) {
	runtime.LockOSThread() // more likely to be the first thread's turn elsewhere
	defer runtime.UnlockOSThread()
	for range 50 {
		on := 0
		onItsOwnThread(func() { on = unix.Gettid() })
		if on == 0 || on == os.Getpid() {
			t.Fatalf("it ran on thread %d of process %d", on, os.Getpid())
		}
	}
}
