package journal

import (
	"context"
	"iter"

	"whylet.dev/whylet/fact"
)

// Tail gives the facts with ids from `from` on that are there already, then
// those that are written, as they are written, until ctx ends; it ends without
// an error then. A pod's facts come in order of their ids. What is
// held back comes when it is written.
//
// A slow caller holds up nobody, and misses nothing that memory had room for.
func (j *Journal) Tail(ctx context.Context, from fact.ID) iter.Seq2[fact.Fact, error] {
	return func(yield func(fact.Fact, error) bool) {
		wake := j.follow()
		defer j.unfollow(wake)

		v, at := j.viewForTail()
		ended := false
		v.each(Query{FromID: from}, func(f fact.Fact, err error) bool {
			ended = ctx.Err() != nil || !yield(f, err)
			return !ended
		})
		for !ended {
			if ended = !at.drain(ctx, from, yield); ended {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-wake:
			}
		}
	}
}

// position is a place in the order of writing. It holds its log, so the log can
// still be read when it has long been sealed.
type position struct {
	log *log
	n   int // entries of it that were seen, dropped ones too
}

// viewForTail is a view without what is held, and the position right behind it.
func (j *Journal) viewForTail() (view, *position) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	v := view{segs: j.segs, report: j.report}
	for _, l := range j.logs {
		v.logs = append(v.logs, l.view())
	}
	n := len(j.logs) - 1
	return v, &position{log: j.logs[n], n: v.logs[n].dropped + len(v.logs[n].entries)}
}

// drain yields what was written behind the position; false says to stop.
func (p *position) drain(ctx context.Context, from fact.ID, yield func(fact.Fact, error) bool) bool {
	for {
		// In this order: a log that has a next one is complete.
		p.log.mu.RLock()
		next := p.log.next
		p.log.mu.RUnlock()
		v := p.log.view()
		p.n = max(p.n, v.dropped)
		for _, e := range v.entries[min(p.n-v.dropped, len(v.entries)):] {
			if ctx.Err() != nil {
				return false
			}
			p.n++
			if e.id >= from && !v.yield(e, yield) {
				return false
			}
		}
		if next == nil {
			return true
		}
		*p = position{log: next}
	}
}

// yield reads one entry and hands it on.
func (l logView) yield(e entry, yield func(fact.Fact, error) bool) bool {
	rs, err := l.read([]entry{e})
	if err != nil {
		return yield(fact.Fact{}, err)
	}
	return yield(rs[0].fact(""))
}

// follow gives a channel that is sent to after every write.
func (j *Journal) follow() chan struct{} {
	c := make(chan struct{}, 1)
	j.followersMu.Lock()
	defer j.followersMu.Unlock()
	j.followers[c] = struct{}{}
	return c
}

func (j *Journal) unfollow(c chan struct{}) {
	j.followersMu.Lock()
	defer j.followersMu.Unlock()
	delete(j.followers, c)
}

func (j *Journal) wakeFollowers() {
	j.followersMu.Lock()
	defer j.followersMu.Unlock()
	for c := range j.followers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
