package sense

import (
	"testing"
	"time"
)

// A beat that is late by little is no news; one that is late by much is, with
// what the kernel counted meanwhile.
func TestBetween(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	last := counters{wall: noon, boot: time.Hour, monotonic: time.Minute, cpuWait: time.Second, memoryStall: time.Second, majorFaults: 5}
	after := func(d time.Duration) counters {
		now := last
		now.wall, now.boot, now.monotonic = noon.Add(d), last.boot+d, last.monotonic+d
		return now
	}
	if s, told := between(last, after(stalledFrom-1)); told {
		t.Errorf("told of %+v", s)
	}
	now := after(time.Minute)
	now.cpuWait += 30 * time.Second
	now.memoryStall += 20 * time.Second
	now.majorFaults += 1000
	s, told := between(last, now)
	if !told || !s.From.Equal(noon) || !s.Until.Equal(noon.Add(time.Minute)) || s.Suspended != 0 ||
		s.CPUWait != 30*time.Second || s.MemoryStall != 20*time.Second || s.MajorFaults != 1000 {
		t.Errorf("%v, %+v", told, s)
	}
	now.monotonic = last.monotonic + 2*time.Second
	if s, _ := between(last, now); s.Suspended != 58*time.Second {
		t.Errorf("asleep for %v", s.Suspended)
	}
	now.wall = noon.Add(-time.Hour) // somebody set the clock meanwhile
	if s, told := between(last, now); !told || s.Until.Sub(s.From) != time.Minute {
		t.Errorf("%v, %+v", told, s)
	}
}

func TestMark(t *testing.T) {
	dir := t.TempDir()
	if at := LastBeat(dir); !at.IsZero() {
		t.Errorf("nobody lived here, but at %v", at)
	}
	a := NewAlive(dir, nil)
	began := time.Now().Add(-time.Second)
	a.mark()
	a.mark()
	if at := LastBeat(dir); at.Before(began) {
		t.Errorf("the mark is of %v, after %v", at, began)
	}
}

func TestReadCounters(t *testing.T) {
	c := readCounters()
	if c.boot <= 0 || c.monotonic <= 0 || c.wall.IsZero() {
		t.Errorf("%+v", c)
	}
}
