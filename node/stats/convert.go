package stats

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"whylet.dev/whylet/evidence/cgroupfs"
)

// reading is one look at a cgroup, with the CPU rate if there is one yet.
type reading struct {
	at     time.Time
	sample cgroupfs.Sample
	rate   uint64 // nanocores
	rated  bool
}

// count is a counter as the API wants it; the kernel has none below zero.
func count[N int | int64 | time.Duration](n N) *uint64 {
	u := uint64(max(n, 0))
	return &u
}

func (r reading) cpu() *statsapi.CPUStats {
	s := &statsapi.CPUStats{Time: metav1.NewTime(r.at), UsageCoreNanoSeconds: count(r.sample.CPUUsage)}
	if r.rated {
		s.UsageNanoCores = &r.rate
	}
	if r.sample.PSI {
		s.PSI = pressure(r.sample.CPUPressure)
	}
	return s
}

func (r reading) memory() *statsapi.MemoryStats {
	s := &statsapi.MemoryStats{
		Time:       metav1.NewTime(r.at),
		UsageBytes: count(r.sample.MemoryCurrent), WorkingSetBytes: count(r.sample.WorkingSet), RSSBytes: count(r.sample.MemoryAnon),
		PageFaults: count(r.sample.PageFaults), MajorPageFaults: count(r.sample.MajorFaults),
	}
	if r.sample.MemoryLimit > 0 {
		s.AvailableBytes = count(r.sample.MemoryLimit - r.sample.WorkingSet)
	}
	if r.sample.PSI {
		s.PSI = pressure(r.sample.MemoryPressure)
	}
	return s
}

func (r reading) swap() *statsapi.SwapStats {
	return &statsapi.SwapStats{Time: metav1.NewTime(r.at), SwapUsageBytes: count(r.sample.Swap)}
}

// io has the pressure only; without it there is nothing to say.
func (r reading) io() *statsapi.IOStats {
	if !r.sample.PSI {
		return nil
	}
	return &statsapi.IOStats{Time: metav1.NewTime(r.at), PSI: pressure(r.sample.IOPressure)}
}

func (r reading) processes() *statsapi.ProcessStats {
	return &statsapi.ProcessStats{ProcessCount: count(r.sample.PIDs)}
}

func pressure(p cgroupfs.Pressure) *statsapi.PSIStats {
	data := func(s cgroupfs.Stall) statsapi.PSIData {
		return statsapi.PSIData{Total: uint64(s.Total), Avg10: s.Avg10, Avg60: s.Avg60, Avg300: s.Avg300}
	}
	return &statsapi.PSIStats{Some: data(p.Some), Full: data(p.Full)}
}
