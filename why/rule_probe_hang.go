package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// complains quotes the error of which a container's log tells while it does not answer.
func (p *probing) complains(f *finding) {
	if at, said := p.complaint(); f.weight >= fair && at != nil && !at.Seen.Before(p.from) {
		f.because = append(f.because, itsLog(said))
		p.h.meant(f, p.run.Container, said)
	}
}

// notOnlySlow is after how many timeouts without an answer one that was slow before is not only that.
const notOnlySlow = 5

// untilAccepts is how long one that began to listen may take until it accepts.
const untilAccepts = 10 * time.Second

// probeHang: it holds the port, uses no CPU and takes no connection. One that accepts and then
// says nothing may only be slow: without a late answer to show for it that stays open.
func probeHang(p *probing) *finding {
	if p.asksAnother() || p.mode != silent && p.mode != unreachable && p.mode != commandLate {
		return nil
	}
	if came, _ := p.again(); came != nil {
		return nil // connections wait where one is served at a time, too
	}
	at, look, ok := p.look()
	// What is runnable and uses nothing waits for a CPU: it does not hang.
	if !ok || share(look) > idleShare || stopped(look.State) || look.State == "R" {
		return nil
	}
	here := p.here(look)
	if p.mode == commandLate { // which asks the container itself, at whatever port
		here = slices.DeleteFunc(p.elsewhere(look), func(l fact.Listener) bool { return l.Other })
	}
	f := p.finds(answer.AppHang, weak, at)
	f.fixes = []answer.Fix{p.h.logsFix(p.run)}
	if p.run.Exit == nil {
		f.first(p.whereItWaits(look))
	}
	waiting, taken := 0, 0
	for _, l := range here {
		waiting, taken = waiting+l.Backlog, taken+l.Taken
	}
	switch {
	case waiting > 0:
		f.weight = strong
		f.text = fmt.Sprintf("Container %s hangs: it listens, its main process %s, and %s to be accepted.", p.run.Container, idleWords(look), waitWords(waiting))
		if p.port() != 0 {
			f.text = fmt.Sprintf("Container %s hangs: it holds port %d, its main process %s, and %s to be accepted, that of %s among them.", p.run.Container, p.port(), idleWords(look), waitWords(waiting), p.what())
		}
		if taken > 0 && len(look.From) > 0 {
			f.because = append(f.because, fmt.Sprintf("Its workers are held by %s that it has accepted, from %s.", prose.Plural(taken, "connection"), prose.Brief(strings.Join(look.From, ", "), kept)))
		}
		if look.Stopped != nil {
			f.weight = fair // which may be the one that should take them
		}
		if why := p.mayServe(look); why != "" {
			f.weight, f.text = weak, "connections wait to be accepted, and "+why
		}
	case look.State == "D":
		f.weight = strong
		f.text = fmt.Sprintf("Container %s hangs: its main process waits for a disk that does not answer.", p.run.Container)
	case len(here) > 0 && p.mode != commandLate:
		f.text = "it holds its port, idles and does not answer in time"
		if u, ok := p.idlesLong(); ok {
			f.weight = fair
			f.text = fmt.Sprintf("Container %s hangs: it takes the connection of %s and has answered nothing for %s, and its processes used %s CPU in %s of that.",
				p.run.Container, p.what(), prose.Span(p.h.Now.Sub(p.from)), prose.Span(u.cpu), prose.Span(u.over))
		}
	default:
		return nil
	}
	if said := p.progress(); said != "" {
		f.first(p.h.specFix(fmt.Sprintf("if it is still at work at what its log tells of (%q), have it listen only when that is done, or give it the time: a startupProbe that asks for an answer, or a larger failureThreshold or timeoutSeconds of %sProbe", prose.Brief(said, quoted), kindWord(p.kind))))
	}
	p.complains(f)
	return f
}

// whereItWaits shows what a process waits for: a JVM says so itself, of each of its threads, and the kernel of any.
func (p *probing) whereItWaits(look fact.Looked) answer.Fix {
	if slices.ContainsFunc(p.mine(look.Listeners), func(l fact.Listener) bool { return l.Command == "java" }) {
		dump := p.h.inside("have it write into its log what each of its threads waits for (a JVM does so on SIGQUIT), and read that", p.run.Container, "sh -c 'kill -3 $(pidof java || echo 1)'")
		dump.Command += " && " + p.h.kubectl("logs %s -c %s --tail=300", p.h.Pod.Name, p.run.Container)
		return dump
	}
	return kubectl.OnNode("see where it waits", shell.Linef("cat /proc/%d/wchan /proc/%d/stack", look.PID, look.PID))
}

// mayServe is why one whose connections wait to be accepted may be at work all the same; empty where nothing
// speaks for that.
func (p *probing) mayServe(look fact.Looked) string {
	_, _, now := p.usedBetween(p.from, p.until.Add(time.Second))
	_, _, around := p.used()
	tookLong := func(f *fact.Fact) bool { return fact.Of[fact.Probed](f).Took > p.timeout()/2 }
	switch {
	case p.cameUp && p.until.Sub(p.from) < untilAccepts:
		return "it began to listen only just"
	case (slices.ContainsFunc(p.ever, tookLong) || p.halfSeen()) && p.h.Now.Sub(p.from) < notOnlySlow*p.timeout():
		return "good answers before took long, or nobody saw how long: it may only be slow"
	case now.busy():
		return fmt.Sprintf("its processes are at work (%s)", now)
	case len(p.before) == 0 && (around.busy() || around.starved()):
		return fmt.Sprintf("others of its processes than the main one are at work (%s): it may still be starting", around)
	}
	return ""
}

// idlesLong says whether it answered quickly before, has not for so long that a patient
// request would have been answered, and whether all its processes together did nothing
// meanwhile.
func (p *probing) idlesLong() (use, bool) {
	slow, quick := p.slowSuccesses()
	if quick == 0 || slow > quick || len(p.failed) < 2 || p.h.Now.Sub(p.from) < 5*time.Second+2*p.timeout() {
		return use{}, false
	}
	_, _, u := p.usedBetween(p.from, p.h.Now)
	return u, u.over >= 2*time.Second && u.part(u.cpu) <= idleShare && u.part(u.waited) <= 0.1
}

func waitWords(connections int) string {
	return prose.Whether(connections == 1, "1 connection waits", fmt.Sprintf("%d connections wait", connections))
}

func idleWords(look fact.Looked) string {
	return prose.Whether(look.Over > 0, "used "+prose.Span(look.CPUUsed)+" CPU in "+prose.Span(look.Over), stateWords(look.State))
}

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
		if ev := b.Evidence; ev != nil && ev.Header[mesh.AnsweredBy] == mesh.Sidecar { // the application gave none
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
	idle := prose.Whether(look.Over > 0, ", and its main process "+idleWords(look), "")
	f.text = fmt.Sprintf("Container %s hangs: it takes the connection of %s and answers nothing, not even within %s%s.", p.run.Container, p.what(), prose.Span(b.Patience), idle)
	p.complains(f)
	f.fixes = []answer.Fix{p.h.inside("see what each of its threads waits for", p.run.Container, kubectl.Threads), p.h.logsFix(p.run)}
	return f
}
