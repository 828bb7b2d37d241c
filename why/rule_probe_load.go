package why

import (
	"fmt"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// These rules are about answers that come too late, or never.
func init() {
	probeRules.add(
		rule[*probing]{
			name: "probe-throttled", causes: []answer.Cause{answer.CPUThrottled},
			needs:   "two samples around the attempts between which at least half of the CPU periods were throttled; for one that is still coming up, as much CPU use as its limit allows, at most a quarter of a CPU, and three quarters of the time in which it wanted more",
			against: "no CPU limit, or few throttled periods",
			judge:   probeThrottled,
		},
		rule[*probing]{
			name: "probe-node-cpu", causes: []answer.Cause{answer.NodeCPUSaturated},
			needs:   "a success in this run, and two samples after it between which its tasks waited for a CPU for half of the time, less what its own limit took; or samples around the failed attempts between which they waited for two fifths of the time in which they were asked, and ten times as long as they had a CPU; and samples before, between which they waited less than half as much",
			against: "throttling; a container that is still coming up; the same waiting before, while the probe succeeded; CPU use of its own that rose",
			judge:   probeNodeCPU,
		},
		rule[*probing]{
			name: "probe-overloaded", causes: []answer.Cause{answer.AppOverloaded},
			needs:   "a look that finds it using at least half a CPU while answers are late, or samples meanwhile that show its processes use or wait for that much, and use a tenth",
			against: "an idle process",
			judge:   probeOverloaded,
		},
		rule[*probing]{
			name: "probe-answers-late", causes: []answer.Cause{answer.ProbeTimeoutTooShort, answer.AppOverloaded},
			needs:   "three good answers or more that took more than half of the timeout, lately, too, or a first byte that came after it; quick answers before make it app-overloaded",
			against: "",
			yields:  stalling,
			judge:   probeAnswersLate,
		},
		rule[*probing]{
			name: "probe-finishes-late", causes: []answer.Cause{answer.AppOverloaded},
			needs:   "an empty queue, more tasks than while it was well, and some that end again between the failed attempts",
			against: "tasks that only become more",
			judge:   probeFinishesLate,
		},
		rule[*probing]{
			name: "probe-hang", causes: []answer.Cause{answer.AppHang},
			needs:   "connections that wait to be accepted and an idle main process, or one that waits for a disk; or quick answers before, none for five seconds and two timeouts now, and no CPU use of all its processes",
			against: "CPU use; a stopped process; answers that do come; that it waits for another's; for one that has not served yet, processes at work beside the main one, or that it listens for less than 10 s",
			yields:  []string{"probe-awaits-another", "probe-child-oom", "probe-limit-said", "probe-takes-no-more", "probe-worker-late", "probe-speaks-otherwise"},
			judge:   probeHang,
		},
	)
}

// throttled is the share of CPU periods from which on a quota counts as what
// stalled the container.
const throttledShare = 0.5

// busyShare is the CPU use from which on a process counts as at work, idleShare
// that up to which it counts as idle.
const (
	busyShare = 0.5
	idleShare = 0.02
)

func share(look fact.Looked) float64 {
	if look.Over <= 0 {
		return -1
	}
	return float64(look.CPUUsed) / float64(look.Over)
}

// around are the first and the last sample taken around the failed attempts, nil
// without two of them.
func (p *probing) around() (first, last *fact.Fact) {
	margin := 2*p.period() + 5*time.Second
	return p.samples(p.from.Add(-margin), p.until.Add(margin))
}

// samples are the first and the last sample of a time, nil without two of them.
func (p *probing) samples(from, until time.Time) (first, last *fact.Fact) {
	for _, f := range p.run.Samples {
		switch {
		case f.Seen.Before(from), f.Seen.After(until):
		case first == nil:
			first = f
		default:
			last = f
		}
	}
	if last == nil {
		return nil, nil
	}
	return first, last
}

// late says whether the attempts failed by being slow.
func (p *probing) late() bool { return p.mode == silent || p.mode == commandLate }

// probeThrottled: its own CPU limit stalled it.
func probeThrottled(p *probing) *finding {
	coming := p.comingUp()
	if !p.late() && !coming {
		return nil
	}
	a, b := p.around()
	if a == nil {
		return nil
	}
	before, after := fact.Of[fact.Sampled](a), fact.Of[fact.Sampled](b)
	if coming {
		return p.throttledStart(a, b)
	}
	periods, stalled := after.Periods-before.Periods, after.ThrottledPeriods-before.ThrottledPeriods
	f := &finding{cause: answer.CPUThrottled, weight: refuted, chain: links(b)}
	if periods <= 0 {
		if after.Periods == 0 {
			f.text = "it has no CPU limit that could have stalled it"
			return f
		}
		return nil
	}
	part := float64(stalled) / float64(periods)
	if part < throttledShare {
		f.text = fmt.Sprintf("only %d of %d CPU periods were throttled in that time", stalled, periods)
		return f
	}
	f.weight = strong
	if part >= 0.8 {
		f.weight = certain
	}
	f.chain = p.chain(a, b)
	f.text = fmt.Sprintf("Container %s was stalled by its own CPU limit%s: %d of %d CPU periods were throttled while %s timed out.",
		p.run.Container, p.cpuLimit(), stalled, periods, p.what())
	f.fixes = []answer.Fix{p.h.limitsFix("raise or remove the CPU limit of container " + p.run.Container), p.h.specFix("have it do less at once (fewer threads or workers), or raise the probe's timeoutSeconds")}
	return f
}

// comingUp says whether the probe was refused and never succeeded in this run: the
// container may be about to listen.
func (p *probing) comingUp() bool { return p.mode == refused && len(p.before) == 0 }

// atLimit says whether it used nearly as much CPU as its own limit allows.
func (p *probing) atLimit(used, over time.Duration) bool {
	if p.of == nil {
		return false
	}
	allowed := time.Duration(p.of.Resources.Limits.Cpu().MilliValue()) * over / 1000
	return allowed > 0 && used >= allowed*7/10
}

// throttledStart: it would listen by now, had its own CPU limit not stalled it. Needs:
// it used what its limit allows, at most a quarter of a CPU, and wanted more for three
// quarters of the time. One that was stalled less would be slow by itself. The quota
// of the pod's cgroup is as small, so what counts as throttled is in either of them;
// the pressure has both.
func (p *probing) throttledStart(a, b *fact.Fact) *finding {
	before, after := fact.Of[fact.Sampled](a), fact.Of[fact.Sampled](b)
	over, used := b.Seen.Sub(a.Seen), after.CPUUsage-before.CPUUsage
	stalled := max(after.ThrottledTime-before.ThrottledTime, after.CPUSome-before.CPUSome)
	if !p.atLimit(used, over) || used > over/4 || stalled < over*3/4 {
		return nil
	}
	return &finding{
		cause: answer.CPUThrottled, weight: certain, chain: p.chain(a, b),
		text: fmt.Sprintf("Container %s could not come up in time: its own CPU limit%s stalled it for %s of %s, and nobody listened yet when %s was asked.",
			p.run.Container, p.cpuLimit(), prose.Span(min(stalled, over)), prose.Span(over), p.what()),
		fixes: []answer.Fix{p.h.limitsFix("raise or remove the CPU limit of container " + p.run.Container), p.h.specFix("give it more time to start, with a startupProbe")},
	}
}

func (p *probing) cpuLimit() string {
	if p.of == nil || p.of.Resources.Limits.Cpu().IsZero() {
		return ""
	}
	return " of " + p.of.Resources.Limits.Cpu().String() + " CPU"
}

// probeNodeCPU: it wanted to run and was not let, without a quota of its own, and it was
// let before. Who is still starting waits for a CPU on any machine, and would be slow by
// itself.
func probeNodeCPU(p *probing) *finding {
	if !p.late() || len(p.before) == 0 {
		return nil
	}
	f, now := p.starvedWhileAsked()
	if f == nil {
		f, now = p.starved(p.around())
	}
	if f == nil {
		return nil
	}
	calm, ok := p.calmUse()
	switch {
	case !ok && now.waited >= 10*now.cpu:
		f.weight = fair
	case !ok:
		f.weight, f.text = weak, "its tasks waited for a CPU; whether they waited before, too, is not known"
	case calm.part(calm.waited) >= now.part(now.waited)/2:
		f.weight, f.text = refuted, fmt.Sprintf("its tasks waited for a CPU as much while the probe still succeeded: for %s of %s", prose.Span(calm.waited), prose.Span(calm.over))
	case now.part(now.cpu) >= max(0.1, 2*calm.part(calm.cpu)):
		return nil // it has more to do than before
	}
	return f
}

// part is the share of the time that something took.
func (u use) part(d time.Duration) float64 { return float64(d) / float64(max(u.over, 1)) }

// calmUse is what the container's processes did with the CPU before the first failed
// attempt, by the last samples of then; ok is false without two.
func (p *probing) calmUse() (u use, ok bool) {
	var last *fact.Fact
	for _, f := range slices.Backward(p.run.Samples) {
		switch {
		case f.Seen.After(p.from):
		case last == nil:
			last = f
		case last.Seen.Sub(f.Seen) >= time.Second:
			return useBetween(f, last), true
		}
	}
	return use{}, false
}

func useBetween(a, b *fact.Fact) use {
	before, after := fact.Of[fact.Sampled](a), fact.Of[fact.Sampled](b)
	return use{
		cpu: after.CPUUsage - before.CPUUsage, over: b.Seen.Sub(a.Seen),
		waited: after.CPUSome - before.CPUSome - (after.ThrottledTime - before.ThrottledTime),
	}
}

// starvedWhileAsked looks at the time of the failed attempts alone: between them a
// server has nothing to do, and waits for nothing. Needs: it waited for a CPU for two
// fifths of that time, and ten times as long as it had one.
func (p *probing) starvedWhileAsked() (*finding, use) {
	var asked time.Duration
	var now use
	var chain []*fact.Fact
	for _, f := range p.failed {
		took := fact.Of[fact.Probed](f).Took
		a, b := p.samplesAround(f)
		if a == nil || b == nil || b.Seen.Sub(a.Seen) > took+2*time.Second {
			continue
		}
		u := useBetween(a, b)
		asked += took
		now.cpu, now.waited, now.over = now.cpu+u.cpu, now.waited+u.waited, now.over+u.over
		chain = []*fact.Fact{a, b}
	}
	if asked == 0 || now.waited < asked*2/5 || now.waited < 10*now.cpu {
		return nil, now
	}
	now.over = max(now.over, asked)
	return p.saturated(now.waited, asked, chain...), now
}

// samplesAround are the last sample before an attempt and the first one after it.
func (p *probing) samplesAround(attempt *fact.Fact) (before, after *fact.Fact) {
	for _, f := range p.run.Samples {
		if !f.Seen.After(attempt.When()) {
			before = f
		} else if after == nil && !f.Seen.Before(attempt.Seen) {
			after = f
		}
	}
	return before, after
}

// saturated words that the node had no CPU for the container.
func (p *probing) saturated(waited, over time.Duration, samples ...*fact.Fact) *finding {
	return &finding{
		cause: answer.NodeCPUSaturated, weight: strong, chain: p.chain(samples...),
		text: fmt.Sprintf("The node had no CPU left: processes of container %s waited for a CPU for %s of %s, without any limit of their own, while %s failed.",
			p.run.Container, prose.Span(min(waited, over)), prose.Span(over), p.what()),
		fixes: []answer.Fix{p.h.inspect("see who uses the CPU", "kubectl top pods -A --sort-by=cpu"), p.h.specFix("give the container a CPU request, so that it gets its share")},
	}
}

// starved compares two samples, which may be nil.
func (p *probing) starved(a, b *fact.Fact) (*finding, use) {
	if a == nil {
		return nil, use{}
	}
	now := useBetween(a, b)
	if now.over <= 0 || now.waited < now.over/2 {
		return nil, now
	}
	return p.saturated(now.waited, now.over, a, b), now
}

// probeOverloaded: it is busy and answers too late.
func probeOverloaded(p *probing) *finding {
	if !p.late() || p.last.Evidence == nil || p.last.Evidence.Handler == fact.Exec {
		return nil
	}
	at, look, ok := p.look()
	if !ok || share(look) < 0 || len(p.before) == 0 && p.kind != fact.Readiness {
		return nil // before its first success it may be starting
	}
	f := &finding{cause: answer.AppOverloaded, weight: strong, chain: p.chain(at)}
	work := workWords(look)
	if share(look) < busyShare {
		// The look may compare with one of calmer times; while the attempts failed it was
		// sampled densely.
		first, last, u := p.usedBetween(p.from, p.until.Add(time.Second))
		if !u.busy() {
			return nil
		}
		work, f.chain = u.String(), p.chain(first, at, last)
	}
	f.text = fmt.Sprintf("Container %s is busy (%s) and does not answer %s within its timeout of %s.", p.run.Container, work, p.what(), prose.Span(p.timeout()))
	f.fixes = append([]answer.Fix{p.h.inspect("see what it is busy with", p.h.exec(p.run.Container, "top -b -n 1"))}, p.h.probeFixes(p)...)
	return f
}

// probeAnswersLate: answers do come, after the timeout.
func probeAnswersLate(p *probing) *finding {
	if !p.late() {
		return nil
	}
	late := p.last.Evidence != nil && p.last.Evidence.FirstByte > p.timeout()
	slow, quick := p.slowSuccesses()
	if came, silent := p.again(); !late && (silent != nil && came == nil || !p.slowLately()) {
		return nil // it answers later than any patience, or was quick up to the end
	}
	f := &finding{cause: answer.ProbeTimeoutTooShort, weight: fair, chain: p.chain()}
	f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("raise the probe's timeoutSeconds above %s", prose.Span(p.timeout()))), p.h.inspect("let the history propose one", p.h.why("--suggest"))}
	switch {
	case late && quick > 0, slow > 0 && quick > 2*slow:
		f.cause = answer.AppOverloaded
		f.text = fmt.Sprintf("The application became slow: it answered %s within %s before, and now later than the timeout of %s.", p.what(), prose.Span(p.timeout()/5), prose.Span(p.timeout()))
		if late {
			f.weight = strong
			f.text = fmt.Sprintf("The application became slow: it connects at once (%s) and its first byte comes after %s, later than the timeout of %s.",
				prose.Span(p.last.Evidence.Connect), prose.Span(p.last.Evidence.FirstByte), prose.Span(p.timeout()))
		}
	case late:
		f.weight = strong
		f.text = fmt.Sprintf("The answers to %s come, but later than its timeout: the first byte after %s; the probe allows %s.", p.what(), prose.Span(p.last.Evidence.FirstByte), prose.Span(p.timeout()))
	case slow >= 3:
		f.weight = strong
		f.text = fmt.Sprintf("The answers to %s are correct, but often later than its timeout of %s: %s took more than half of it, the others were too late.",
			p.what(), prose.Span(p.timeout()), prose.Plural(int(slow), "good answer"))
	default:
		return nil
	}
	return f
}

