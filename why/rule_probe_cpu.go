package why

import (
	"fmt"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// throttledShare is the share of CPU periods from which on a quota counts as what
// stalled the container.
const throttledShare = 0.5

// around are the first and the last sample taken around the failed attempts, nil
// without two of them.
func (p *probing) around() (first, last *fact.Fact) {
	margin := 2*p.period() + 5*time.Second
	return samples(p.run, p.from.Add(-margin), p.until.Add(margin))
}

// samples are the first and the last sample of a time of a run, nil without two of them.
func samples(run *history.Run, from, until time.Time) (first, last *fact.Fact) {
	for _, f := range run.Samples {
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
	f := concluded(answer.CPUThrottled, refuted, b)
	if periods <= 0 {
		if after.Periods == 0 {
			f.text = "it has no CPU limit that could have stalled it"
			return f
		}
		return nil
	}
	part := float64(stalled) / float64(periods)
	if part < throttledShare {
		return f.says("only %d of %d CPU periods were throttled in that time", stalled, periods)
	}
	f.weight = prose.Whether(part >= 0.8, certain, strong)
	f.chain = p.chain(a, b)
	f.text = fmt.Sprintf("Container %s was stalled by its own CPU limit%s: %d of %d CPU periods were throttled while %s timed out.",
		p.run.Container, p.cpuLimit(), stalled, periods, p.what())
	return f.fix(p.h.limitsFix("raise or remove the CPU limit of container "+p.run.Container), p.h.specFix("have it do less at once (fewer threads or workers), or raise the probe's timeoutSeconds"))
}

// comingUp says whether the probe was refused and never succeeded in this run: the
// container may be about to listen.
func (p *probing) comingUp() bool {
	return (p.mode == refused || p.clientRefused()) && len(p.before) == 0
}

// clientRefused says whether the probe's command is a client that found nobody to take its connection in the
// pod itself: at a socket, or on loopback.
func (p *probing) clientRefused() bool {
	if p.mode != exitCode || p.last.Evidence == nil {
		return false
	}
	said := p.last.Evidence.Output
	_, place, unreached := words.Unreached(said)
	host := hostIn(place)
	return knowledge.OwnServerAway.In(said) || unreached && loopback(host)
}

// atLimit says whether it used nearly as much CPU as its own limit allows.
func (p *probing) atLimit(used, over time.Duration) bool {
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
	return p.finds(answer.CPUThrottled, certain, a, b).
		says("Container %s could not come up in time: its own CPU limit%s stalled it for %s of %s, and nobody listened yet when %s was asked.",
			p.run.Container, p.cpuLimit(), prose.Span(min(stalled, over)), prose.Span(over), p.what()).
		fix(p.h.limitsFix("raise or remove the CPU limit of container "+p.run.Container), p.h.specFix("give it more time to start, with a startupProbe"))
}

func (p *probing) cpuLimit() string {
	return prose.Whether(p.of.Resources.Limits.Cpu().IsZero(), "", " of "+p.of.Resources.Limits.Cpu().String()+" CPU")
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
	return newestUse(p.run, time.Time{}, p.from, time.Second)
}

// newestUse is the use by the newest samples of a time of a run that are some time apart at least; ok is false without two.
func newestUse(run *history.Run, from, until time.Time, apart time.Duration) (u use, ok bool) {
	var last *fact.Fact
	for _, f := range slices.Backward(run.Samples) {
		switch {
		case f.Seen.Before(from), f.Seen.After(until):
		case last == nil:
			last = f
		case last.Seen.Sub(f.Seen) >= apart:
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
	return p.finds(answer.NodeCPUSaturated, strong, samples...).
		says("The node had no CPU left: processes of container %s waited for a CPU for %s of %s, without any limit of their own, while %s failed.",
			p.run.Container, prose.Span(min(waited, over)), prose.Span(over), p.what()).
		fix(p.h.specFix("give container "+p.run.Container+" a CPU request, so that it gets its share"), p.h.inspect("see which pods use the CPU", "kubectl top pods -A --sort-by=cpu"))
}

// probeMemoryHigh finds that the kernel throttled the container at its memory.high
// (Documentation/admin-guide/cgroup-v2.rst): tasks that exceed it are put to sleep for up to
// two seconds each time they return from the kernel, and PSI counts that as a stall.
func probeMemoryHigh(p *probing) *finding {
	coming := p.comingUp()
	a, b := p.around()
	if !p.late() && !coming || a == nil {
		return nil
	}
	before, after := fact.Of[fact.Sampled](a), fact.Of[fact.Sampled](b)
	exceeded := after.HighEvents - before.HighEvents
	if exceeded <= 0 {
		return nil
	}
	over, stalled := b.Seen.Sub(a.Seen), after.MemorySome-before.MemorySome
	f := p.finds(answer.MemoryThrottled, refuted, a, b).fix(p.moreMemory()...)
	hit := fmt.Sprintf("it exceeded its memory.high%s %s", ofSize(after.MemoryHigh), prose.Times(int(exceeded)))
	switch {
	case after.CPUSome+after.MemorySome+after.IOSome == 0: // no PSI
		if after.WorkingSet < after.MemoryHigh/10*9 {
			return nil
		}
		f.weight = fair
		if _, look, ok := p.look(); ok && look.State == "D" { // asleep in the kernel
			f.weight = strong
		}
	case stalled >= over*4/5:
		f.weight = certain
	case coming:
		return nil
	case stalled >= over/2, stalled >= p.asked():
		f.weight = strong
	default:
		f.chain, f.text = links(b), fmt.Sprintf("%s, and stalled for memory for no more than %s of %s", hit, prose.Span(stalled), prose.Span(over))
		return f
	}
	f.text = fmt.Sprintf("The kernel throttled container %s because of the memory that it uses: %s", p.run.Container, hit)
	if stalled > 0 {
		f.text += fmt.Sprintf(", and its processes stalled for memory for %s of %s", prose.Span(min(stalled, over)), prose.Span(over))
	}
	f.text += fmt.Sprintf(", while %s failed.", p.what())
	return f
}

// asked returns how long the failed attempts took together.
func (p *probing) asked() (sum time.Duration) {
	for _, f := range p.failed {
		sum += fact.Of[fact.Probed](f).Took
	}
	return sum
}

func (p *probing) moreMemory() []answer.Fix {
	return []answer.Fix{
		p.h.limitsFix("raise the memory request and limit of container " + p.run.Container + ": kubelet derives memory.high from both"),
		p.h.specFix("or make it use less memory (a smaller heap, cache or number of workers)"),
		p.h.inside("see how often it exceeds memory.high (the line “high”)", p.run.Container, "cat /sys/fs/cgroup/memory.events"),
	}
}
