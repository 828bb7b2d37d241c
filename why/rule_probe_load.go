package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// busyShare is the CPU use from which on a process counts as at work, idleShare
// that up to which it counts as idle.
const (
	busyShare = 0.5
	idleShare = 0.02
)

func share(look fact.Looked) float64 {
	return prose.Whether(look.Over <= 0, -1, float64(look.CPUUsed)/float64(look.Over))
}

func (p *probing) late() bool { return p.mode == silent || p.mode == commandLate }

// probeOverloaded: it is busy and answers too late.
func probeOverloaded(p *probing) *finding {
	if !p.late() || p.last.Evidence == nil || p.last.Evidence.Handler == fact.Exec {
		return nil
	}
	at, look, ok := p.look()
	if !ok || share(look) < 0 || len(p.before) == 0 && p.kind != fact.Readiness && !p.hasServed() {
		return nil // before its first success it may be starting
	}
	f := p.finds(answer.AppOverloaded, strong, at)
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
	return f.fix(p.h.inside("see what it is busy with", p.run.Container, "top -b -n 1")).fix(p.h.probeFixes(p)...)
}

// hasServed says whether any probe of the run succeeded before the attempts at hand: it is up then.
func (p *probing) hasServed() bool {
	return slices.ContainsFunc(p.run.Probes, func(f *fact.Fact) bool { return f.When().Before(p.from) && !bad(fact.Of[fact.Probed](f)) })
}

// probeAnswersLate: answers do come, after the timeout.
func probeAnswersLate(p *probing) *finding {
	slow, quick := p.slowSuccesses()
	if came, silent := p.again(); silent != nil && came == nil || !p.slowLately() {
		return nil // it answers later than any patience, or was quick up to the end
	}
	f := p.finds(answer.ProbeTimeoutTooShort, fair)
	f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("raise %s of container %s above %d", p.field("timeoutSeconds"), p.run.Container, prose.Seconds(p.timeout()))), p.h.inspect("let the history propose one", p.h.why("--suggest"))}
	switch {
	case slow > 0 && quick > 2*slow:
		f.cause = answer.AppOverloaded
		f.text = fmt.Sprintf("The application became slow: it answered %s within %s before, and now later than the timeout of %s.", p.what(), prose.Span(p.timeout()/5), prose.Span(p.timeout()))
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
	return slices.ContainsFunc(p.ever[max(0, len(p.ever)-lastAnswers):], func(f *fact.Fact) bool { return fact.Of[fact.Probed](f).Took > p.timeout()/2 })
}

// lastAnswers is how many facts about good answers count as the last ones: some are of many.
const lastAnswers = 3

// slowSuccesses counts good answers that took more than half of the timeout, and
// those that took less than a fifth.
func (p *probing) slowSuccesses() (slow, quick int64) {
	for _, b := range each[fact.Probed](p.ever) {
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
	here := p.here(look)
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
	return p.finds(answer.AppOverloaded, strong, at, ended).
		says("The application became slow: it connects at once (%s), takes each request up (%d tasks instead of %d) and finishes it, but later than the timeout of %s.",
			prose.Span(p.last.Evidence.Connect), peak, calm, prose.Span(p.timeout())).
		fix(p.h.probeFixes(p)...).
		fix(p.h.logsFix(p.run))
}

// unanswered says whether nobody answered in time, of the server itself or of one behind it.
func (p *probing) unanswered() bool {
	return p.mode == silent || p.mode == unreachable || p.mode == answered && p.last.Evidence.Status >= 502 && p.last.Evidence.Status <= 504
}

// probeLimitSaid: a server takes no more, and says so.
func probeLimitSaid(p *probing) *finding {
	if !p.unanswered() && p.mode != broken {
		return nil
	}
	at, line := p.inLogs(knowledge.ConnectionLimit.In)
	if at == nil {
		return nil
	}
	f := p.finds(answer.AppOverloaded, certain, at).fix(p.limitFixes(at.Container)...).
		says("Container %s takes no more work: it says that a limit of its own is reached (%s), so %s fails.", at.Container, quote(logline.Message(line), kept), p.what())
	f.container = at.Container
	return f
}

func (p *probing) limitFixes(container string) []answer.Fix {
	return []answer.Fix{
		p.h.inside("see who holds its connections or workers", container, "cat /proc/net/tcp /proc/net/tcp6"),
		p.h.specFix("raise that limit, have slow clients time out, or give the probe a port or worker of its own"),
	}
}

// probeTakesNoMore: a server takes no more, and does not say so.
func probeTakesNoMore(p *probing) *finding {
	at, look, ok := p.look()
	if !ok || p.mode != silent && p.mode != unreachable {
		return nil
	}
	for _, l := range p.here(look) {
		if !full(l) {
			continue
		}
		f := p.finds(answer.AppOverloaded, strong, at).fix(p.limitFixes(p.run.Container)...).
			says("Container %s takes no more connections: %s, so %s fails.", p.run.Container, fullWords(l), p.what())
		if len(look.From) > 0 {
			f.because = []string{fmt.Sprintf("Its connections are from %s.", prose.Brief(strings.Join(look.From, ", "), kept))}
		}
		return f
	}
	return nil
}

// full says whether a server has stopped to take connections at a listener, and has some.
func full(l fact.Listener) bool { return l.Paused && l.Backlog > 0 && l.Taken > 0 }

func fullWords(l fact.Listener) string {
	return fmt.Sprintf("it goes on with the %d that it has at %s, and does not ask for the %d that wait: a limit of its own is reached", l.Taken, l.Address, l.Backlog)
}

// probeWorkerLate: a server ends its workers, because none comes to an end with a request.
func probeWorkerLate(p *probing) *finding {
	at, line := p.inLogs(knowledge.WorkerLate.In)
	if at == nil || !p.unanswered() && p.mode != broken {
		return nil
	}
	f := &finding{cause: answer.AppHang, weight: strong, container: at.Container, chain: p.chain(at)}
	does := "hangs"
	if _, _, u := p.used(); u.busy() {
		f.cause, does = answer.AppOverloaded, "is too slow"
	}
	f.text = fmt.Sprintf("Container %s %s: its server ends a worker that has worked on one request for longer than it allows (%s), so %s fails.",
		at.Container, does, quote(logline.Message(line), kept), p.what())
	return f.fix(p.h.logsFix(p.run), p.h.specFix("mend what the request waits for; a longer timeout of the server only makes it wait longer"))
}
