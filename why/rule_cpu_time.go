package why

import (
	"fmt"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
)

const (
	sigkill = 9
	sigxcpu = 24
)

func cpuTimeLimit(e ending) *finding {
	look, limit := e.run.CPUTime()
	if limit == 0 {
		look, limit = e.otherCPUTime()
	}
	f := e.finds(answer.AppCrashSignal, certain, look).fix(e.h.logsFix(e.run))
	how := "more CPU time than it may use (RLIMIT_CPU)"
	if limit > 0 {
		how = fmt.Sprintf("the %s of CPU time that it may use (RLIMIT_CPU)", prose.Span(limit))
	}
	f.text = fmt.Sprintf("The main process of container %s used up %s%s, so the kernel ended it with %s.", e.run.Container, how, e.after(), signalName(e.exit.Signal))
	f.first(e.h.specFix("raise or drop the limit of CPU time (ulimit -t in the start script or image), or find out what the program computes"))
	switch sender, _ := e.lastSignal(); {
	case e.exit.Signal == sigxcpu:
		return f
	case e.exit.Signal != sigkill || limit == 0 || e.exit.MainOOMKilled || sender != nil:
		return nil
	case !e.exit.ByKernel:
		f.weight = strong // as likely as that somebody killed it, unless one was seen
		if e.endedByCPUTime() {
			f.because = []string{"An earlier end was seen to be of that kind; of this one less was seen."}
		}
		if e.order() == orderUnknown {
			f.weight = weak
		}
	}
	return f
}

// endedByCPUTime says whether another run was seen to be killed by the kernel at such a limit.
func (e ending) endedByCPUTime() bool {
	return slices.ContainsFunc(e.h.Runs(e.run.Container), func(r *history.Run) bool {
		if r == e.run || r.Exit == nil {
			return false
		}
		b := fact.Of[fact.Exited](r.Exit)
		_, limit := r.CPUTime()
		return b.ByKernel && b.Signal == sigkill && !b.MainOOMKilled && limit > 0
	})
}

// otherCPUTime is the limit of another run: of a short one often nobody saw anything.
func (e ending) otherCPUTime() (*fact.Fact, time.Duration) {
	for _, r := range slices.Backward(e.h.Runs(e.run.Container)) {
		if look, limit := r.CPUTime(); limit > 0 {
			return look, limit
		}
	}
	return nil, 0
}
