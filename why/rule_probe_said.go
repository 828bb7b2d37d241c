package why

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// probeSaidNo: the application itself answers failure.
func probeSaidNo(p *probing) *finding {
	ev := p.last.Evidence
	f := p.finds(answer.AppUnhealthy, fair).recorded()
	switch {
	case p.mode == exitCode:
		f.text = fmt.Sprintf("The command of %s %s%s.", p.what(), commandSaid(ev), saying(ev.Output))
	case p.mode == answered && p.relayed() != "":
		f.certainty = answer.Inferred
		f.text = fmt.Sprintf("Container %s hands on another server's answer to %s: %d%s, a page of %s%s.", p.run.Container, p.what(), ev.Status, saying(ev.Output), p.relayed(), p.sinceWhen())
		if ev.Status == 400 && knowledge.WantsHTTPS.In(ev.Output) {
			f.because = []string{"It is the container that asks in plain HTTP where TLS is wanted, and not the probe."}
			f.fixes = []answer.Fix{p.h.specFix("have the configuration of the container ask that server by HTTPS")}
		}
	case p.mode == answered:
		f.text = fmt.Sprintf("The application itself answers %s with %d%s%s.", p.what(), ev.Status, p.sayingBeside(ev), p.sinceWhen())
		if p.last.By == fact.BySay && p.shared() && !p.seenListening() {
			f.certainty = answer.Inferred // kubelet does not say who answered, and others of the pod may
		}
	case p.mode == redirects:
		f.text = fmt.Sprintf("The application answers %s with redirects that never end%s.", p.what(), p.sinceWhen())
	case p.failsTLS():
		f.certainty = answer.Inferred
		f.text = fmt.Sprintf("Container %s listens and speaks TLS, and gives up the handshake of %s (%s)%s: it has no certificate for what is asked, most often.", p.run.Container, p.what(), words.Alert(ev.Error), p.sinceWhen())
	case p.mode == notServing && strings.Contains(p.last.Message, "NOT_SERVING"):
		f.text = fmt.Sprintf("The application answers %s with NOT_SERVING%s.", p.what(), p.sinceWhen())
	default:
		return nil
	}
	f.fix(append(p.h.probeFixes(p), p.h.logsFix(p.run))...)
	if p.mode == exitCode && strings.TrimSpace(ev.Output) == "" { // nothing tells whether it or the application is at fault
		f.fix(p.h.specFix(fmt.Sprintf("if container %s works, correct the command of its %s probe", p.run.Container, kindWord(p.kind))))
	}
	if p.openAnswer() && !p.logsOfAnswer() {
		return f.possibly()
	}
	p.lacksFile(f)
	if p.mode != answered || ev.Status >= 500 || p.worked() || p.complainsNow() {
		p.quoteInto(f)
	}
	if (p.mode == answered || p.mode == exitCode) && strings.TrimSpace(ev.Output) == "" && !f.quotesLog() && !slices.ContainsFunc(f.fixes, changes) {
		f.fixes = append(p.openSteps(), p.h.logsFix(p.run))
	}
	return f
}

// logsOfAnswer reports whether the log shows that the container itself sent the answer: it logs errors while the attempts
// fail. A 502 or 504 may relay another container's failure.
func (p *probing) logsOfAnswer() bool {
	status := p.last.Evidence.Status
	return p.mode == answered && p.complainsNow() && !(p.shared() && (status == 502 || status == 504))
}

// failsTLS says whether the probe asks by HTTPS, and the server gives the handshake up for what it lacks.
func (p *probing) failsTLS() bool {
	return p.mode == mismatch && p.last.Evidence != nil && knowledge.TLSFails.In(p.last.Evidence.Error)
}

// complainsNow says whether the container's log tells of an error since the last attempts began:
// what it said as it started is no reason of a 4xx.
func (p *probing) complainsNow() bool {
	at, _ := p.log()
	return at != nil && len(fact.Of[fact.Looked](at).SaidAt) > 0 && p.h.read(history.SaidSince(at, p.lately(at))).Trouble(false) != ""
}

// seenListening says whether a look shows that the container itself holds the probed port.
func (p *probing) seenListening() bool {
	_, look, ok := p.look()
	return ok && slices.ContainsFunc(p.here(look), func(l fact.Listener) bool { return !l.Other && p.h.Owner(l.PID) == p.run.Container })
}

// sayingBeside is what an answer says, and of a server's own page of an error no more than its
// title where the log tells more.
func (p *probing) sayingBeside(ev *fact.Evidence) string {
	if at, _ := p.complaint(); at != nil && ev.Status >= 500 && logline.Title(ev.Output) != "" {
		return saying(strings.TrimSpace(strings.TrimPrefix(logline.Title(ev.Output), fmt.Sprint(ev.Status))))
	}
	return saying(ev.Output)
}

