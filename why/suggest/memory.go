package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/prose"
)

const (
	// enoughTime is how long memory should have been watched.
	enoughTime = 24 * time.Hour
	// enoughLooks is how often it must have been looked at for any proposal.
	enoughLooks = 10
	// grows is the share by which memory must have grown between the first and the
	// last quarter of a run to be called growing, over at least growsFor.
	grows    = 1.3
	growsFor = 30 * time.Minute
	// least is the smallest limit that is proposed: with less, runc's own start may be killed, and a
	// pod with 1Mi does not even get a sandbox.
	least = 16 << 20
)

// memory proposes a limit a quarter above the most that was held, page cache apart.
func (s subject) memory() []Suggestion {
	g := Suggestion{Container: s.spec.Name, Field: "resources.limits.memory", Now: "none"}
	if limit := s.spec.Resources.Limits.Memory(); !limit.IsZero() {
		g.Now = limit.String()
	}
	u := s.use()
	g.Observations = u.samples
	if u.samples == 0 && u.kills == 0 {
		if g.Now == "none" {
			return nil
		}
		g.TooFew, g.Why = true, "no look at its memory is kept"
		return []Suggestion{g}
	}
	seen := fmt.Sprintf("it held at most %s without page cache (looked at %s in %s)", prose.Size(u.most), prose.Times(int(u.samples)), prose.Span(u.last.Sub(u.first)))
	if u.samples == 0 {
		seen = "no look at its memory is kept"
	}
	switch {
	case u.growing:
		g.Why = seen + fmt.Sprintf(", and grew steadily, from %s to %s in one run: any limit is reached in the end; look for the leak first", prose.Size(u.from), prose.Size(u.to))
		return []Suggestion{g}
	case u.kills > 0:
		g.Value = prose.Size(round(max(u.most, u.limit) * 2))
		g.Why = seen + fmt.Sprintf("; %s it was OOM-killed at %s, so what it really needs is not known, only that it is more: twice the limit, to be looked at again", prose.Times(u.kills), prose.Size(u.limit))
		g.TooFew = true
	default:
		g.Value = prose.Size(max(least, round(u.most+u.most/4)))
		g.Why = seen + "; a quarter more"
		if u.most+u.most/4 < least {
			g.Why += ", and no less than a container needs to start"
		}
	}
	if watched := u.last.Sub(u.first); watched < enoughTime && u.kills == 0 {
		g.TooFew = true
		g.Why += fmt.Sprintf("; the history is short: %s, where a day would do", prose.Span(watched))
		switch limit := s.spec.Resources.Limits.Memory(); {
		case limit.IsZero():
			g.Value, g.Why = "", g.Why+", so no limit is proposed yet"
		case u.most+u.most/4 < limit.Value():
			g.Value, g.Why = "", g.Why+", so nothing lower is proposed"
		case u.samples < enoughLooks:
			g.Value, g.Why = "", g.Why+", so nothing is proposed yet"
		}
	}
	g.Keep = g.Value == g.Now
	return []Suggestion{g}
}

// use is what was seen of a container's memory.
type use struct {
	samples     int64
	most, limit int64 // bytes; limit is the one that was hit
	kills       int
	first, last time.Time
	growing     bool
	from, to    int64 // of the run that grows
}

func (s subject) use() use {
	var u use
	for _, r := range s.runs {
		var held []int64
		var first, last time.Time
		for _, f := range r.Samples {
			b, ok := f.Body.(fact.Sampled)
			if !ok || b.MemoryCurrent == 0 {
				continue
			}
			n := b.MemoryCurrent - max(b.MemoryFile-b.MemoryShmem, 0)
			held = append(held, n)
			u.most = max(u.most, n)
			u.samples++
			if first.IsZero() {
				first = f.When()
			}
			last = f.When()
		}
		u.first, u.last = cmp.Or(u.first, first), cmp.Or(last, u.last)
		if from, to, ok := growth(held); ok && last.Sub(first) >= growsFor {
			u.growing, u.from, u.to = true, from, to
		}
		for _, f := range r.OOMKills {
			if b, ok := f.Body.(fact.OOMKilled); ok && s.h.OwnLimit(r.Container, b) {
				u.kills++
				u.limit = max(u.limit, b.Limit)
			}
		}
		if r.Exit != nil && len(r.OOMKills) == 0 {
			if b, ok := r.Exit.Body.(fact.Exited); ok && b.OOMKills > 0 {
				u.kills++
				u.limit = max(u.limit, s.spec.Resources.Limits.Memory().Value())
			}
		}
	}
	return u
}

// growth compares the first and the last quarter of a run: every value of the last
// one is above every value of the first by that share.
func growth(held []int64) (from, to int64, ok bool) {
	n := len(held) / 4
	if n < 3 {
		return 0, 0, false
	}
	from, to = max(0, slices.Max(held[:n])), slices.Min(held[len(held)-n:])
	return from, to, float64(to) > grows*float64(from)
}

// round goes up to the next MiB, from 1 GiB on to the next 64 MiB.
func round(bytes int64) int64 {
	unit := int64(1 << 20)
	if bytes >= 1<<30 {
		unit = 64 << 20
	}
	return (bytes + unit - 1) / unit * unit
}
