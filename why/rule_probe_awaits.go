package why

import (
	"fmt"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// probeAwaits: it holds its port and answers nobody, and it waits for another meanwhile.
func probeAwaits(p *probing) *finding {
	at, look, ok := p.look()
	if !ok || p.mode != silent && p.mode != unreachable || share(look) > waitsShare || p.atWork(look) || stopped(look.State) {
		return nil
	}
	if came, _ := p.again(); came != nil {
		return nil
	}
	here := p.here(look)
	if _, _, u := p.used(); u.busy() || len(here) == 0 || p.mode == unreachable && here[0].Backlog == 0 {
		return nil
	}
	n, how, seen := p.awaits()
	if how == "" {
		return nil
	}
	f := p.finds(answer.DependencyDown, strong, at, seen).says("Container %s answers nobody, and waits for %s.", p.run.Container, how).fix(n.fixes(p.h)...).fix(p.h.logsFix(p.run))
	f.then = []string{fmt.Sprintf("Meanwhile its main process %s, and %s failed: %s.", idleWords(look), p.what(), p.how())}
	if p.halfSeen() && n.since.Before(p.from.Add(-p.period()-p.timeout())) && !n.since.IsZero() {
		return f.possibly() // it may have waited there while it was well
	}
	return f
}

// awaitsLately is for how long what a look saw of waiting still tells: one that tries again
// and again has no connection on its way in between.
const awaitsLately = 30 * time.Second

// waitsShare is the CPU use up to which one waits that tries again and again.
const waitsShare = 0.2

// awaits is whom the container waits for while its probe fails: by its newest looks, or by what
// it has said since. how is empty where nothing tells.
func (p *probing) awaits() (n needed, how string, at *fact.Fact) {
	said, complaint := p.blamed()
	for _, f := range slices.Backward(p.run.Looks) {
		if f.Seen.Before(p.from) || p.until.Sub(f.Seen) > awaitsLately {
			break
		}
		most := forever
		if n := len(p.before); n > 0 {
			most = f.Seen.Sub(p.before[n-1].End()) + p.timeout()
		}
		if n, how := p.h.awaited(f, most); how != "" {
			return n, how, f
		}
	}
	if complaint.place == "" {
		return needed{}, "", nil
	}
	return complaint, fmt.Sprintf("%s (%s): %s", awaited(complaint.place), complaint.what, quote(logline.Message(complaint.said), quoted)), said
}

// awaited is whom a container waits for by what a look found of its connections: a question
// that is not answered, or a connection that is not. A question that was asked longer ago
// than most is of one that waits for work, as it did while it was well.
func (h *inquiry) awaited(at *fact.Fact, most time.Duration) (n needed, how string) {
	look := fact.Of[fact.Looked](at)
	for _, d := range look.Open {
		if d.Other || d.Unanswered == 0 || d.Unanswered > most {
			continue
		}
		if host := hostIn(d.Remote); loopback(host) || h.ownAddress(host) {
			continue // itself, or beside it
		}
		n = needed{place: d.Remote, since: at.Seen.Add(-d.Unanswered)}
		return n, fmt.Sprintf("an answer of %s: nothing has come back from there since it sent something %s before%s", awaited(n.place), prose.Span(d.Unanswered), inBrackets("", process(d.Command, d.PID)))
	}
	for _, d := range look.Dialing {
		if !d.Other {
			return needed{place: d.Remote}, fmt.Sprintf("%s, which has not answered yet%s", awaited(d.Remote), inBrackets("asked by ", process(d.Command, d.PID)))
		}
	}
	return needed{}, ""
}

// blamed is the last of the log's lines that says that another is not reached, or fails it, and
// where that is, said while the probe fails: since it was last well or, of one that never was,
// lately. Where nobody knows when, it is one that was said last, or again and again.
func (p *probing) blamed() (*fact.Fact, needed) {
	at, lines := p.log()
	if at == nil || at.Seen.Before(p.from) {
		return nil, needed{}
	}
	dated := len(fact.Of[fact.Looked](at).SaidAt) > 0
	if dated && len(p.before) == 0 {
		lines = history.SaidSince(at, p.from.Add(-p.timeout()))
	}
	for i, line := range slices.Backward(lines) {
		if n, ok := complains(line); ok {
			if dated || i == len(lines)-1 || again(lines, n.place) {
				return at, n
			}
			break
		}
	}
	return nil, needed{}
}

// again says whether a log complains of a place more than once.
func again(lines []string, place string) bool {
	times := 0
	for _, line := range lines {
		if n, ok := complains(line); ok && n.place == place {
			times++
		}
	}
	return times > 1
}

// complains reads a line that says that another is not reached, or fails it, and where that is.
func complains(line string) (needed, bool) {
	n, ok := dependency(line)
	if !ok {
		n.what, n.place, ok = words.FailedBy(line)
		n.said = line
	}
	return n, ok && n.place != "" && !loopback(hostIn(n.place))
}
