package why

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// again are the newest patient requests after one of the failed attempts: the one
// that was answered, and the one that was not; none where another host is asked.
func (p *probing) again() (came, silent *fact.Fact) {
	if p.asksAnother() {
		return nil, nil
	}
	for f, b := range newest[fact.AskedAgain](p.run.Again) {
		if b.Probe != p.kind || b.Cut || b.Unfiltered || !p.about(f) {
			continue
		}
		if sidecarsWord(b.Evidence) {
			if b.Took >= b.Patience*9/10 { // it waited as long as it was asked to
				silent = cmp.Or(silent, f)
			}
			continue
		}
		if answerCame(b) {
			came = cmp.Or(came, f)
		} else if b.Evidence != nil && b.Evidence.Timeout {
			silent = cmp.Or(silent, f)
		}
	}
	return came, silent
}

// endsElsewhen is when a command that never ends in time was run once more, with more time, in another run of the
// container, and ended well; nil where that was not so.
func (p *probing) endsElsewhen() *fact.Fact {
	if p.mode != commandLate || len(p.ever) > 0 {
		return nil
	}
	for _, r := range slices.Backward(p.h.Runs(p.run.Container)) {
		for _, f := range slices.Backward(r.Decided().Again) {
			if b := fact.Of[fact.AskedAgain](f); b.Probe == p.kind && !b.Unfiltered && answerCame(b) && b.Took > p.timeout() {
				return f
			}
		}
	}
	return nil
}

// againLasts is how long before the attempts at hand a patient request still tells of
// them: the node makes one a minute, and waits half of one for its answer.
const againLasts = 2 * time.Minute

// about says whether a patient request was made after one of the attempts at hand, or
// ended shortly before or among them in the same row of failures.
func (p *probing) about(f *fact.Fact) bool {
	for _, attempt := range p.failed {
		if slices.Contains(f.Because, attempt.ID) {
			return true
		}
	}
	if n := len(p.before); n > 0 {
		well := p.before[n-1].When()
		if !f.Seen.After(well) || answerCame(fact.Of[fact.AskedAgain](f)) && f.Seen.Before(p.from) {
			return false // it tells of an earlier row
		}
	}
	return !f.Seen.Before(p.from.Add(-againLasts)) && !f.When().After(p.until.Add(p.period()))
}

// answerCame says whether the application answered, well or not.
func answerCame(b fact.AskedAgain) bool {
	return !b.Cut && (b.Verdict == fact.Success || b.Verdict == fact.Warning || b.Evidence != nil && b.Evidence.Status > 0)
}

// probeAnswersAfterTimeout: the answer comes, only later than the probe waits.
func probeAnswersAfterTimeout(p *probing) *finding {
	at, _ := p.again()
	at = cmp.Or(at, p.endsElsewhen())
	if p.mode != silent && p.mode != commandLate || at == nil {
		return nil
	}
	b := fact.Of[fact.AskedAgain](at)
	f := p.finds(answer.ProbeTimeoutTooShort, strong, at)
	f.fixes = []answer.Fix{
		p.h.inside("see what makes it slow", p.run.Container, "top -b -n 1"),
		p.h.specFix(fmt.Sprintf("if answers may take that long, raise %s of container %s from %d to %d", p.field("timeoutSeconds"), p.run.Container, prose.Seconds(p.timeout()), prose.Seconds(b.Took)+1)),
		p.h.inspect("see what that would have changed", p.h.why(fmt.Sprintf("--what-if %sProbe.timeoutSeconds=%d", kindWord(p.kind), prose.Seconds(b.Took)+1))),
	}
	slow, quick := p.slowSuccesses()
	switch first, _ := p.around(); {
	case first == nil && p.cpuLimit() != "":
		f.weight, f.text = weak, "it answers late; whether its CPU limit stalled it is not known"
	case b.Took <= p.timeout():
		f.weight = weak
		f.text = "asked once more it answered in time"
	case b.Verdict != fact.Success && b.Verdict != fact.Warning:
		f.cause = answer.AppUnhealthy
		f.text = fmt.Sprintf("The application answers %s late, and then with %d: asked again with more time, it took %s.", p.what(), b.Evidence.Status, prose.Span(b.Took))
	case quick > 0 && quick > 2*slow:
		f.cause = answer.AppOverloaded
		f.text = fmt.Sprintf("The application became slow: it had answered %s within %s, and now takes %s when it is asked again with more time; the probe allows %s.", p.what(), prose.Span(p.timeout()/5), prose.Span(b.Took), prose.Span(p.timeout()))
	case p.mode == commandLate:
		f.text = fmt.Sprintf("The command of %s ends well, but late: run once more with more time, it took %s; the probe allows %s.", p.what(), prose.Span(b.Took), prose.Span(p.timeout()))
	case p.halfSeen():
		f.possibly()
		f.text = "it answers late; how quickly it answered before is not known"
	default:
		f.text = fmt.Sprintf("The answers to %s are correct but late: asked again with more time, it answered after %s; the probe allows %s.", p.what(), prose.Span(b.Took), prose.Span(p.timeout()))
	}
	if f.cause == answer.ProbeTimeoutTooShort {
		f.fixes = append(f.fixes[1:], f.fixes[0])
	}
	return f
}

// probeNeverAnswers: not even a patient request is answered.
func probeNeverAnswers(p *probing) *finding {
	came, at := p.again()
	if p.mode != silent && p.mode != unreachable || at == nil || came != nil {
		return nil
	}
	b := fact.Of[fact.AskedAgain](at)
	f := p.finds(answer.AppHang, strong, at)
	seen, look, ok := p.look()
	if !ok {
		f.weight, f.text = weak, "no answer came, not even to a request with more time"
		return f // it may be busy, or stopped
	}
	_, _, u := p.usedBetween(p.from, p.until.Add(time.Second))
	if share(look) >= busyShare || look.State == "R" || u.busy() {
		return nil // it wants to run, or others of its processes do, and where it gets no CPU others do
	}
	f.chain = append(f.chain, link(seen))
	idle := ""
	if look.Over > 0 {
		idle = ", and its main process " + idleWords(look)
	}
	f.text = fmt.Sprintf("Container %s hangs: it takes the connection of %s and answers nothing, not even within %s%s.", p.run.Container, p.what(), prose.Span(b.Patience), idle)
	p.complains(f)
	f.fixes = []answer.Fix{p.h.inside("see what each of its threads waits for", p.run.Container, kubectl.Threads), p.h.logsFix(p.run)}
	return f
}
