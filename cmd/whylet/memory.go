package main

import (
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// How much memory a node needs for itself, in bytes: idle it holds some 320 MiB
// (docs/performance.md), and a part of that can be given back or swapped.
const (
	startMemory  = 200 << 20
	plentyMemory = 600 << 20
)

// checkMemory looks how much is left for a node that is to start.
func checkMemory() []finding {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil
	}
	info, err := fs.Meminfo()
	if err != nil || info.MemAvailableBytes == nil || info.SwapFreeBytes == nil {
		return nil // an old kernel, or no /proc: other checks say so
	}
	return []finding{judgeMemory(*info.MemAvailableBytes+*info.SwapFreeBytes, cgroupLeft())}
}

// cgroupLeft is what the limit of a container leaves, of whichever version; without a
// limit more than there can be.
func cgroupLeft() uint64 {
	for _, files := range [][2]string{
		{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
	} {
		limit, used := number(files[0]), number(files[1])
		if limit != math.MaxUint64 && used < limit {
			return limit - used
		}
	}
	return math.MaxUint64
}

// number reads a file with one; anything else, such as "max", is as much as there can be.
func number(file string) uint64 {
	raw, err := os.ReadFile(file)
	if err != nil {
		return math.MaxUint64
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return n
}

// judgeMemory computes only.
func judgeMemory(machine, cgroup uint64) finding {
	f := finding{Name: "memory", Verdict: found, Detail: size(machine) + " available"}
	left, fix := machine, "stop something, or add swap: fallocate -l 1G /swapfile && chmod 600 /swapfile && mkswap /swapfile && swapon /swapfile"
	if cgroup < machine {
		left, fix = cgroup, "give the container more (docker: --memory)"
		f.Detail = size(cgroup) + " are left of this container's limit"
	}
	switch {
	case left < startMemory:
		f.Verdict, f.Fix = missing, fix
	case left < plentyMemory:
		f.Verdict, f.Fix = degraded, fix
	}
	if f.Verdict != found {
		f.Detail += "; the node itself takes about 320 MiB, and its pods what they need"
	}
	return f
}
