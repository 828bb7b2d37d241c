package why

import (
	"slices"

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
	return p.told() && !(ok && b.Successes == 0)
}

// unlessHalfSeen keeps rules from concluding from good attempts that were not seen.
func unlessHalfSeen(p *probing, r rule[*probing], f *finding) *finding {
	if r.seesAll && p.halfSeen() {
		return f.possibly()
	}
	return f
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
