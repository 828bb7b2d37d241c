package evidence

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

func TestParseSignal(t *testing.T) {
	tests := map[string]struct {
		line string
		want Signal
		ok   bool
	}{
		"kill": {
			"            bash-582     [000] d..1.  1322.949332: signal_generate: sig=15 errno=0 code=0 comm=bash pid=583 grp=1 res=0",
			Signal{15, 0, 583, "bash", 582, "bash", 1322949332 * time.Microsecond},
			true,
		},
		"the kernel, forgotten sender, with thread groups": {
			"           <...>-77      (-------) [012] d.h3 9.000001: signal_generate: sig=9 errno=0 code=128 comm=stress pid=12 grp=1 res=0",
			Signal{9, 128, 12, "stress", 77, "", 9000001 * time.Microsecond},
			true,
		},
		"commands that want to be something else": {
			" a-1 [000] x-99 [001] d..1. 5.000000: signal_generate: sig=9 errno=0 code=0 comm=x pid=1 grp=0 pid=44 grp=1 res=0",
			Signal{9, 0, 44, "x pid=1 grp=0", 99, "a-1 [000] x", 5 * time.Second},
			true,
		},
		"cut":           {"            bash-582     [000] d..1.  1322.949332: signal_generate: sig=15 errno=0 co", Signal{}, false},
		"another event": {" bash-582 [000] d..1. 1322.949332: signal_deliver: sig=15 errno=0 code=0 sa_handler=0", Signal{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := ParseSignal(test.line)
			if ok != test.ok || ok && got != test.want {
				t.Errorf("read %+v (%v), want %+v (%v)", got, ok, test.want, test.ok)
			}
		})
	}
	if n, ok := parseLost("CPU:1 [LOST 36 EVENTS]"); !ok || n != 36 {
		t.Errorf("lost %d (%v), want 36", n, ok)
	}
}

func FuzzParseSignal(f *testing.F) {
	f.Add("            bash-582     [000] d..1.  1322.949332: signal_generate: sig=15 errno=0 code=0 comm=bash pid=583 grp=1 res=0")
	f.Add("           <...>-77      (-------) [012] d.h3 9.000001: signal_generate: sig=9 errno=0 code=128 comm= pid=12 grp=1 res=0")
	f.Add("CPU:1 [LOST 36 EVENTS]")
	f.Fuzz(func(t *testing.T, line string) {
		s, ok := ParseSignal(line)
		if ok && (s.PID <= 0 || s.Number <= 0 || s.At < 0 || len(s.Command) > len(line)) {
			t.Errorf("read %+v", s)
		}
		if n, ok := parseLost(line); ok && n < 0 {
			t.Errorf("lost %d", n)
		}
		whole := &Signals{tell: func(Signal) {}, lost: func(int64) {}}
		whole.take([]byte(line))
		whole.take([]byte("\n" + line))
	})
}

func openSignals(t *testing.T, tell func(Signal)) *Signals {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	s, err := OpenSignals(tell, func(int64) {})
	if err != nil {
		t.Skipf("this machine's signals cannot be traced: %v", err)
	}
	return s
}

func TestSignalsNameTheSender(t *testing.T) {
	var mu sync.Mutex
	var all []Signal
	s := openSignals(t, func(s Signal) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, s)
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	victim := exec.Command("sleep", "3600")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = victim.Wait()
	s.Drain()
	mu.Lock()
	var found *Signal
	for i := range all {
		if all[i].PID == victim.Process.Pid {
			found = &all[i]
		}
	}
	mu.Unlock()
	if found == nil || found.Number != 9 || found.FromKernel() || found.Sender == 0 {
		t.Errorf("the kill was told as %+v", found)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	instance := s.instance
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(instance); err == nil {
		t.Errorf("%s is left behind", instance)
	}
}

func TestStaleInstancesAreRemoved(t *testing.T) {
	instances := t.TempDir()
	own, err := instanceName(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	keep := []string{own, "somebody", "whylet-", "whylet-x-y", "whylet-observer"}
	for _, name := range append(keep, "whylet-"+strconv.Itoa(os.Getpid())+"-1", "whylet-999999999-5") {
		if err := os.Mkdir(filepath.Join(instances, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	removeStale(instances)
	left, err := os.ReadDir(instances)
	if err != nil || len(left) != len(keep) {
		t.Errorf("left %v (%v), want %v", left, err, keep)
	}
	for _, name := range keep {
		if _, err := os.Stat(filepath.Join(instances, name)); err != nil {
			t.Errorf("%s was removed", name)
		}
	}
}