// quoteInto adds what the container's log says of the failure.
func (p *probing) quoteInto(f *finding) {
	c := p.complained()
	said := c.said
	if c.at != nil {
		f.advice = c.advice
		f.because, f.chain = append(f.because, itsLogAt(said, c.place)), p.chain(c.at)
	} else if p.last.Evidence != nil {
		said = p.last.Evidence.Output
		if at, meanwhile := p.saidMeanwhile(); at != nil {
			said = meanwhile
			f.because, f.chain = append(f.because, fmt.Sprintf("What its log says at each attempt: %s.", quoteAs(answer.RoleNoted, meanwhile, quoted))), p.chain(at)
		} else if at, first := p.saidFirst(); at != nil {
			f.because, f.chain = append(f.because, fmt.Sprintf("The first that its log says after it was last well: %s.", quoteAs(answer.RoleNoted, first, quoted))), p.chain(at)
		}
	}
	p.h.namedFile(f, p.run.Container, said)
	p.h.meant(f, p.run.Container, said) // whose advice comes first: it says more
}

// unvoiced are the causes that are concluded from what the container does, of which it may say more itself.
var unvoiced = []answer.Cause{
	answer.ChildProcessEnded, answer.ProcessLimit, answer.AppHang, answer.AppOverloaded, answer.AppSlowStart, answer.ProbeTimeoutTooShort,
}

// voiced adds to what was concluded what the container itself says of it: its answer, and its log.
func (p *probing) voiced(f *finding) {
	said := f.parts(p.run.Container).String()
	if !slices.Contains(unvoiced, f.cause) || f.quotesLog() {
		return
	}
	c := p.complained()
	if at, meanwhile := p.saidMeanwhile(); c.at == nil {
		c.at, c.said = at, meanwhile
	}
	if f.cause == answer.AppSlowStart && p.h.read([]string{c.said}).Trouble(false) == "" {
		return // who starts warns of this and that
	}
	switch last := p.lastTold(); {
	case c.at != nil && !logline.Within(said, c.said):
		f.because = append(slices.Clip(f.because), itsLogAt(c.said, c.place))
		f.chain = append(slices.Clip(f.chain), links(c.at)...)
	case c.at == nil && last != "" && (f.cause == answer.AppHang || f.cause == answer.AppOverloaded) && !logline.Within(said, last):
		f.because = append(slices.Clip(f.because), fmt.Sprintf("The last that its log says: %s.", quoteAs(answer.RoleLast, last, quoted)))
	}
}

// lastTold is the last that the log of a container says that is no request's, before it was ended: what it may be
// busy with, or hang in.
func (p *probing) lastTold() string {
	_, lines := p.log()
	if p.run.Exit != nil {
		lines = p.run.LastSaid(time.Time{})
	}
	for _, line := range slices.Backward(lines) {
		if gist := logline.Message(line); gist != "" && !logline.IsRequest(line) {
			return gist
		}
	}
	return ""
}

// voicedAfter is how long after an attempt ended what was said of it may stand in the log: the runtime
// writes down what comes by a pipe.
const voicedAfter = 300 * time.Millisecond

// saidMeanwhile is what the container says in its log while it is asked, at each attempt that the newest
// look still has, and at no other time: nobody calls that an error, and it tells of the answer all the same.
func (p *probing) saidMeanwhile() (at *fact.Fact, said string) {
	at, _ = p.log()
	if at == nil || p.mode == refused || p.mode == unreachable {
		return nil, ""
	}
	look := fact.Of[fact.Looked](at)
	if len(look.SaidAt) != len(look.Said) {
		return nil, ""
	}
	var each [][]string // what was said at an attempt, of the newest first
	for _, f := range slices.Backward(p.failed) {
		lines := saidAt(look, f)
		if f.Seen.After(at.Seen) || f.When().Before(look.SaidAt[0]) || len(lines) == 0 && voicedUntil(f).After(at.Seen) {
			continue
		}
		each = append(each, lines)
	}
	if len(each) < 2 {
		return nil, ""
	}
	all := slices.DeleteFunc(each[0], func(line string) bool {
		missing := func(others []string) bool { return !hasAlike(others, line) }
		return slices.ContainsFunc(each[1:], missing) || p.saidElse(look, line)
	})
	if len(all) == 0 {
		return nil, ""
	}
	return at, strings.Join(all, " / ")
}

// voicedUntil is until when what is said of an attempt stands in the log.
func voicedUntil(f *fact.Fact) time.Time { return f.Seen.Add(voicedAfter) }

