package why

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// what names the probe for people.
func (p *probing) what() string {
	ev := p.last.Evidence
	if p.mesh.Rewritten {
		return fmt.Sprintf("the probe of container %s (%s)", p.run.Container, prose.Brief(p.mesh.String(), 120))
	}
	if ev == nil {
		return fmt.Sprintf("the %s probe of container %s", kindWord(p.kind), p.run.Container)
	}
	target := prose.Brief(cmp.Or(ev.Target, p.targetOfSpec(), string(ev.Handler)), 80)
	if ev.Redirected != "" {
		target += ", redirected to " + prose.Brief(ev.Redirected, 60)
	}
	if ev.Handler == fact.Exec {
		target = "`" + target + "`"
	}
	return fmt.Sprintf("the %s probe of container %s (%s)", kindWord(p.kind), p.run.Container, target)
}

// targetOfSpec is where the probe goes by its spec, for attempts whose words do not say it; empty where only its handler
// is known.
func (p *probing) targetOfSpec() string {
	port := p.portOfSpec()
	if port == 0 {
		return ""
	}
	path := ""
	if p.spec.HTTPGet != nil {
		path = cmp.Or(p.spec.HTTPGet.Path, "/")
	}
	return fmt.Sprintf("%s :%d%s", askedBy(p.spec).as, port, path)
}

func kindWord(k fact.ProbeKind) string { return strings.ToLower(string(k)) }

// chain is the last success before, and the attempts that failed: the first and
// the last of them.
func (p *probing) chain(more ...*fact.Fact) []answer.Link {
	var all []answer.Link
	if p.through != nil && !slices.Contains(more, p.through) {
		more = append(slices.Clip(more), p.through) // what it put out, as far as the answer quotes it
	}
	if n := len(p.before); n > 0 {
		all = links(p.before[n-1])
	}
	if n := len(p.failed); n > 0 {
		first := link(p.failed[0])
		if n > 1 {
			all = append(all, first)
			last := link(p.failed[n-1])
			switch {
			case n < 3:
			case p.h.FromAPI && p.run.Kill == nil && p.h.ready(): // its events are counted, whatever came between
				last.Text += fmt.Sprintf(" (%d times)", n)
			default:
				last.Text += fmt.Sprintf(" (attempt %d in a row)", n)
			}
			first = last
		}
		if by := p.relayed(); by != "" {
			first.Evidence["signedBy"], first.SignedBy = by, by
		}
		all = append(all, first)
	}
	return append(all, links(more...)...)
}

func (p *probing) explain() answer.Verdict {
	if p.heard == nil {
		p.heard = probeRules.hear(p)
	}
	best, rest := p.heard.judge()
	report, reported := p.sidecarReport()
	if best == nil && reported {
		best = &finding{cause: answer.MeshSidecarAnswered, rule: "mesh-sidecar", chain: p.chain(), text: prose.Upper(p.what()) + " failed: " + report.Text + ".", fixes: append(p.h.probeFixes(p), p.h.logsFix(p.run))}
	}
	if best != nil {
		p.voiced(best)
		v := best.verdict(p.run.Container, rest)
		v.Probe = p.kind
		if reported && best.cause != answer.MeshSidecarAnswered {
			report.Text = answer.Unmarked(report.Text)
			v.Contributing = append(v.Contributing, report)
		}
		return v
	}
	return p.open(rest)
}

// unseen are the causes that a look into the container would tell apart, where nobody looked.
func (p *probing) unseen() []finding {
	if _, _, looked := p.look(); looked {
		return nil
	}
	var all []finding
	for _, cause := range map[mode][]answer.Cause{silent: {answer.AppHang, answer.AppOverloaded}, refused: {answer.AppListensElse}}[p.mode] {
		all = append(all, finding{cause: cause, weight: weak})
	}
	return all
}

// howKnown is how, also where that is not known.
func (p *probing) howKnown() string { return cmp.Or(p.how(), "how is not known") }

