package sense

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

const (
	// beat is how often the agent looks whether it is late. stalledFrom is how late
	// a beat must be to be told of: a busy machine delays one by less.
	beat        = time.Second
	stalledFrom = 10 * time.Second
	// markEvery is how often a beat leaves its mark on disk, for the next agent.
	markEvery = 5 * time.Second
)

// Alive watches over the agent itself. It leaves a mark on disk while the agent
// runs, so that the next one knows when this one ended, and tells when the agent
// did not run for a while: stopped, frozen, starved, or asleep with its machine.
type Alive struct {
	file string
	log  *slog.Logger
	read func() counters
}

// counters are what the kernel counts that can explain a stall.
type counters struct {
	wall            time.Time
	boot, monotonic time.Duration
	cpuWait         time.Duration
	memoryStall     time.Duration
	majorFaults     int64
}

// NewAlive makes a watch that leaves its mark in a directory.
func NewAlive(dataDir string, log *slog.Logger) *Alive {
	return &Alive{file: aliveFile(dataDir), log: log, read: readCounters}
}

func aliveFile(dataDir string) string { return filepath.Join(dataDir, "alive") }

// LastBeat is when an agent on this directory last left its mark; zero when none
// did.
func LastBeat(dataDir string) time.Time {
	info, err := os.Stat(aliveFile(dataDir))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC()
}

// Run implements [Source].
func (a *Alive) Run(ctx context.Context, _ pods.Registry, emit func(fact.Fact)) error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	var wasContinued atomic.Bool
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-continued:
				wasContinued.Store(true)
			}
		}
	}()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	last := a.read()
	marked := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := a.read()
		if stalled, ok := between(last, now); ok {
			stalled.Continued = wasContinued.Load()
			a.log.Warn("the agent did not run for a while", "from", stalled.From, "until", stalled.Until, "continued", stalled.Continued)
			emit(fact.Fact{At: stalled.Until, Body: stalled})
		}
		wasContinued.Store(false)
		if last = now; now.wall.Sub(marked) >= markEvery {
			a.mark()
			marked = now.wall
		}
	}
}

// between says whether the second of two beats came late, and what the kernel
// counted in between.
func between(last, now counters) (fact.AgentStalled, bool) {
	late := now.boot - last.boot
	if late < stalledFrom {
		return fact.AgentStalled{}, false
	}
	s := fact.AgentStalled{
		From: now.wall.Add(-late), Until: now.wall,
		CPUWait: now.cpuWait - last.cpuWait, MemoryStall: now.memoryStall - last.memoryStall, MajorFaults: now.majorFaults - last.majorFaults,
	}
	if asleep := late - (now.monotonic - last.monotonic); asleep > beat {
		s.Suspended = asleep
	}
	return s, true
}

// mark touches the file. That it cannot (a full disk does not matter, a read-only
// one does) only makes a later answer less exact.
func (a *Alive) mark() {
	now := time.Now()
	if os.Chtimes(a.file, now, now) == nil {
		return
	}
	if f, err := os.OpenFile(a.file, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
	}
}

func readCounters() counters {
	c := counters{wall: time.Now().UTC(), boot: clockAt(unix.CLOCK_BOOTTIME), monotonic: clockAt(unix.CLOCK_MONOTONIC)}
	if fields := strings.Fields(fileText("/proc/self/schedstat")); len(fields) > 1 {
		n, _ := strconv.ParseInt(fields[1], 10, 64)
		c.cpuWait = time.Duration(n)
	}
	for line := range strings.Lines(fileText("/proc/pressure/memory")) {
		if rest, full := strings.CutPrefix(line, "full "); full {
			_, total, _ := strings.Cut(strings.TrimSpace(rest), "total=")
			n, _ := strconv.ParseInt(total, 10, 64)
			c.memoryStall = time.Duration(n) * time.Microsecond
		}
	}
	var use unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &use) == nil {
		c.majorFaults = use.Majflt
	}
	return c
}

// fileText is what a file of /proc says, empty where there is none.
func fileText(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

func clockAt(id int32) time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(id, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
