package timeline

import (
	"fmt"
	"time"

	"whylet.dev/whylet/fact"
)

// runs draws a container's images, runs, back-off, readiness and processes.
func (b *builder) runs(name string, facts []fact.Fact) {
	images := Lane{ID: name + "/image", Group: name, Name: "Image", Form: "bars"}
	runs := Lane{ID: name + "/runs", Group: name, Name: "Runs", Form: "bars"}
	ready := Lane{ID: name + "/ready", Group: name, Name: "Ready", Form: "bars"}
	processes := Lane{ID: name + "/processes", Group: name, Name: "Processes", Form: "bars"}
	pulled := false
	var bars, backs []Mark
	for _, f := range facts {
		switch x := f.Body.(type) {
		case fact.ImagePulling:
			images.Marks, pulled = enter(images.Marks, f, Plain, "pull"), true
		case fact.ImageReady:
			leave(images.Marks, f)
		case fact.ImageFailed:
			leave(images.Marks, f)
			images.Marks, pulled = append(images.Marks, mark(f, Cross, Bad, x.Reason)), true
		case fact.Started:
			bars = began(bars, f, x)
		case fact.Exited:
			leave(bars, f)
			runs.Marks = append(runs.Marks, ended(f, x))
		case fact.BackOff:
			backs = waits(backs, f, x)
		case fact.Marked:
			tone, label := readiness(x)
			ready.Marks = enter(ready.Marks, f, tone, label)
		case fact.ProcessEnded, fact.Signalled, fact.Looked:
			processes.Marks = append(processes.Marks, process(f))
		default:
			runs.Marks = acted(runs.Marks, f)
		}
	}
	if pulled {
		b.add(images)
	}
	runs.Marks = append(append(bars, b.cut(backs, bars)...), runs.Marks...)
	b.add(runs)
	b.add(ready)
	b.add(processes)
}

// began is a run; one that a new agent found running goes on.
func began(bars []Mark, f fact.Fact, x fact.Started) []Mark {
	if last := len(bars) - 1; x.Adopted && last >= 0 && bars[last].Open {
		bars[last].Facts = append(bars[last].Facts, f.ID)
		return bars
	}
	leave(bars, f)
	m := mark(f, Bar, Calm, "runs")
	m.Open = true
	return append(bars, m)
}

// cut ends a back-off where the next run began sooner, and where knowledge ends.
func (b *builder) cut(backs, bars []Mark) []Mark {
	for i := range backs {
		backs[i].Until = min(backs[i].Until, max(ms(b.end()), backs[i].At))
		for _, run := range bars {
			if run.At > backs[i].At {
				backs[i].Until = min(backs[i].Until, run.At)
				break
			}
		}
	}
	return backs
}

// ended is how a run ended, in the fewest words.
func ended(f fact.Fact, x fact.Exited) Mark {
	switch {
	case x.Vanished:
		return mark(f, Cross, Bad, "vanished")
	case x.MainOOMKilled:
		return mark(f, Cross, Bad, "OOM")
	case x.ExitCode == 0:
		return mark(f, Dot, Good, "exit 0")
	}
	return mark(f, Cross, Bad, fmt.Sprintf("exit %d", x.ExitCode))
}

func readiness(x fact.Marked) (Tone, string) {
	switch {
	case x.Ready:
		return Good, "ready"
	case x.Started:
		return Warn, "not ready"
	}
	return Plain, "not started"
}

// acted are the orders of the node and what became of them.
func acted(marks []Mark, f fact.Fact) []Mark {
	switch x := f.Body.(type) {
	case fact.Start:
		return append(marks, mark(f, Diamond, Plain, ""))
	case fact.Kill:
		return append(marks, mark(f, Diamond, Bad, ""))
	case fact.StartFailed:
		return append(marks, mark(f, Cross, Bad, x.Reason))
	case fact.KillFailed:
		return append(marks, mark(f, Cross, Bad, "kill failed"))
	case fact.HookRan:
		m := mark(f, Bar, Plain, string(x.Hook))
		if x.Error != "" {
			m.Tone = Bad
		}
		m.At, m.Until = m.At-x.Took.Milliseconds(), m.At
		return append(marks, m)
	case fact.Resized:
		return append(marks, mark(f, Dot, Calm, "resized"))
	case fact.ResizeFailed:
		return append(marks, mark(f, Cross, Warn, "resize failed"))
	}
	return marks
}

// process is what became of processes, and looks at them.
func process(f fact.Fact) Mark {
	switch x := f.Body.(type) {
	case fact.ProcessEnded:
		if x.Signal == 0 && x.ExitCode == 0 {
			return mark(f, Dot, Plain, "")
		}
		return mark(f, Cross, Bad, "")
	case fact.Signalled:
		return mark(f, Diamond, Warn, "")
	}
	return mark(f, Hollow, Plain, "")
}

// took is a duration in milliseconds, as a value of a mark.
func took(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