// slowLately says whether the last good answers before the attempts at hand, of whatever
// run, were slow: that the very first one was, as the first of a JVM is, tells nothing.
func (p *probing) slowLately() bool {
	for _, f := range p.ever[max(0, len(p.ever)-lastAnswers):] {
		if fact.Of[fact.Probed](f).Took > p.timeout()/2 {
			return true
		}
	}
	return false
}

// lastAnswers is how many facts about good answers count as the last ones: some are of many.
const lastAnswers = 3

// slowSuccesses counts good answers that took more than half of the timeout, and
// those that took less than a fifth.
func (p *probing) slowSuccesses() (slow, quick int64) {
	for _, f := range p.ever {
		b := fact.Of[fact.Probed](f)
		if len(b.Latency) == 0 {
			switch {
			case b.Took > p.timeout()/2:
				slow++
			case b.Took < p.timeout()/5:
				quick++
			}
			continue
		}
		for i, n := range b.Latency {
			var least, most time.Duration
			if i > 0 {
				least = fact.LatencyBounds[i-1]
			}
			most = 1 << 62
			if i < len(fact.LatencyBounds) {
				most = fact.LatencyBounds[i]
			}
			switch {
			case least >= p.timeout()/2:
				slow += n
			case most <= p.timeout()/5:
				quick += n
			}
		}
	}
	return slow, quick
}

