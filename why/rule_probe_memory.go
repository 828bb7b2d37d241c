package why

import (
	"fmt"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

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

// moreMemory returns the steps that take a container out of its memory.high.
func (p *probing) moreMemory() []answer.Fix {
	return []answer.Fix{
		p.h.limitsFix("raise the memory request and limit of container " + p.run.Container + ": kubelet derives memory.high from both"),
		p.h.specFix("or make it use less memory (a smaller heap, cache or number of workers)"),
		p.h.inside("see how often it exceeds memory.high (the line “high”)", p.run.Container, "cat /sys/fs/cgroup/memory.events"),
	}
}
