package why

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/history"
)

// counted are another node's newest own counts of the attempts until the last failed one,
// in all runs of the container; ok is false where there are none.
func (p *probing) counted() (newest fact.Counted, ok bool) {
	for _, r := range p.h.Runs(p.run.Container) {
		for _, f := range r.Counts {
			if b := fact.Of[fact.Counted](f); b.Probe == p.kind {
				newest, ok = b, true
			}
		}
	}
	return newest, ok
}

// wasReady says whether the container was ready before the attempts failed, in this run
// or an earlier one: its readiness probe had succeeded then.
func (p *probing) wasReady() bool {
	return p.kind == fact.Readiness && slices.ContainsFunc(p.h.Runs(p.run.Container), func(r *history.Run) bool {
		return r.Attempt <= p.run.Attempt && slices.ContainsFunc(r.Marks, func(m *fact.Fact) bool { return fact.Of[fact.Marked](m).Ready && m.Seen.Before(p.from) })
	})
}

// told says whether the attempts are known only by what somebody else says of those that
// failed: the good ones are not.
func (p *probing) told() bool {
	return slices.ContainsFunc(p.failed, func(f *fact.Fact) bool { return fact.Of[fact.Probed](f).By == fact.BySay })
}

// halfSeen says whether good attempts may have been made of which nobody tells.
func (p *probing) halfSeen() bool {
	b, ok := p.counted()
	return p.told() && !(ok && b.Successes == 0) && !p.neverPassed() && !p.failedThroughout()
}

// neverPassed says that the status shows that no attempt succeeded in a container's only
// run: a startup probe is asked no more after its first success, and with that of a
// readiness probe the only container is ready for as long as it takes to fail again, which
// the status shows unless that is too short.
func (p *probing) neverPassed() bool {
	if p.run.Attempt != 0 || p.run.Started == nil || p.spec == nil || p.spec.SuccessThreshold > 1 {
		return false
	}
	if p.kind != fact.Readiness || p.shared() || len(p.h.Object.Spec.InitContainers) > 0 || time.Duration(max(p.spec.FailureThreshold, 1))*p.period() < shownFor {
		return p.kind == fact.Startup
	}
	status, _ := p.h.Status(p.h.Policy)
	ready := conditionOf(status.Conditions, v1.ContainersReady)
	return ready != nil && ready.Status == v1.ConditionFalse && !ready.LastTransitionTime.After(p.run.Started.When())
}

// failedThroughout says that a run was ended for a probe so soon that all its attempts must have failed, and
// that all runs before it were like it.
func (p *probing) failedThroughout() bool {
	if !p.h.FromAPI || p.kind == fact.Readiness || p.run.Kill == nil || p.run.Exit == nil || p.run.Started == nil || p.spec == nil {
		return false
	}
	row := time.Duration(p.spec.InitialDelaySeconds)*time.Second + time.Duration(max(p.spec.FailureThreshold, 1))*p.period()
	return p.run.Kill.When().Sub(p.run.Started.When()) < row && (p.run.Attempt == 0 || newEnding(p.h, p.run).soEachTime())
}

// shownFor is how long a status has to last to be shown for sure.
const shownFor = 5 * time.Second

// allSeen keeps a judge from concluding from good attempts that were not seen.
func allSeen(judge func(*probing) *finding) func(*probing) *finding {
	return func(p *probing) *finding {
		f := judge(p)
		if f != nil && p.halfSeen() {
			return f.possibly()
		}
		return f
	}
}

// inOneRow drops attempts that lie so far before the others that one that succeeded, and
// of which nobody told, must have come between.
func (p *probing) inOneRow() {
	for i := len(p.failed) - 1; i > 0 && p.told(); i-- {
		if p.failed[i].When().Sub(p.failed[i-1].When()) > 2*(p.period()+p.timeout()) {
			p.failed = p.failed[i:]
			return
		}
	}
}

// worked says whether this probe ever succeeded: in this run, or in an earlier one.
func (p *probing) worked() bool {
	b, _ := p.counted()
	return len(p.ever) > 0 || b.Successes > 0 || p.told() && p.wasReady()
}

// succeededTimes counts attempts, folded ones too.
func succeededTimes(facts []*fact.Fact) int64 {
	var n int64
	for _, f := range facts {
		n += max(1, fact.Of[fact.Probed](f).Count)
	}
	return n
}
