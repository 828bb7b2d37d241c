package timeline

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// usage draws what a container used, against what it may.
func (b *builder) usage(name string, facts []fact.Fact) {
	var samples []sample
	memory := Lane{ID: name + "/memory", Group: name, Name: "Memory", Form: "curves", Unit: "bytes"}
	for _, f := range facts {
		switch x := f.Body.(type) {
		case fact.Sampled:
			samples = append(samples, sample{f, x})
		case fact.OOMKilled:
			m := mark(f, Cross, Bad, "OOM kill")
			m.Value = float64(max(x.Usage, x.Limit))
			memory.Marks = append(memory.Marks, m)
		}
	}
	memory.Limits = b.limits(name, "limit", func(c *v1.Container) (float64, bool) {
		v := c.Resources.Limits.Memory().Value()
		return float64(v), v > 0
	})
	if len(samples) > 0 {
		memory.Curves = []Curve{
			{Name: "memory", Style: "area", Points: gauge(samples, func(x fact.Sampled) int64 { return x.MemoryCurrent })},
			{Name: "of it page cache", Style: "part", Points: gauge(samples, func(x fact.Sampled) int64 { return max(x.MemoryFile-x.MemoryShmem, 0) })},
		}
	}
	b.add(memory)
	b.cpu(name, samples)
}

// sample is a look at a container's cgroup.
type sample struct {
	fact.Fact
	fact.Sampled
}

func (s sample) when() time.Time { return s.Fact.When() }

// gauge is a value as it was at each look.
func gauge(samples []sample, value func(fact.Sampled) int64) []Point {
	var points []Point
	for i, s := range samples {
		points = append(points, Point{
			At: ms(s.when()), Value: float64(value(s.Sampled)), Fact: s.ID,
			Break: i > 0 && samples[i-1].Attempt != s.Attempt,
		})
	}
	return points
}

// clocked gives how much a counter of time grew between two looks of one run, as a share
// of the time between them by the clock that nobody sets. The value holds from the look
// before on.
func clocked(samples []sample) func(value func(fact.Sampled) time.Duration) []Point {
	return func(value func(fact.Sampled) time.Duration) []Point {
		var points []Point
		for i := 1; i < len(samples); i++ {
			was, is := samples[i-1], samples[i]
			over := is.Mono - was.Mono
			if over <= 0 || was.Boot != is.Boot || was.Attempt != is.Attempt {
				continue
			}
			v := max(0, value(is.Sampled)-value(was.Sampled)).Seconds() / over.Seconds()
			points = append(points, step(points, was, is, v)...)
		}
		return points
	}
}

func step(before []Point, was, is sample, v float64) []Point {
	joined := len(before) > 0 && before[len(before)-1].At == ms(was.when())
	return []Point{
		{At: ms(was.when()), Value: v, Fact: is.ID, Break: !joined},
		{At: ms(is.when()), Value: v, Fact: is.ID},
	}
}

func (b *builder) cpu(name string, samples []sample) {
	over := clocked(samples)
	cpu := Lane{ID: name + "/cpu", Group: name, Name: "CPU", Form: "curves", Unit: "cores"}
	cpu.Limits = b.limits(name, "limit", func(c *v1.Container) (float64, bool) {
		v := c.Resources.Limits.Cpu().AsApproximateFloat64()
		return v, v > 0
	})
	cpu.Curves = curves(Curve{Name: "used", Style: "area", Points: over(func(x fact.Sampled) time.Duration { return x.CPUUsage })})
	b.add(cpu)

	throttled := Lane{ID: name + "/throttled", Group: name, Name: "CPU throttled", Form: "curves", Unit: "share"}
	throttled.Curves = telling(Curve{Name: "of its periods", Style: "area", Points: throttling(samples)})
	b.add(throttled)

	pressure := Lane{ID: name + "/pressure", Group: name, Name: "Pressure", Form: "curves", Unit: "share"}
	pressure.Curves = telling(
		Curve{Name: "waits for CPU", Style: "line", Points: over(func(x fact.Sampled) time.Duration { return x.CPUSome })},
		Curve{Name: "for memory", Style: "line", Points: over(func(x fact.Sampled) time.Duration { return x.MemorySome })},
		Curve{Name: "for disks", Style: "line", Points: over(func(x fact.Sampled) time.Duration { return x.IOSome })},
	)
	b.add(pressure)

	pids := Lane{ID: name + "/pids", Group: name, Name: "Processes and threads", Form: "curves", Unit: "processes"}
	for i, s := range samples {
		if s.PIDLimit > 0 && (i == 0 || s.PIDLimit != samples[i-1].PIDLimit) {
			pids.Limits = append(pids.Limits, Limit{Name: "limit", From: ms(s.when()), Until: ms(b.end()), Value: float64(s.PIDLimit)})
		}
	}
	if len(pids.Limits) > 0 {
		pids.Curves = curves(Curve{Name: "processes", Style: "area", Points: gauge(samples, func(x fact.Sampled) int64 { return x.PIDs })})
		b.add(pids)
	}
}

// throttling is the share of a run's CPU periods in which it was held back.
func throttling(samples []sample) []Point {
	var points []Point
	for i := 1; i < len(samples); i++ {
		was, is := samples[i-1], samples[i]
		periods := is.Periods - was.Periods
		if periods <= 0 || was.Attempt != is.Attempt {
			continue
		}
		v := float64(max(0, is.ThrottledPeriods-was.ThrottledPeriods)) / float64(periods)
		points = append(points, step(points, was, is, v)...)
	}
	return points
}

// curves leaves out those without a point.
func curves(all ...Curve) []Curve {
	var some []Curve
	for _, c := range all {
		if len(c.Points) > 0 {
			some = append(some, c)
		}
	}
	return some
}

// telling leaves out curves that stay next to nothing: below a hundredth.
func telling(all ...Curve) []Curve {
	var some []Curve
	for _, c := range all {
		for _, p := range c.Points {
			if p.Value >= 0.01 {
				some = append(some, c)
				break
			}
		}
	}
	return some
}
