package evidence

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Process is what /proc/PID/stat says of a process.
type Process struct {
	Command string
	State   string // one letter: R S D T t Z I X
	// CPU is the time it ran, with all its threads, without its children.
	CPU time.Duration
	// Began is when it started, in ticks since boot: with the PID it names a process.
	Began uint64
}

var errStat = errors.New("not a process's stat")

// tick is the unit of times in /proc. It is a hundredth of a second on every
// architecture that Kubernetes runs on (sysconf(_SC_CLK_TCK)).
const tick = 10 * time.Millisecond

// ParseStat reads /proc/PID/stat (proc_pid_stat(5)).
func ParseStat(text string) (Process, error) {
	// The command is in parentheses and may hold anything, so the last one counts.
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return Process{}, errStat
	}
	f := strings.Fields(text[end+1:])
	if len(f) < 20 {
		return Process{}, errStat
	}
	// The fields count from 3, the state.
	user, err1 := strconv.ParseUint(f[14-3], 10, 48)
	system, err2 := strconv.ParseUint(f[15-3], 10, 48)
	began, err3 := strconv.ParseUint(f[22-3], 10, 64)
	if errors.Join(err1, err2, err3) != nil {
		return Process{}, errStat
	}
	return Process{Command: text[open+1 : end], State: f[0], CPU: time.Duration(user+system) * tick, Began: began}, nil
}

// Start is when it began by the wall clock, which may have been set since then; zero where
// the clocks cannot be read.
func (p Process) Start() time.Time {
	if since := age(p.Began); since > 0 {
		return time.Now().UTC().Add(-since)
	}
	return time.Time{}
}

var errLimits = errors.New("not a process's limits")

// ParseLimit finds a limit by its name in /proc/PID/limits (proc_pid_limits(5)); 0 is
// no limit.
func ParseLimit(text, name string) (soft, hard int, err error) {
	_, rest, ok := strings.Cut(text, "\n"+name+" ")
	f := strings.Fields(rest)
	if !ok || len(f) < 2 {
		return 0, 0, errLimits
	}
	for i, to := range []*int{&soft, &hard} {
		if f[i] == "unlimited" {
			continue
		}
		n, err := strconv.ParseUint(f[i], 10, 31)
		if err != nil {
			return 0, 0, errLimits
		}
		*to = int(n)
	}
	return soft, hard, nil
}

// Whereabouts says whether a process has ended, and whether it is in a pid namespace
// below this one. Of one that has ended and was not waited for yet the kernel still
// tells its namespaces, but not its cgroup any more.
func Whereabouts(pid int) (ended, nested bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return true, false
	}
	return parseStatus(string(b))
}

// parseStatus reads State and NSpid of /proc/PID/status (proc_pid_status(5)).
func parseStatus(text string) (ended, nested bool) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		switch f := strings.Fields(value); name {
		case "State":
			ended = len(f) > 0 && (f[0] == "Z" || f[0] == "X")
		case "NSpid":
			nested = len(f) > 1
		}
	}
	return ended, nested
}
