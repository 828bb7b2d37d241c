package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// order says whether somebody asked for an end who decides about the node's pods.
type order int

const (
	// orderUnknown: no order was seen, and none need have been seen.
	orderUnknown order = iota
	// unordered: an order would have been seen, or there was nothing to order it for.
	unordered
	// ordered: the decision is known, or that the container runtime carried one out.
	ordered
)

// order says whether the end was ordered. Whylet's own node knows what it decided, so
// what it did not order was not ordered. Beside somebody else's node silence proves
// nothing: an order can be denied only where there was no reason for one, or where all
// signals were seen that could have carried it out.
func (e ending) order() order {
	switch {
	case e.killed():
		return ordered
	case e.h.Beside == "", slices.Contains(e.h.Unordered, e.run.Exit.ID):
		return unordered
	case e.h.FromAPI:
		return orderUnknown
	case e.stopped() != nil:
		return ordered
	case e.exit.Vanished:
		return orderUnknown // nobody saw it end
	case !e.reason() || e.traced() && !e.due(fact.Liveness) && !e.due(fact.Startup):
		return unordered
	}
	return orderUnknown
}

// ifUnordered keeps a judge from concluding from silence: where it needs an end that nobody
// ordered, it finds nothing of an ordered one, and no more than what is possible where that is not known.
func ifUnordered(judge func(ending) *finding) func(ending) *finding {
	return func(e ending) *finding {
		f := judge(e)
		if f == nil || e.order() == ordered {
			return nil
		}
		if e.order() == orderUnknown {
			return f.possibly()
		}
		return f
	}
}

// stopped is the signal by which the container runtime stopped the main process, on a
// node on which somebody else decides; nil where none was seen.
func (e ending) stopped() *fact.Fact {
	return lastThat(e.run.Signals, func(f *fact.Fact) bool {
		b, ago := fact.Of[fact.Signalled](f), e.at.Sub(f.When())
		return b.Main && b.Origin == fact.FromNode && ago >= -fact.OOMFollowedWithin && ago <= e.h.Grace()+fact.OOMFollowedWithin
	})
}

// tracedStops are the stop signals that a trace of signals shows.
var tracedStops = []v1.Signal{"", v1.SIGTERM, v1.SIGKILL, v1.SIGINT, v1.SIGQUIT, v1.SIGHUP, v1.SIGUSR1, v1.SIGUSR2}

// traced says whether all signals were seen by which the end could have been ordered.
func (e ending) traced() bool {
	if e.spec.Lifecycle != nil && e.spec.Lifecycle.StopSignal != nil && !slices.Contains(tracedStops, *e.spec.Lifecycle.StopSignal) {
		return false
	}
	from := e.at.Add(-e.h.Grace() - fact.OOMFollowedWithin)
	if d := e.lasted(); d > 0 && e.at.Add(-d).After(from) {
		from = e.at.Add(-d)
	}
	for _, b := range every[fact.Lost](e.h.Node) {
		if b.From.IsZero() {
			b.From = b.Until.Add(-overrun)
		}
		if b.Source == fact.SourceSignals && !b.From.After(e.at) && (b.Until.IsZero() || b.Until.After(from)) {
			return false
		}
	}
	return e.h.Ran(fact.SourceSignals, from, e.at)
}

// overrun is how long before it was noticed signals may have been lost that came faster
// than they were read.
const overrun = time.Minute

// reason says whether there may have been a reason to order the end. What a node ends
// single containers for is in the pod's spec, and what it ends pods for in their status.
func (e ending) reason() bool {
	if e.h.Object == nil || e.spec.Name == "" || !e.outlived() || e.h.Object.Spec.ActiveDeadlineSeconds != nil || e.changedMeanwhile() {
		return true
	}
	s := &e.h.Object.Spec
	if slices.ContainsFunc(s.InitContainers, func(c v1.Container) bool { return c.Name == e.spec.Name && c.RestartPolicy != nil }) ||
		slices.ContainsFunc(s.Containers, func(c v1.Container) bool { return len(c.RestartPolicyRules) > 0 }) {
		return true // a sidecar ends with the others, and a rule may restart the pod
	}
	if hooks := e.spec.Lifecycle; hooks != nil && hooks.PostStart != nil && !slices.ContainsFunc(e.run.Hooks, func(f *fact.Fact) bool {
		b := fact.Of[fact.HookRan](f)
		return b.Hook == fact.PostStart && b.Error == "" && !b.Timeout
	}) {
		return true
	}
	return slices.ContainsFunc(fact.KillingProbes, func(kind fact.ProbeKind) bool { return e.probeMayHaveFailed(kind) })
}

