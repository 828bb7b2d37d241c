package why

import (
	"fmt"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

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
	return &finding{
		cause: answer.AppOverloaded, weight: certain, certainty: answer.Inferred, container: at.Container, chain: p.chain(at),
		text:  fmt.Sprintf("Container %s takes no more work: it says that a limit of its own is reached (%s), so %s fails.", at.Container, quote(logline.Message(line), kept), p.what()),
		fixes: p.limitFixes(at.Container),
	}
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
		f := p.finds(answer.AppOverloaded, strong, at).fix(p.limitFixes(p.run.Container)...).says("Container %s takes no more connections: %s, so %s fails.", p.run.Container, fullWords(l), p.what())
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