func during(said time.Time, f *fact.Fact) bool {
	return !said.Before(f.When()) && !said.After(voicedUntil(f))
}

// saidAt are what a log says while an attempt is made, in its order, each once.
func saidAt(look fact.Looked, f *fact.Fact) (all []string) {
	for i, line := range look.Said {
		if during(look.SaidAt[i], f) && logline.Tells(line) && !hasAlike(all, logline.Message(line)) {
			all = append(all, logline.Message(line))
		}
	}
	return all
}

// saidElse says whether a log says the like when nobody asks.
func (p *probing) saidElse(look fact.Looked, line string) bool {
	for i, other := range look.Said {
		asked := func(f *fact.Fact) bool { return during(look.SaidAt[i], f) }
		if logline.Alike(logline.Message(other), line) && !slices.ContainsFunc(p.failed, asked) {
			return true
		}
	}
	return false
}

func hasAlike(all []string, line string) bool {
	return slices.ContainsFunc(all, func(other string) bool { return logline.Alike(other, line) })
}

// saidFirst is what a person would read in the log after the container was last well, up to when it
// began to fail: the first line unlike all before it that tells of a turn for the worse, else the first.
// The oldest look since has it.
func (p *probing) saidFirst() (at *fact.Fact, first string) {
	if len(p.before) == 0 || len(p.failed) == 0 {
		return nil, ""
	}
	last := p.before[len(p.before)-1]
	since, until := last.End().Add(fact.Of[fact.Probed](last).Took), p.failed[0].Seen
	for at, look := range each[fact.Looked](p.run.Looks) {
		if at.Seen.Before(p.from) || len(look.SaidAt) != len(look.Said) || len(look.Said) == 0 {
			continue
		}
		for i, line := range look.Said {
			alike := func(before string) bool { return logline.Alike(logline.Message(before), logline.Message(line)) }
			when := look.SaidAt[i]
			if when.Before(since) || when.After(until) || !logline.Tells(line) || slices.ContainsFunc(look.Said[:i], alike) {
				continue
			}
			if logline.TellsOfTurn(line) {
				return at, logline.Message(line)
			}
			first = cmp.Or(first, logline.Message(line))
		}
		if first == "" {
			return nil, ""
		}
		return at, first
	}
	return nil, ""
}

func saying(output string) string {
	if output == "" {
		return ""
	}
	return " (" + answer.RoleAnswer.Mark(strconv.Quote(prose.Midst(words.Told(output), kept))) + ")"
}

// sinceWhen says how long it had been well.
func (p *probing) sinceWhen() string {
	switch n := succeededTimes(p.before); {
	case n > 0:
		return fmt.Sprintf(", after it had answered well %s", prose.Times(int(n)))
	case p.told():
		return "" // whether it had, nobody told
	case p.worked():
		return ", which it did not in an earlier run"
	}
	return "; it has never answered well"
}

// maySpeakOtherwise reports whether the port may speak another protocol: by the API alone, it closed every connection
// without a reply.
func (p *probing) maySpeakOtherwise() bool {
	return p.h.FromAPI && p.mode == broken && !p.worked() && !words.CutShort(p.last.Message)
}

// probeMaySpeakOtherwise keeps another protocol possible by the API alone.
func probeMaySpeakOtherwise(p *probing) *finding {
	if !p.maySpeakOtherwise() {
		return nil
	}
	return p.finds(answer.ProbeProtocol, weak).
		says("The port accepts the connections of the probe and closes them without a reply: it may speak another protocol, or TLS.").
		fix(p.h.probeFixes(p)...)
}

// probeBrokeOff: the connection broke off in the middle.
func probeBrokeOff(p *probing) *finding {
	f := p.finds(answer.AppUnhealthy, weak).
		fix(p.h.probeFixes(p)...).
		fix(p.h.logsFix(p.run))
	closed := prose.Whether(words.CutShort(p.last.Message), "in the middle of its answer", "without an answer")
	f.text = fmt.Sprintf("The application takes the connection of %s and closes it %s%s.", p.what(), closed, p.sinceWhen())
	p.quoteInto(f)
	_, reported := p.sidecarReport()
	if len(p.failed) > 1 && !reported && !p.maySpeakOtherwise() && (p.run.Exit == nil || newEnding(p.h, p.run).order() == ordered) {
		f.weight = fair
	}
	if !p.worked() {
		step := p.h.specFix("if the container speaks another protocol there, probe with tcpSocket, or at the port that speaks the probe's")
		if words.CutShort(p.last.Message) {
			step = answer.Fix{Text: "correct the application: its answer there is not complete (shorter than its Content-Length, for example)", Risk: answer.Restarts}
		}
		f.first(step)
	}
	return f
}