// outlived says whether the pod went on after the end: it was not ended as a whole.
func (e ending) outlived() bool {
	if e.h.Last(e.run.Container).Attempt > e.run.Attempt {
		return true
	}
	f, b, ok := fact.Latest[fact.StatusSeen](e.h.Facts)
	return ok && f.Seen.After(e.at) && b.Status.Reason == "" && conditionOf(b.Status.Conditions, v1.DisruptionTarget) == nil
}

// changedMeanwhile says whether the pod's spec was changed, its sandbox lost or its
// deletion asked for before the end.
func (e ending) changedMeanwhile() bool {
	var generation int64
	for i := range e.h.Facts {
		f := &e.h.Facts[i]
		if f.Seen.After(e.at.Add(fact.OOMFollowedWithin)) {
			continue
		}
		switch b := f.Body.(type) {
		case fact.SandboxLost, fact.DeletionSeen:
			return true
		case fact.SpecSeen:
			if b.Object != nil {
				if generation != 0 && b.Object.Generation != generation {
					return true
				}
				generation = b.Object.Generation
			}
		}
	}
	return false
}

// probeMayHaveFailed says whether a probe may have failed often enough by the end: it
// had had the time to, and neither a success nor the counters show that it did not.
func (e ending) probeMayHaveFailed(kind fact.ProbeKind) bool {
	p := fact.ProbeOf(e.spec, kind)
	if p == nil || e.due(kind) {
		return p != nil
	}
	threshold, period := max(p.FailureThreshold, 1), time.Duration(max(p.PeriodSeconds, 1))*time.Second
	row := time.Duration(threshold-1) * period // from the first failure of a row to the last
	if d := e.lasted(); d > 0 && d+time.Second < fact.SoonestKill(p) {
		return false
	}
	for _, f := range e.run.Probes {
		if b := fact.Of[fact.Probed](f); b.Probe == kind && !bad(b) && latest(f.Seen, b.Until).After(e.at.Add(-row)) {
			return false
		}
	}
	for _, f := range e.run.Counts {
		if b := fact.Of[fact.Counted](f); b.Probe == kind && !f.Seen.Before(e.at) &&
			(b.Failures == 0 || b.NewFailures < int64(threshold) && !b.From.IsZero() && b.From.Before(e.at.Add(-row-period))) {
			return false
		}
	}
	return true
}

func latest(a, b time.Time) time.Time { return prose.Whether(a.After(b), a, b) }

// due says whether a probe was seen to fail as often as it takes to end the container.
func (e ending) due(kind fact.ProbeKind) bool {
	p := fact.ProbeOf(e.spec, kind)
	return p != nil && e.failedInARow(kind) >= int(max(p.FailureThreshold, 1))
}

// failedInARow counts the failed attempts of a probe until the end.
func (e ending) failedInARow(kind fact.ProbeKind) int {
	n := 0
	for f, b := range each[fact.Probed](e.run.Probes) {
		switch {
		case b.Probe != kind || f.Seen.After(e.at.Add(fact.OOMFollowedWithin)):
		case b.Verdict == fact.Failure:
			n++
		default:
			n = 0
		}
	}
	return n
}