// probeFinishesLate: requests are taken up and finished, only after the probe has gone. A
// handler that hangs never ends, so there the tasks only become more.
func probeFinishesLate(p *probing) *finding {
	at, look, ok := p.look()
	if p.mode != silent || p.last.Evidence.Connect == 0 || !ok || len(p.before) == 0 {
		return nil
	}
	here, _ := p.listeners(look)
	if len(here) == 0 || here[0].Backlog > 0 {
		return nil
	}
	var calm, peak int64
	var ended *fact.Fact
	for _, f := range p.run.Samples {
		n := fact.Of[fact.Sampled](f).PIDs
		switch {
		case n == 0 || f.Seen.After(p.until.Add(p.period())):
		case f.Seen.Before(p.from):
			calm = n
		case n < peak && peak > calm:
			ended = f
		default:
			peak = max(peak, n)
		}
	}
	if calm == 0 || ended == nil {
		return nil
	}
	return &finding{
		cause: answer.AppOverloaded, weight: strong, chain: p.chain(at, ended),
		text: fmt.Sprintf("The application became slow: it connects at once (%s), takes each request up (%d tasks instead of %d) and finishes it, but later than the timeout of %s.",
			prose.Span(p.last.Evidence.Connect), peak, calm, prose.Span(p.timeout())),
		fixes: append(p.h.probeFixes(p), p.h.logsFix(p.run)...),
	}
}

