package cgroupfs

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
)

// Sample is one look at a cgroup and everything below it. What the kernel does
// not offer stays zero. Sampled has what the journal keeps; of its fields these
// depend on the version: MemoryPeak is missing on version 2 before Linux 5.19,
// and OOMKills counts on version 1 only processes that were in this very cgroup,
// as on version 2 before 5.2 or where it is mounted with memory_localevents.
// Files are read by the names of their values, of which later kernels have more.
type Sample struct {
	fact.Sampled

	MemoryAnon int64 // bytes
	Swap       int64 // bytes
	// PageFaults and MajorFaults count since the cgroup was made; a major fault
	// had to wait for a disk.
	PageFaults, MajorFaults int64
	// LimitHits counts how often the memory limit was run into.
	LimitHits int64

	// The pressure of the three resources (PSI), if PSI is set: on version 1 only
	// hybrid machines have it.
	PSI                                     bool
	CPUPressure, MemoryPressure, IOPressure Pressure
}

// Pressure says how much of the time some tasks, or all at once, waited for a
// resource (Documentation/accounting/psi.rst).
type Pressure struct {
	Some, Full Stall
}

// Stall is time lost: the averages over 10, 60 and 300 s in percent, and the sum.
type Stall struct {
	Avg10, Avg60, Avg300 float64
	Total                time.Duration
}

// file is a file of a cgroup, and what its text means.
type file struct {
	name  string
	parse func(*Sample, []byte)
}

var (
	v2Files = []file{
		{"memory.current", func(s *Sample, b []byte) { s.MemoryCurrent = number(b) }},
		{"memory.peak", func(s *Sample, b []byte) { s.MemoryPeak = number(b) }},
		{"memory.max", func(s *Sample, b []byte) { s.MemoryLimit = limit(b) }},
		{"memory.swap.current", func(s *Sample, b []byte) { s.Swap = number(b) }},
		{"memory.stat", memoryStat},
		{"memory.events", func(s *Sample, b []byte) {
			s.LimitHits, s.OOMKills, s.HighEvents = field(b, "max"), field(b, "oom_kill"), field(b, "high")
		}},
		{"memory.high", func(s *Sample, b []byte) { s.MemoryHigh = limit(b) }},
		{"cpu.stat", cpuStat},
		{"pids.current", func(s *Sample, b []byte) { s.PIDs = number(b) }},
		{"pids.max", func(s *Sample, b []byte) { s.PIDLimit = limit(b) }},
	}
	pressureFiles = []file{
		{"cpu.pressure", func(s *Sample, b []byte) { s.CPUPressure, s.PSI = ParsePressure(b), true }},
		{"memory.pressure", func(s *Sample, b []byte) { s.MemoryPressure, s.PSI = ParsePressure(b), true }},
		{"io.pressure", func(s *Sample, b []byte) { s.IOPressure, s.PSI = ParsePressure(b), true }},
	}
	memoryFilesV1 = []file{
		{"memory.usage_in_bytes", func(s *Sample, b []byte) { s.MemoryCurrent = number(b) }},
		{"memory.max_usage_in_bytes", func(s *Sample, b []byte) { s.MemoryPeak = number(b) }},
		{"memory.limit_in_bytes", func(s *Sample, b []byte) { s.MemoryLimit = limit(b) }},
		{"memory.failcnt", func(s *Sample, b []byte) { s.LimitHits = number(b) }},
		{"memory.oom_control", func(s *Sample, b []byte) { s.OOMKills = field(b, "oom_kill") }},
		{"memory.stat", memoryStat},
	}
	cpuFilesV1     = []file{{"cpu.stat", cpuStat}}
	cpuAcctFilesV1 = []file{{"cpuacct.usage", func(s *Sample, b []byte) { s.CPUUsage = time.Duration(number(b)) }}}
	pidsFilesV1    = []file{
		{"pids.current", func(s *Sample, b []byte) { s.PIDs = number(b) }},
		{"pids.max", func(s *Sample, b []byte) { s.PIDLimit = limit(b) }},
	}
)

// Read looks at the cgroup. A file that is missing leaves its fields zero; that
// the cgroup itself is gone is an error that wraps fs.ErrNotExist.
func (g Group) Read() (Sample, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	var s Sample
	seen := false
	for _, part := range g.parts() {
		ok, err := read(part.dir, part.files, &s, buf)
		if err != nil {
			return Sample{}, fmt.Errorf("cgroup %s: %w", part.dir, err)
		}
		seen = seen || ok
	}
	if !seen {
		return Sample{}, fmt.Errorf("cgroup %s: %w", g.Main(), unix.ENOENT)
	}
	s.WorkingSet = max(s.MemoryCurrent-s.WorkingSet, 0)
	s.CPUSome, s.IOSome = s.CPUPressure.Some.Total, s.IOPressure.Some.Total
	s.MemorySome, s.MemoryFull = s.MemoryPressure.Some.Total, s.MemoryPressure.Full.Total
	return s, nil
}

// Pressure looks at the pressure alone: three files instead of a dozen.
func (g Group) Pressure() (Sample, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	var s Sample
	if _, err := read(g.Unified, pressureFiles, &s, buf); err != nil {
		return Sample{}, fmt.Errorf("cgroup %s: %w", g.Unified, err)
	}
	return s, nil
}

// part is a directory, and what is read there.
type part struct {
	dir   string
	files []file
}

func (g Group) parts() []part {
	if g.V2 {
		return []part{{g.Unified, v2Files}, {g.Unified, pressureFiles}}
	}
	return []part{
		{g.Memory, memoryFilesV1},
		{g.CPU, cpuFilesV1},
		{g.CPUAcct, cpuAcctFilesV1},
		{g.PIDs, pidsFilesV1},
		{g.Unified, pressureFiles},
	}
}

// buffers holds files: memory.stat, the largest, has 2 KiB.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 8<<10)
	return &b
}}

// read parses files of a directory; false: the directory is not there. It uses
// plain system calls: os.File would register each file with the poller, which
// costs as much again.
func read(dir string, files []file, s *Sample, buf *[]byte) (bool, error) {
	if dir == "" {
		return false, nil
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	for _, f := range files {
		text, err := readFile(fd, f.name, buf)
		switch {
		case err == nil:
			f.parse(s, text)
		case missing(err):
		default:
			return false, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return true, nil
}

// missing tells a file that this kernel does not have, or not any more.
func missing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EOPNOTSUPP)
}

// readFile reads a file into buf, which grows if need be. The kernel makes the
// text of a cgroup file in one piece, so that one read sees one state.
func readFile(dir int, name string, buf *[]byte) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Pread(fd, *buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n < len(*buf) {
			return (*buf)[:n], nil
		}
		*buf = make([]byte, 2*len(*buf))
	}
}