// openWords say what is known of an end, and what is missing to know whether and by
// whom it was ordered.
func (e ending) openWords() (what, missing string) {
	what = fmt.Sprintf("Container %s ended with exit code %d%s.", e.run.Container, e.exit.ExitCode, e.after())
	if e.exit.Vanished {
		what = fmt.Sprintf("Container %s is gone from the container runtime, and how it ended is not known.", e.run.Container)
	}
	if at := e.stopped(); at != nil {
		what = fmt.Sprintf("Container %s was stopped through the container runtime%s, with %s; it ended with exit code %d.",
			e.run.Container, e.after(), signalName(fact.Of[fact.Signalled](at).Signal), e.exit.ExitCode)
		missing = fmt.Sprintf("Whose order that was is not known: the word of %s was not heard.", e.h.Beside)
	} else {
		missing = "Whether somebody asked it to is not known here: " + e.unseenWords() + "."
	}
	for _, kind := range fact.KillingProbes {
		if e.due(kind) && slices.ContainsFunc(e.run.Probes, func(f *fact.Fact) bool { return fact.Of[fact.Probed](f).By == fact.BySay }) {
			missing += fmt.Sprintf(" Its %s probe had failed %s by then, of which %s told.", kindWord(kind), prose.Times(e.failedInARow(kind)), e.h.Beside)
		} else if e.due(kind) {
			missing += fmt.Sprintf(" Its %s probe had failed %s in a row by then, which is reason enough to end it.", kindWord(kind), prose.Times(e.failedInARow(kind)))
		}
	}
	return what, missing
}

// unseenWords say why an order need not have been seen.
func (e ending) unseenWords() string {
	traces := func(f *fact.Fact) bool {
		return slices.Contains(fact.Of[fact.AgentStarted](f).Sources, fact.SourceSignals)
	}
	switch {
	case e.exit.Vanished:
		return "nobody saw it end"
	case e.h.FromAPI:
		return "what kubelet said then is not there any more"
	case !slices.ContainsFunc(fact.All[fact.AgentStarted](e.h.Node), traces):
		return "signals are not traced on this node"
	case e.traced():
		return fmt.Sprintf("no signal of the container runtime was seen, and the word of %s was not heard", e.h.Beside)
	}
	return "signals were not traced all the time while it ran"
}

// soften makes a verdict inferred that rests on somebody else's decision to end something
// of which there is no word of theirs, and says so.
func (h *inquiry) soften(v *answer.Verdict) {
	weakest := h.restsOn(*v)
	how, ok := map[fact.Basis]string{
		fact.Matched: "what was seen until then made that due",
		fact.Deduced: "counters and the order of times allow nothing else",
	}[weakest]
	if !ok {
		return
	}
	v.SayThen(fmt.Sprintf("That %s decided so is inferred, because %s; its own word was not heard.", h.Beside, how))
	if v.Certainty == answer.Recorded {
		v.Certainty, v.Rule = answer.Inferred, "act-inferred"
	}
}

// decisions are what a node does in the words of the rules; on a node on which somebody
// else decides, that one does it.
var decisions = []string{
	"ended", "ends", "killed", "ordered", "evicted", "evicts", "follows", "refused", "started", "starts", "sets", "took", "did not",
	"then", "'s order", "'s decision", "'s kill", "'s refusal",
}

// namer puts the name of who decides where the rules say "the node".
func namer(by string) *strings.Replacer {
	var pairs []string
	for _, what := range decisions {
		between := prose.Whether(strings.HasPrefix(what, "'"), "", " ")
		pairs = append(pairs, "the node"+between+what, by+between+what, "The node"+between+what, by+between+what)
	}
	return strings.NewReplacer(pairs...)
}

// nameDecider has an answer say who decided, where that is not the node that is asked, and
// how that is known.
func (h *inquiry) nameDecider(a *answer.Answer) {
	if h.Beside == "" {
		return
	}
	a.Rename(namer(h.Beside))
	for i := range a.Verdicts {
		v := &a.Verdicts[i]
		v.By, v.Basis = h.Beside, h.restsOn(*v)
	}
}

// restsOn is how the weakest decision is known that a verdict rests on; empty where it
// rests on none.
func (h *inquiry) restsOn(v answer.Verdict) (weakest fact.Basis) {
	for _, l := range v.Chain {
		if l.Kind != (fact.Kill{}).Kind() && l.Kind != (fact.Evict{}).Kind() {
			continue // a mere link between facts
		}
		switch b := h.Basis(l.Fact); {
		case weakest == "", b == fact.Deduced, b == fact.Matched && weakest == fact.Told:
			weakest = b
		}
	}
	return weakest
}
