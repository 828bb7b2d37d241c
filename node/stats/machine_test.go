package stats

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"whylet.dev/whylet/evidence/cgroupfs"
)

func at(proc string) *Collector {
	return New(Config{Proc: proc, Clock: clocktesting.NewFakeClock(t0), Log: slog.New(slog.DiscardHandler)})
}

func TestMachine(t *testing.T) {
	c := at("testdata/proc")
	r := c.node(reading{sample: cgroupfs.Sample{PSI: true}})
	for what, x := range map[string][2]int64{
		"usage":        {r.sample.MemoryCurrent, 4684092 << 10},
		"working set":  {r.sample.WorkingSet, 3000000 << 10},
		"limit":        {r.sample.MemoryLimit, 24684092 << 10},
		"rss":          {r.sample.MemoryAnon, 1200000 << 10},
		"swap":         {r.sample.Swap, 48572 << 10},
		"faults":       {r.sample.PageFaults, 123456},
		"major faults": {r.sample.MajorFaults, 789},
		"cpu time":     {int64(r.sample.CPUUsage), int64((1000 + 20 + 300 + 4 + 5) * 10 * time.Millisecond)},
		"cpu stall":    {int64(r.sample.CPUPressure.Some.Total), int64(1234567 * time.Microsecond)},
		"mem stall":    {int64(r.sample.MemoryPressure.Full.Total), int64(7 * time.Microsecond)},
		"boot":         {c.bootTime().Unix(), 1767323045},
	} {
		if x[0] != x[1] {
			t.Errorf("%s: %d, want %d", what, x[0], x[1])
		}
	}
	if r.sample.CPUPressure.Some.Avg10 != 1.5 || r.sample.CPUPressure.Some.Avg60 != 0.25 {
		t.Errorf("%+v", r.sample.CPUPressure)
	}
	limit := c.rlimit(metav1.NewTime(t0))
	if *limit.MaxPID != 192000 || *limit.NumOfRunningProcesses != 345 {
		t.Errorf("%d %d", *limit.MaxPID, *limit.NumOfRunningProcesses)
	}
}

func TestNetwork(t *testing.T) {
	c := at("testdata/proc")
	pod := c.network("77", metav1.NewTime(t0))
	if len(pod.Interfaces) != 1 || pod.Name != "eth0" || *pod.RxBytes != 1<<64-1 || *pod.RxErrors != 3 || *pod.TxBytes != 456 || *pod.TxErrors != 4 {
		t.Errorf("%+v", pod)
	}
	node := c.network("self", metav1.NewTime(t0))
	if len(node.Interfaces) != 1 || node.Interfaces[0].Name != "ens4" || node.Name != "" {
		t.Errorf("%+v", node)
	}
	if gone := c.network("4711", metav1.NewTime(t0)); gone != nil {
		t.Errorf("%+v", gone)
	}
}

func TestMachineThatSaysNothingIsNotInvented(t *testing.T) {
	c := at(t.TempDir())
	r := c.node(reading{})
	if r.sample != (cgroupfs.Sample{}) {
		t.Errorf("%+v", r.sample)
	}
	limit, boot := c.rlimit(metav1.NewTime(t0)), c.bootTime()
	if limit.MaxPID != nil || limit.NumOfRunningProcesses != nil || !boot.IsZero() {
		t.Errorf("%+v, booted %s", limit, boot)
	}
	if fileSystem("/no/such", metav1.NewTime(t0)) != nil {
		t.Error("a file system that is not there has a size")
	}
	if part(nil, 1, 1) != nil {
		t.Error("a part of nothing")
	}
}

func FuzzProc(f *testing.F) {
	f.Add("cpu  1 2 3\nbtime x\n", "MemTotal: 1 kB\n", "some avg10=x total=\n", "eth0: 1 2\n lo:\n", "1 2 3 /")
	f.Fuzz(func(t *testing.T, stat, meminfo, psi, dev, loadavg string) {
		root := t.TempDir()
		for name, text := range map[string]string{
			"stat": stat, "meminfo": meminfo, "pressure/cpu": psi, "1/net/dev": dev, "loadavg": loadavg,
		} {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := at(root)
		r := c.node(reading{})
		_, _ = r.cpu(), r.memory()
		_, _ = c.rlimit(metav1.Time{}), c.bootTime()
		_ = c.network("1", metav1.Time{})
		for _, i := range parseNetDev(dev) {
			if i.Name == "lo" {
				t.Error("loopback")
			}
		}
	})
}