// probeHang: it holds the port, and answers nothing.
func probeHang(p *probing) *finding {
	f := p.hang()
	p.complains(f)
	return f
}

// complains quotes the error of which a container's log tells while it does not answer.
func (p *probing) complains(f *finding) {
	if at, said := p.complaint(); f != nil && f.weight >= fair && at != nil && !at.Seen.Before(p.from) {
		f.because = append(f.because, itsLog(said))
		p.h.meant(f, p.run.Container, said)
	}
}

// untilAccepts is how long one that began to listen may take until it accepts.
const untilAccepts = 10 * time.Second

// hang: it holds the port, uses no CPU and takes no connection. One that accepts and then
// says nothing may only be slow: without a late answer to show for it that stays open.
func (p *probing) hang() *finding {
	if p.mode != silent && p.mode != unreachable && p.mode != commandLate {
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
	here, all := p.listeners(look)
	if p.mode == commandLate { // which asks the container itself, at whatever port
		here = slices.DeleteFunc(all, func(l fact.Listener) bool { return l.Other })
	}
	f := &finding{cause: answer.AppHang, weight: weak, chain: p.chain(at)}
	f.fixes = append([]answer.Fix{p.h.inspect("see where it waits", fmt.Sprintf("cat /proc/%d/wchan /proc/%d/stack   # on the node", look.PID, look.PID))}, p.h.logsFix(p.run)...)
	waiting := 0
	for _, l := range here {
		waiting += l.Backlog
	}
	switch {
	case waiting > 0:
		f.weight = strong
		f.text = fmt.Sprintf("Container %s hangs: it listens, its main process %s, and %s to be accepted.", p.run.Container, idleWords(look), waitWords(waiting))
		if p.port() != 0 {
			f.text = fmt.Sprintf("Container %s hangs: it holds port %d, its main process %s, and %s to be accepted.", p.run.Container, p.port(), idleWords(look), waitWords(waiting))
		}
		if look.Stopped != nil {
			f.weight = fair // which may be the one that should take them
		}
		if p.cameUp && p.until.Sub(p.from) < untilAccepts {
			f.weight, f.text = weak, "connections wait to be accepted since it began to listen, which was only just"
		}
		if _, _, u := p.used(); len(p.before) == 0 && (u.busy() || u.starved()) {
			f.weight, f.text = weak, fmt.Sprintf("connections wait to be accepted, and others of its processes than the main one are at work (%s): it may still be starting", u)
		}
	case look.State == "D":
		f.weight = strong
		f.text = fmt.Sprintf("Container %s hangs: its main process waits for a disk that does not answer.", p.run.Container)
	case len(here) > 0 && p.mode != commandLate:
		f.text = "it holds its port, idles and does not answer in time"
		if u, ok := p.idlesLong(); ok {
			f.weight = fair
			f.text = fmt.Sprintf("Container %s hangs: it takes the connection of %s and has answered nothing for %s, and its processes used %s CPU in %s of that.",
				p.run.Container, p.what(), prose.Span(p.h.now.Sub(p.from)), prose.Span(u.cpu), prose.Span(u.over))
		}
	default:
		return nil
	}
	return f
}

// idlesLong says whether it answered quickly before, has not for so long that a patient
// request would have been answered, and whether all its processes together did nothing
// meanwhile.
func (p *probing) idlesLong() (use, bool) {
	slow, quick := p.slowSuccesses()
	if quick == 0 || slow > quick || len(p.failed) < 2 || p.h.now.Sub(p.from) < 5*time.Second+2*p.timeout() {
		return use{}, false
	}
	_, _, u := p.usedBetween(p.from, p.h.now)
	return u, u.over >= 2*time.Second && u.part(u.cpu) <= idleShare && u.part(u.waited) <= 0.1
}

func waitWords(connections int) string {
	if connections == 1 {
		return "1 connection waits"
	}
	return fmt.Sprintf("%d connections wait", connections)
}

func idleWords(look fact.Looked) string {
	if look.Over > 0 {
		return "used " + prose.Span(look.CPUUsed) + " CPU in " + prose.Span(look.Over)
	}
	return stateWords(look.State)
}