// how words the way in which the attempts failed.
func (p *probing) how() string {
	ev := p.last.Evidence
	switch p.mode {
	case refused:
		return fmt.Sprintf("connection refused at port %d", p.port())
	case noSidecar:
		return fmt.Sprintf("the sidecar %s does not answer", mesh.SidecarOf(p.mesh.Mesh))
	case silent:
		if ev.Connect == 0 {
			return fmt.Sprintf("no answer within %s", prose.Span(p.timeout()))
		}
		return fmt.Sprintf("it connects after %s and gets no answer within %s", prose.Span(ev.Connect), prose.Span(p.timeout()))
	case unreachable:
		return "no connection comes about" + colon(ev.Errno)
	case redirects:
		return "each answer is a redirect to the next place, without an end"
	case broken:
		if words.CutShort(p.last.Message) {
			return "the connection breaks off in the middle of the answer"
		}
		return "the connection breaks off before an answer"
	case answered:
		return fmt.Sprintf("the answer is %d%s", ev.Status, answeredBy(ev))
	case exitCode:
		return "its command " + commandSaid(ev)
	case commandLate:
		return fmt.Sprintf("its command does not end within %s", prose.Span(p.timeout()))
	}
	return prose.Brief(p.last.Message, kept)
}

// answeredBy says whose answer it is, where a sidecar of ours marked it.
func answeredBy(ev *fact.Evidence) string {
	if by := ev.Header[mesh.AnsweredBy]; by == mesh.Sidecar || by == mesh.Application {
		return ", of the " + by
	}
	return ""
}

// missing says what would settle it.
func (p *probing) missing() string {
	if _, _, ok := p.look(); !ok && !p.h.FromAPI && (p.mode == refused || p.mode == silent || p.mode == unreachable) {
		return "Nobody looked into the container while it failed (its sockets, its main process, its CPU): ask again while it fails."
	}
	if p.mode == silent {
		return "Whether the answer would have come later is not known: a request with a longer timeout tells."
	}
	return ""
}

// saidAtOnce is how much of an answer is told of an attempt.
const saidAtOnce = 100

func describeProbe(b fact.Probed) (string, map[string]any) {
	kind := kindWord(b.Probe)
	v := values("probe", b.Probe, "verdict", b.Verdict, "took", b.Took.String(), "count", b.Count, "message", b.Message)
	if ev := b.Evidence; ev != nil {
		maps.Copy(v, values("handler", ev.Handler, "target", ev.Target, "remote", ev.Remote, "connect", ev.Connect.String(),
			"firstByte", ev.FirstByte.String(), "status", ev.Status, "output", prose.Brief(ev.Output, kept), "errno", ev.Errno, "timeout", ev.Timeout,
			"server", ev.Header["Server"], "answeredBy", ev.Header[mesh.AnsweredBy],
			"upstreamMs", ev.Header["X-Whylet-Upstream-Service-Time"], "sidecarMs", ev.Header["X-Whylet-Sidecar-Service-Time"]))
		if ev.ExitCode != nil {
			v["exitCode"] = *ev.ExitCode
		}
	}
	if !bad(b) {
		text := fmt.Sprintf("%s probe succeeds", kind)
		if b.Count > 1 {
			text += fmt.Sprintf(", %d times since", b.Count)
		}
		return text + fmt.Sprintf(" (at most %s)", prose.Span(b.Took)), v
	}
	p := probing{last: b, kind: b.Probe, mode: modeOf(b)}
	text := fmt.Sprintf("%s probe failed: %s", kind, cmp.Or(p.how(), "no message"))
	if p.mode == silent || p.mode == commandLate {
		in := prose.Whether(b.Took != 0, "after "+prose.Span(b.Took), "in time")
		text = fmt.Sprintf("%s probe timed out%s: no answer %s", kind, deadline(b), in)
	}
	if p.mode == impossible {
		text = fmt.Sprintf("%s probe could not be run: %s", kind, prose.Brief(b.Message, kept))
	}
	if p.mode == answered && b.Evidence.Output != "" {
		text += ", saying: " + prose.Midst(words.Told(b.Evidence.Output), saidAtOnce)
	}
	return text, v
}

// deadline is what kubelet's event says of an attempt that timed out, in brackets: what people look for.
func deadline(b fact.Probed) string {
	return prose.Whether(b.Evidence != nil && strings.Contains(b.Evidence.Error, "deadline exceeded"), " (context deadline exceeded)", "")
}
