package peer

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Process is what the kernel says of one process of a stack.
type Process struct {
	PID int
	// Name is the program's file name, Args its command line.
	Name string
	Args []string
	// RSS and PSS are in bytes; PSS shares out what several processes map.
	RSS, PSS int64
	// CPU is the processor time that it and the children it waited for used.
	CPU time.Duration
}

// Processes lists the processes of the stack's own programs: those in its
// network namespace. Containers have namespaces of their own, so neither they
// nor their pause processes are among them, except those of host-network pods.
func (s *Stack) Processes() ([]Process, error) {
	own, err := os.Stat(s.Netns)
	if err != nil {
		return nil, err
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, dir := range dirs {
		namespace, err := os.Stat(filepath.Join(dir, "ns/net"))
		if err != nil || !os.SameFile(own, namespace) {
			continue
		}
		// What ends meanwhile is left out; so is this process: where dial was on its first
		// thread, which Go never ends, it stays in the namespace.
		if p, err := readProcess(dir); err == nil && p.PID != os.Getpid() && p.Name != "nsenter" && p.Name != "unshare" && p.Name != "pause" {
			all = append(all, p)
		}
	}
	return all, nil
}

// clockTick is the unit of times in /proc/PID/stat; Linux shows 100 a second to
// user space on every architecture that Go supports.
const clockTick = time.Second / 100

func readProcess(dir string) (Process, error) {
	pid, err := strconv.Atoi(filepath.Base(dir))
	if err != nil {
		return Process{}, err
	}
	exe, err := os.Readlink(filepath.Join(dir, "exe"))
	if err != nil {
		return Process{}, err
	}
	args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return Process{}, err
	}
	p := Process{PID: pid, Name: filepath.Base(exe), Args: strings.Split(strings.TrimRight(string(args), "\x00"), "\x00")}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Process{}, err
	}
	// Field 2 is a name in parentheses that may hold anything; the times are the
	// 14th to 17th, here counted from the third (proc(5)).
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 15 {
		return Process{}, fmt.Errorf("%s/stat is cut short", dir)
	}
	for _, field := range fields[11:15] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return Process{}, err
		}
		p.CPU += time.Duration(ticks) * clockTick
	}
	p.RSS, p.PSS, err = memory(dir)
	return p, err
}

// Files is how many files it has open; 0 where that cannot be read any more.
func (p Process) Files() int {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID))
	if err != nil {
		return 0
	}
	return len(open)
}

func memory(dir string) (rss, pss int64, err error) {
	file, err := os.Open(filepath.Join(dir, "smaps_rollup"))
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "Rss:":
			rss = kib << 10
		case "Pss:":
			pss = kib << 10
		}
	}
	return rss, pss, lines.Err()
}
