package cgroupfs

import (
	"bytes"
	"math"
	"time"
)

// noLimitV1 is from where on a version 1 memory limit means none: the kernel
// shows its largest number of pages, in bytes.
const noLimitV1 = 1 << 62

// number reads a decimal at the start of b. Text that is none, "max" among it,
// is 0; what is too large is the largest number.
func number(b []byte) int64 {
	var n int64
	for _, c := range bytes.TrimLeft(b, " ") {
		if c < '0' || c > '9' {
			break
		}
		d := int64(c - '0')
		if n > (math.MaxInt64-d)/10 {
			return math.MaxInt64
		}
		n = n*10 + d
	}
	return n
}

// limit reads a limit: 0 for none, on either version.
func limit(b []byte) int64 {
	if n := number(b); n < noLimitV1 {
		return n
	}
	return 0
}

// each calls f for every "KEY VALUE" line.
func each(b []byte, f func(key []byte, value int64)) {
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte{'\n'})
		if key, value, ok := bytes.Cut(line, []byte{' '}); ok {
			f(key, number(value))
		}
	}
}

// field reads one "KEY VALUE" line; 0 when there is none.
func field(b []byte, name string) int64 {
	var found int64
	each(b, func(key []byte, value int64) {
		if string(key) == name {
			found = value
		}
	})
	return found
}

// memoryStat reads memory.stat of either version. On version 1 total_ means "with all
// cgroups below" and comes after what the cgroup has itself. It leaves inactive_file,
// which is not part of the working set, in WorkingSet for Read to subtract.
func memoryStat(s *Sample, b []byte) {
	each(b, func(key []byte, value int64) {
		switch string(key) {
		case "anon", "total_rss":
			s.MemoryAnon = value
		case "file", "total_cache":
			s.MemoryFile = value
		case "shmem", "total_shmem":
			s.MemoryShmem = value
		case "total_swap":
			s.Swap = value
		case "inactive_file", "total_inactive_file":
			s.WorkingSet = value
		case "pgfault", "total_pgfault":
			s.PageFaults = value
		case "pgmajfault", "total_pgmajfault":
			s.MajorFaults = value
		}
	})
}

// cpuStat reads cpu.stat of either version.
func cpuStat(s *Sample, b []byte) {
	each(b, func(key []byte, value int64) {
		switch string(key) {
		case "usage_usec":
			s.CPUUsage = times(value, time.Microsecond)
		case "nr_periods":
			s.Periods = value
		case "nr_throttled":
			s.ThrottledPeriods = value
		case "throttled_usec":
			s.ThrottledTime = times(value, time.Microsecond)
		case "throttled_time":
			s.ThrottledTime = time.Duration(value)
		}
	})
}

// ParsePressure reads a PSI file:
//
//	some avg10=0.00 avg60=0.00 avg300=0.00 total=0
//	full avg10=0.00 avg60=0.00 avg300=0.00 total=0
func ParsePressure(b []byte) Pressure {
	var p Pressure
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte{'\n'})
		switch kind, rest, _ := bytes.Cut(line, []byte{' '}); string(kind) {
		case "some":
			p.Some = stall(rest)
		case "full":
			p.Full = stall(rest)
		}
	}
	return p
}

func stall(b []byte) Stall {
	var s Stall
	for len(b) > 0 {
		var item []byte
		item, b, _ = bytes.Cut(b, []byte{' '})
		switch key, value, _ := bytes.Cut(item, []byte{'='}); string(key) {
		case "avg10":
			s.Avg10 = percent(value)
		case "avg60":
			s.Avg60 = percent(value)
		case "avg300":
			s.Avg300 = percent(value)
		case "total":
			s.Total = times(number(value), time.Microsecond)
		}
	}
	return s
}

// percent reads a number with two decimals.
func percent(b []byte) float64 {
	whole, part, _ := bytes.Cut(b, []byte{'.'})
	if len(part) > 2 {
		part = part[:2]
	}
	hundredths := float64(number(part))
	if len(part) == 1 {
		hundredths *= 10
	}
	return float64(number(whole)) + hundredths/100
}

// times multiplies without running over.
func times(n int64, unit time.Duration) time.Duration {
	if n > math.MaxInt64/int64(unit) {
		return math.MaxInt64
	}
	return time.Duration(n) * unit
}
