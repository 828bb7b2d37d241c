package stats

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"whylet.dev/whylet/evidence/cgroupfs"
)

// userHZ is the unit of /proc/stat's CPU times, 1/100 s on every architecture
// that Go runs on (proc_stat(5)).
const userHZ = 10 * time.Millisecond

// node gives what the node uses. A node that was told to be smaller than its
// machine is what its pods are, since nothing else on the machine is its own.
func (c *Collector) node(pods reading) reading {
	if c.c.Memory > 0 {
		pods.sample.MemoryLimit = c.c.Memory
		return pods
	}
	r := reading{at: c.c.Clock.Now()}
	memory := c.meminfo()
	r.sample.CPUUsage, r.sample.PSI = c.cpuTime(), pods.sample.PSI
	// cadvisor's arithmetic for the root cgroup, which has no usage file on version 2.
	r.sample.MemoryLimit = memory["MemTotal"]
	r.sample.MemoryCurrent = memory["MemTotal"] - memory["MemFree"]
	r.sample.WorkingSet = r.sample.MemoryCurrent - memory["Inactive(file)"]
	r.sample.MemoryAnon = memory["AnonPages"]
	r.sample.Swap = memory["SwapTotal"] - memory["SwapFree"]
	faults := c.lines("vmstat")
	r.sample.PageFaults, r.sample.MajorFaults = number(faults["pgfault"]), number(faults["pgmajfault"])
	r.sample.CPUPressure = c.pressure("cpu")
	r.sample.MemoryPressure, r.sample.IOPressure = c.pressure("memory"), c.pressure("io")
	return r
}

// file reads a file below /proc; nothing when it is not there.
func (c *Collector) file(name string) string {
	data, err := os.ReadFile(filepath.Join(c.c.Proc, name))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(data))
}

// lines reads a file of lines that begin with a name.
func (c *Collector) lines(name string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(c.file(name)) {
		key, value, _ := strings.Cut(line, " ")
		values[strings.TrimSuffix(key, ":")] = strings.TrimSpace(value)
	}
	return values
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// meminfo reads /proc/meminfo, in bytes.
func (c *Collector) meminfo() map[string]int64 {
	values := map[string]int64{}
	for key, value := range c.lines("meminfo") {
		kib, _ := strings.CutSuffix(value, " kB")
		values[key] = number(kib) << 10
	}
	return values
}

// cpuTime is how long all processors have worked. Guest time is part of user time.
func (c *Collector) cpuTime() time.Duration {
	fields := strings.Fields(c.lines("stat")["cpu"]) // user nice system idle iowait irq softirq steal
	var ticks int64
	for i, field := range fields {
		if i < 7 && i != 3 && i != 4 {
			ticks += number(field)
		}
	}
	return time.Duration(ticks) * userHZ
}

// pressure reads the machine's own PSI (Documentation/accounting/psi.rst).
func (c *Collector) pressure(resource string) cgroupfs.Pressure {
	return cgroupfs.ParsePressure([]byte(c.file("pressure/" + resource)))
}

// bootTime is when the machine was started.
func (c *Collector) bootTime() metav1.Time {
	seconds := number(c.lines("stat")["btime"])
	if seconds == 0 {
		return metav1.Time{}
	}
	return metav1.Unix(seconds, 0)
}

// rlimit says how many processes there are, and may be.
func (c *Collector) rlimit(at metav1.Time) *statsapi.RlimitStats {
	limit := &statsapi.RlimitStats{Time: at}
	pids, threads := number(c.file("sys/kernel/pid_max")), number(c.file("sys/kernel/threads-max"))
	if most := min(pids, threads); most > 0 {
		limit.MaxPID = &most
	}
	// The fourth field of loadavg is running/all.
	if fields := strings.Fields(c.file("loadavg")); len(fields) > 3 {
		_, all, _ := strings.Cut(fields[3], "/")
		if n := number(all); n > 0 {
			limit.NumOfRunningProcesses = &n
		}
	}
	return limit
}
