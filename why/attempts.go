package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/words"
)

// mode is how a probe attempt failed, as far as its evidence shows.
type mode string

const (
	refused     mode = "refused"     // nothing listens, or something rejects
	silent      mode = "silent"      // connected, and no answer in time
	unreachable mode = "unreachable" // no connection, and no refusal
	broken      mode = "broken"      // the connection broke off before an answer
	answered    mode = "answered"    // an HTTP status that counts as failure
	mismatch    mode = "mismatch"    // what came back is another protocol
	exitCode    mode = "exit code"   // the command ran and said no
	commandLate mode = "command late"
	notServing  mode = "not serving" // a gRPC health service said so
	impossible  mode = "impossible"  // the attempt itself could not be made
	redirects   mode = "redirects"   // each answer sends on to the next, without an end
	unclear     mode = "unclear"
)

// commonMode is how most attempts failed, and the newest of those; of two that
// are as common, the newer one.
func (p *probing) commonMode() (mode, fact.Probed) {
	count := map[mode]int{}
	newest := map[mode]fact.Probed{}
	best, sentOn := unclear, 0
	for _, f := range p.failed {
		b, m := p.read(fact.Of[fact.Probed](f))
		if m == silent && b.Evidence.Redirected != "" {
			sentOn++
		}
		count[m]++
		newest[m] = b
		if count[m] >= count[best] {
			best = m
		}
	}
	if count[redirects] > 0 && count[redirects]+sentOn == len(p.failed) {
		return redirects, newest[redirects] // the others were on their way when their time was over
	}
	if best == silent || best == commandLate {
		// On a busy machine some attempts get no answer; what one of them was told
		// says more than that the others were too late.
		for _, m := range []mode{answered, exitCode, notServing} {
			if count[m] > 0 && 3*count[m] >= len(p.failed) {
				return m, newest[m]
			}
		}
	}
	return best, newest[best]
}

// modeOf reads the evidence of one attempt.
func modeOf(b fact.Probed) mode {
	ev := b.Evidence
	if ev == nil {
		if b.Verdict == fact.Unknown {
			return impossible
		}
		return unclear
	}
	switch {
	case ev.Handler == fact.Exec:
		return execMode(b, ev)
	case ev.Handler == fact.HTTPGet && words.CutShort(b.Message):
		return broken // kubelet counts that as an attempt that could not be made
	case b.Verdict == fact.Unknown:
		return impossible
	case ev.Errno == "ECONNREFUSED":
		return refused
	case ev.Status >= 400:
		return answered
	case ev.Errno == "ECONNRESET", ev.Errno == "EPIPE":
		return broken
	case ev.Errno == "EHOSTUNREACH", ev.Errno == "ENETUNREACH", ev.Errno == "EPERM", ev.Errno == "EACCES":
		return unreachable
	case ev.Timeout && !connected(b):
		return unreachable
	case ev.Timeout:
		return silent
	case ev.Handler == fact.GRPC && (ev.Connect > 0 || b.By == fact.BySay && ev.Output != ""):
		return notServing
	case knowledge.ManyRedirects.In(ev.Error):
		return redirects
	case knowledge.OtherProtocol.In(ev.Error):
		return mismatch
	case words.BrokeOff(ev.Error):
		return broken
	}
	return unclear
}

// connected says whether the attempt came to a connection. Who only tells of attempts
// names what failed, and is taken to have connected where that is not the dialing
// itself; [probing.findOut] knows better where somebody asked again.
func connected(b fact.Probed) bool {
	return b.Evidence.Connect > 0 || b.By == fact.BySay && !strings.Contains(b.Evidence.Error, "dial ")
}

// findOut corrects the mode where the attempts are known by words that do not say whether
// a connection came about, and one that was made again shows that none does.
func (p *probing) findOut() {
	if p.mode != silent || p.last.By != fact.BySay || p.last.Evidence.Connect > 0 {
		return
	}
	came, none := p.again()
	if came == nil && none != nil && fact.Of[fact.AskedAgain](none).Evidence.Connect == 0 {
		p.mode = unreachable
	}
}

func commandSaid(ev *fact.Evidence) string {
	if ev.ExitCode == nil {
		return "fails"
	}
	return fmt.Sprintf("exits with %d", *ev.ExitCode)
}

func execMode(b fact.Probed, ev *fact.Evidence) mode {
	switch {
	case ev.Timeout:
		return commandLate
	case ev.ExitCode != nil && *ev.ExitCode != 126 && *ev.ExitCode != 127:
		return exitCode
	case ev.ExitCode == nil && b.By == fact.BySay && b.Verdict == fact.Failure:
		return exitCode // kubelet tells that the command said no, and not its code
	case ev.ExitCode != nil, b.Verdict == fact.Unknown:
		return impossible
	}
	return unclear
}

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

// readyMeanwhile reports whether the status shows that the pod was Ready during this run, for a readiness probe whose
// successes are unknown.
func (p *probing) readyMeanwhile() bool {
	status, _ := p.h.Status(p.h.Policy)
	ready := conditionOf(status.Conditions, v1.ContainersReady)
	return p.kind == fact.Readiness && p.halfSeen() && ready != nil && p.run.Started != nil && ready.LastTransitionTime.After(p.run.Started.When())
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
