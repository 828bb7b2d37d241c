package why

import (
	"fmt"
	"slices"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

func filesSaid(e ending) *finding {
	said := e.said(knowledge.OpenFiles.In)
	if e.exit.ExitCode == 0 || said == "" {
		return nil
	}
	f := e.finds(answer.AppExitError, strong)
	why := "it may have no more files and connections open (RLIMIT_NOFILE)"
	f.fixes = []answer.Fix{e.h.logsFix(e.run), e.h.filesFix(nil)}
	if knowledge.Inotify.In(said) {
		why = "the node lets its user watch files no more often (fs.inotify.max_user_instances, counted over all containers of that user)"
		f.fixes = []answer.Fix{kubectl.OnNode("see the node's limit, and raise it there", "sysctl fs.inotify.max_user_instances")}
	}
	f.text = fmt.Sprintf("Container %s ended%s with exit code %d because %s: %s.", e.run.Container, e.after(), e.exit.ExitCode, why, gist(said))
	return f
}

// probeFilesLimit: it can accept no connection, or open nothing that an answer needs.
func probeFilesLimit(p *probing) *finding {
	f := &finding{weight: fair}
	at, look := p.lookFull()
	switch p.mode {
	case silent, unreachable:
		f.cause = answer.AppHang
		if share(look) >= busyShare {
			f.cause = answer.AppOverloaded // it tries again and again, or serves what it has
		}
	case answered, notServing, exitCode, broken:
		f.cause = answer.AppUnhealthy
	default:
		return nil
	}
	full := look.Files
	if full != nil && full.Open < full.Limit {
		full = nil
	}
	said := p.said(knowledge.OpenFiles.In)
	if full == nil && said == "" {
		return nil
	}
	said = words.Told(said)
	f.text = fmt.Sprintf("Container %s may have no more files and connections open (RLIMIT_NOFILE)%s, so %s fails%s.", p.run.Container, p.filesWords(full), p.what(), colon(prose.Brief(said, kept)))
	f.fixes = []answer.Fix{p.h.logsFix(p.run), p.h.filesFix(full)}
	if said != "" {
		f.weight = strong
	}
	if full == nil {
		f.chain = p.chain()
		return f
	}
	f.chain = p.chain(at)
	f.fixes[0] = kubectl.OnNode("see what it has open", shell.Linef("ls -l /proc/%d/fd", full.PID))
	waits := slices.ContainsFunc(p.here(look), func(l fact.Listener) bool { return l.Backlog > 0 })
	if said != "" || waits && f.cause != answer.AppUnhealthy {
		f.weight = certain
	}
	return f
}

// lookFull is the newest look, or of one that is made as the container ends, and closes what it has open, the last before
// the order to end it that found it at its limit.
func (p *probing) lookFull() (at *fact.Fact, look fact.Looked) {
	at, look, _ = p.look()
	if at == nil || p.run.Kill == nil || !at.Seen.After(p.run.Kill.Seen) {
		return at, look
	}
	for _, f := range slices.Backward(p.run.Looks) {
		if b := fact.Of[fact.Looked](f); f.Seen.Before(p.run.Kill.Seen) && !f.Seen.Before(p.from) && b.Files != nil && b.Files.Open >= b.Files.Limit {
			return f, b
		}
	}
	return at, look
}

// said gives what the application complained of: in its answer, or at the end of its
// log once the node had killed it for the probe; "" when nothing fits.
func (p *probing) said(fits func(string) bool) string {
	texts := []string{p.last.Message}
	if p.last.Evidence != nil {
		texts = append(texts, p.last.Evidence.Output)
	}
	if _, lines := p.log(); p.run.Exit == nil && len(lines) > 0 {
		texts = append(texts, lines[len(lines)-1])
	} else if p.run.Exit != nil {
		texts = append(append(texts, fact.Of[fact.Exited](p.run.Exit).Message), p.run.LastSaid(p.since())...)
	}
	for _, text := range slices.Backward(texts) {
		if fits(text) {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// filesWords says who is at the limit, and what it had open when all was well.
func (p *probing) filesWords(full *fact.Files) string {
	if full == nil {
		return ""
	}
	text := fmt.Sprintf(": %s has %d open of %d", process(full.Command, full.PID), full.Open, full.Limit)
	for _, f := range p.run.Looks {
		if b := fact.Of[fact.Looked](f); b.Files != nil && b.Files.PID == full.PID && f.Seen.Before(p.from) {
			return text + fmt.Sprintf(", and had %d %s before", b.Files.Open, prose.Span(p.from.Sub(f.Seen)))
		}
	}
	return text
}

func (h *inquiry) filesFix(full *fact.Files) answer.Fix {
	text := "have it close what it opens, and bound the connections that it holds at once; a higher limit (ulimit -n) only delays the end of a leak"
	if full != nil && full.Most > full.Limit {
		text += fmt.Sprintf(", and can be raised to %d", full.Most)
	}
	return h.specFix(text)
}
