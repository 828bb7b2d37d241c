package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// since is when the container was last well, as far as anyone can know: what was said before
// explains nothing.
func (p *probing) since() time.Time {
	switch n := len(p.before); {
	case n > 0:
		return p.before[n-1].End()
	case p.halfSeen():
		return p.from.Add(-p.period() - p.timeout())
	}
	return time.Time{}
}

// log is what a container said since it was last well, as the newest look at its log has it.
func (p *probing) log() (*fact.Fact, []string) { return p.run.Said(p.since()) }

// newest is what it said lately, where that tells of an error, or else all of it.
func (p *probing) newest() (*fact.Fact, []string) {
	at, lines := p.log()
	if at == nil || len(fact.Of[fact.Looked](at).SaidAt) == 0 {
		return at, lines
	}
	if late := history.SaidSince(at, p.lately(at)); p.h.read(late).Trouble(false) != "" {
		return at, late
	}
	return at, lines
}

// lately is when the failed attempts before a look began to be of now: the newest two are.
func (p *probing) lately(look *fact.Fact) time.Time {
	seen := slices.DeleteFunc(slices.Clone(p.failed), func(f *fact.Fact) bool { return f.Seen.After(look.Seen) })
	switch n := len(seen); {
	case n > 1:
		return seen[n-2].When()
	case n == 1 && p.since().IsZero():
		return seen[0].When().Add(-p.timeout() - time.Second)
	}
	return p.since()
}

// complaint is what the container says in its log of what fails: what it said lately first,
// warnings among it, and else the errors since it was last well; "" where it says nothing.
func (p *probing) complaint() (*fact.Fact, string) {
	c := p.complained()
	return c.at, c.said
}

// grievance is what a container says of what fails, with what it advises to do about that, and where
// in its own code that was.
type grievance struct {
	at     *fact.Fact // nil: it says nothing
	said   string
	advice logline.Advice
	place  logline.Spot
}

// complained is the same, with all that it says of it.
func (p *probing) complained() grievance {
	at, lines := p.log()
	switch {
	case at == nil:
	case len(fact.Of[fact.Looked](at).SaidAt) == 0:
		if said := p.h.read(lines); said.Troubled() { // nobody knows whether it was said now
			return grievance{at, said.Reason(), said.Advice(), said.RaisedAt()}
		}
	default:
		late, all := p.h.read(history.SaidSince(at, p.lately(at))), p.h.read(lines)
		again := prose.Whether(p.mode == broken, late.SaidAgain(), "")
		if text := late.Trouble(true); text != "" {
			return grievance{at, text, late.TroubleAdvice(true), late.TroubleAt(true)}
		}
		if again != "" {
			return grievance{at: at, said: again}
		}
		if text := all.Trouble(false); text != "" {
			return grievance{at, text, all.TroubleAdvice(false), all.TroubleAt(false)}
		}
	}
	return grievance{}
}

// saidOnce is how long before a server's last good answer it may have said that a limit is
// reached: many say so once, and answer now and then meanwhile.
const saidOnce = 15 * time.Second

// inLogs is the newest line of the logs of the pod's containers, the probed one's first,
// that fits, and was said since the container was last well, or right before.
func (p *probing) inLogs(fits func(string) bool) (at *fact.Fact, line string) {
	for _, name := range append([]string{p.run.Container}, p.h.Containers()...) {
		run := p.h.Last(name)
		if run == nil {
			continue
		}
		for _, f := range slices.Backward(run.Decided().Looks) {
			for _, line := range slices.Backward(history.SaidSince(f, p.since().Add(-saidOnce))) {
				if fits(line) {
					return f, line
				}
			}
		}
	}
	return nil, ""
}

// probeNotDeployed: a server is up, and the application that it should serve is not in it.
func probeNotDeployed(p *probing) *finding {
	at, lines := p.log()
	if p.mode != answered || p.last.Evidence.Status != 404 || p.worked() || !p.h.read(lines).Failed() {
		return nil
	}
	why := p.h.read(lines).Reason()
	f := p.finds(answer.AppUnhealthy, strong, at).fix(p.h.logsFix(p.run)).
		says("The server of container %s is up, and its application is not: its log tells of a failure, and %s has been answered with 404 ever since: its path need not be wrong.", p.run.Container, p.what())
	f.because, f.advice = []string{itsLog(why)}, p.h.read(lines).Advice()
	p.h.namedFile(f, p.run.Container, why)
	p.h.meant(f, p.run.Container, why)
	return f
}

func itsLog(said string) string { return itsLogAt(said, logline.Spot{}) }

// itsLogAt is the same with where in its own code that was.
func itsLogAt(said string, at logline.Spot) string {
	said = quoteAs(answer.RoleLog, said, quoted)
	return "Its log says: " + said + atPlace(said, at) + "."
}

// probeProgramGivenUp: the supervisor lives, and what it should keep up does not.
func probeProgramGivenUp(p *probing) *finding {
	seen, look, ok := p.refusedAndLooked()
	said, lines := p.log()
	i := words.LastOf(lines, knowledge.GaveUp)
	switch _, _, used := p.used(); {
	case i < 0, said == nil, !ok && !p.unlooked():
		return nil
	case ok && (p.atWork(look) || used.busy() || used.starved() || len(p.here(look)) > 0):
		return nil
	}
	f := p.finds(answer.ChildProcessEnded, strong, said, seen).
		says("The supervisor in container %s lives, and has given its program %s up: so nothing listens on port %d, and %s is refused.", p.run.Container, knowledge.GaveUp.Slots(lines[i])["program"], p.port(), p.what())
	if why := p.h.read(lines[:i]).Trouble(false); why != "" {
		f.because = []string{itsLog(why)}
	}
	return f.fix(p.h.logsFix(p.run), p.h.specFix("mend that, and start the pod anew: the supervisor does not try again by itself, as Kubernetes does where each program has a container of its own"))
}

// probeProgramDown: the supervisor that is asked says that a program does not run.
func probeProgramDown(p *probing) *finding {
	if p.mode != exitCode || p.last.Evidence == nil || p.run.Exit != nil {
		return nil
	}
	lines := strings.Split(p.last.Evidence.Output, "\n")
	down := slices.IndexFunc(lines, knowledge.ProgramDown.In)
	if down < 0 {
		return nil
	}
	name := knowledge.ProgramDown.Slots(lines[down])["program"]
	f := p.finds(answer.ChildProcessEnded, strong).fix(p.h.logsFix(p.run)).
		says("Program %s of container %s does not run, says its supervisor, which the command of the %s probe asks (%s).", name, p.run.Container, kindWord(p.kind), quote(strings.Join(strings.Fields(lines[down]), " "), kept))
	all := len(lines) > 1 // it asks for every program
	said, lines := p.log()
	if said == nil {
		return f
	}
	f.chain = p.chain(said)
	if i := words.LastOf(lines, knowledge.EndExpected); i >= 0 && knowledge.EndExpected.Slots(lines[i])["program"] == name {
		f.because = []string{fmt.Sprintf("Its log says: %s. An end that is expected, mostly with exit code 0, is none after which it starts a program again, unless it is told so (autorestart=true).", quoteAs(answer.RoleLog, logline.Message(lines[i]), kept))}
		f.first(p.h.specFix(fmt.Sprintf("if %s is to be started again whenever it ends, set autorestart=true for it (supervisord's default is unexpected)", name)))
		if all {
			f.first(p.h.specFix(fmt.Sprintf("if %s is to run once and end, have the probe's command ask only for the programs that serve, by their names", name)))
		}
	} else if why := p.h.read(lines).Trouble(false); why != "" {
		f.because = []string{itsLog(why)}
		p.h.meant(f, p.run.Container, strings.Join(lines, "\n"))
	}
	return f
}

// probeLogsLate: by the API alone, the log has how long the answers at the probed path take, which is always longer than the
// probe waits. A CPU limit may be the reason, which only the kernel tells.
func probeLogsLate(p *probing) *finding {
	if !p.h.FromAPI || p.mode != silent || p.spec == nil || p.spec.HTTPGet == nil || !p.of.Resources.Limits.Cpu().IsZero() || p.run.Started == nil {
		return nil
	}
	n, most := 0, time.Duration(0)
	for _, line := range p.ownLines() {
		switch took, ok := words.TookFor(line, cmp.Or(p.spec.HTTPGet.Path, "/")); {
		case ok && took <= p.timeout():
			return nil
		case ok:
			n, most = n+1, max(most, took)
		}
	}
	if n < 2 {
		return nil
	}
	return p.finds(answer.ProbeTimeoutTooShort, fair).
		says("Answers to %s are late: by the log of container %s, %d requests for that path took up to %s, and the probe allows %s.", p.what(), p.run.Container, n, prose.Span(most), prose.Span(p.timeout())).
		fix(p.h.specFix(fmt.Sprintf("raise %s of container %s from %d to %d, if its answers may take that long", p.field("timeoutSeconds"), p.run.Container, prose.Seconds(p.timeout()), prose.Seconds(most)+1)), p.h.logsFix(p.run))
}

// probeProtocolSaid: it cuts what it does not understand, and says so.
func probeProtocolSaid(p *probing) *finding {
	at, line := p.inLogs(knowledge.NotMyProtocol.In)
	if p.mode != broken || p.worked() || at == nil || at.Container != p.run.Container {
		return nil
	}
	return p.finds(answer.ProbeProtocol, strong, at).
		says("Port %d of container %s speaks another protocol than %s: it cuts the connection, and its log says: %s.", p.port(), p.run.Container, p.what(), quoteAs(answer.RoleLog, logline.Message(line), kept)).
		fix(p.h.specFix("have the probe speak what the port speaks, use tcpSocket, or have the server speak HTTP there"))
}

// probeTLSSaid: the container logs that it got plain HTTP where it speaks TLS, or that it speaks TLS on the port that
// a probe asks by plain HTTP. Of such an answer kubelet tells the status alone, which is 400.
func probeTLSSaid(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || p.spec == nil || p.spec.HTTPGet == nil || p.spec.HTTPGet.Scheme == v1.URISchemeHTTPS || p.worked() ||
		p.mode != broken && !(p.mode == answered && ev.Status == 400 && ev.Output == "") {
		return nil
	}
	says := "that it got plain HTTP where it speaks TLS"
	at, line := p.inLogs(knowledge.PlainToTLS.In)
	if at == nil {
		says = fmt.Sprintf("that it speaks TLS on port %d", p.port())
		at, line = p.announced(knowledge.ListensTLS)
	}
	if at == nil || at.Container != p.run.Container {
		return nil
	}
	return p.finds(answer.ProbeWrongScheme, strong, at).
		says("%s uses plain HTTP, and container %s logs %s: %s.", prose.Upper(p.what()), p.run.Container, says, quoteAs(answer.RoleLog, logline.Message(line), kept)).
		fix(p.h.specFix("set " + p.field("scheme") + " to HTTPS"))
}

// announced is the newest line in which the container says, at its start most often, how it serves the probed port.
func (p *probing) announced(how *knowledge.Known) (at *fact.Fact, line string) {
	at, lines := p.run.Said(time.Time{})
	if at == nil && p.run.Exit != nil {
		at, lines = p.run.Exit, fact.Of[fact.Exited](p.run.Exit).LastLines
	}
	for _, line := range slices.Backward(lines) {
		if words.Announces(how, line, p.port()) {
			return at, line
		}
	}
	return nil, ""
}

// probeDependencySaid: it says no because of something that it asks.
func probeDependencySaid(p *probing) *finding {
	if p.last.Evidence == nil || p.mode != exitCode && !(p.mode == answered && p.last.Evidence.Status >= 500) && !p.failsTLS() {
		return nil
	}
	n, ok := lastNeed(strings.Split(words.Told(p.last.Evidence.Output), "\n"))
	at, lines := p.newest()
	if !ok || n.place == "" {
		n, ok = lastNeed(lines)
	} else {
		at = nil
	}
	why := "it " + n.unmet("cannot reach", "gets")
	if i := p.h.read(lines).Primary(); !ok && i >= 0 {
		n.what, n.place, ok = words.FailedBy(lines[i])
		n.said = lines[i]
		why = fmt.Sprintf("of %s (%s)", n.named(), n.what)
	}
	if !ok || n.place == "" || loopback(hostIn(n.place)) || p.h.ownAddress(hostIn(n.place)) {
		return nil
	}
	f := p.finds(answer.DependencyDown, strong, at).fix(n.fixes(p.h)...).fix(p.h.logsFix(p.run)).
		says("Container %s fails because %s: %s.", p.run.Container, why, quote(logline.Message(n.said), quoted))
	f.then = []string{fmt.Sprintf("So %s failed: %s.", p.what(), p.how())}
	p.h.given(f, p.run.Container, n.said)
	if knowledge.ClusterFails.In(n.said) {
		p.h.meant(f, p.run.Container, n.said)
	}
	return f
}

// soleContainer says whether a pod has one container, and nothing beside it.
func (h *inquiry) soleContainer() bool {
	return h.Object != nil && len(h.Object.Spec.Containers) == 1 && !slices.ContainsFunc(h.Object.Spec.InitContainers, func(c v1.Container) bool { return c.RestartPolicy != nil })
}

// elsewhere is what to do about a container that asks its own pod for what is not there.
func (h *inquiry) elsewhere(container, place string) answer.Fix {
	rest := "; many programs ask there by default, where they are given none, or by a variable's wrong name"
	for _, s := range h.sources(h.spec(container)) {
		if s.kind == "Secret" {
			rest = fmt.Sprintf(" (some are of Secret %s)", s.name) + rest
			break
		}
	}
	slots := answer.Slots{answer.SlotContainer: container, answer.SlotPlace: place, answer.SlotRest: rest}
	return kubectl.EditTemplate(h.Pod.Namespace, h.Object, kubectl.GiveAddress(slots, "in its configuration or variables")).As(answer.StepGiveAddress, slots)
}

// asksItself: it asks its own pod for what nobody there is meant to serve, as programs do that are given no address.
func (p *probing) asksItself(n needed, said, looked *fact.Fact, look fact.Looked) *finding {
	_, port, _ := splitAddress(n.place)
	if len(listenersAt(look.Listeners, port)) > 0 {
		return nil
	}
	f := p.finds(answer.DependencyDown, strong, said, looked).fix(p.h.elsewhere(p.run.Container, n.place), p.h.logsFix(p.run)).
		says("Container %s asks port %s of its own pod (%s), in which nothing else runs and nobody listens there: %s.", p.run.Container, port, n.place, quote(logline.Message(n.said), quoted))
	f.then = []string{fmt.Sprintf("So %s failed: %s.", p.what(), p.how())}
	return f
}

// probeSiblingElsewhere: a proxy finds nobody at the port of its own pod where the
// application should be.
func probeSiblingElsewhere(p *probing) *finding {
	if p.last.Evidence == nil || p.mode != exitCode && !(p.mode == answered && p.last.Evidence.Status >= 500) {
		return nil
	}
	said, lines := p.newest()
	n, ok := lastNeed(lines)
	at, look, seen := p.look()
	if ok && seen && loopback(hostIn(n.place)) && p.h.soleContainer() && len(slices.Compact(slices.Sorted(slices.Values(look.Commands)))) <= 1 { // in which one program runs
		return p.asksItself(n, said, at, look)
	}
	if p.mode != answered {
		return nil
	}
	if !ok || !seen || !loopback(hostIn(n.place)) {
		return nil
	}
	_, port, _ := splitAddress(n.place)
	f := p.finds(answer.AppNotListening, fair, said, at)
	var other []string
	for _, l := range look.Listeners {
		_, on, _ := splitAddress(l.Address)
		switch {
		case on == port:
			return nil // it has come up since
		case l.Other:
			f.cause, f.weight, f.container = answer.AppListensElse, strong, p.h.Owner(l.PID)
			other = append(other, fmt.Sprintf("%s (%s)", l.Address, prose.Brief(l.Command, 30)))
		}
	}
	f.text = fmt.Sprintf("Container %s asks port %s of its own pod, and nobody listens there.", p.run.Container, port)
	if len(other) > 0 {
		f.text = fmt.Sprintf("Container %s asks port %s of its own pod, and the other container listens elsewhere: on %s.", p.run.Container, port, strings.Join(other, ", "))
	}
	f.because = []string{itsLog(p.h.read(lines).Reason())}
	f.fixes = []answer.Fix{p.h.logsFix(p.run)}
	if down := p.onlyOtherDown(); down != nil && len(other) == 0 {
		f.cause, f.weight, f.container, f.chain = answer.SiblingNotReady, strong, down.Container, p.chain(said, down.Exit)
		f.text = fmt.Sprintf("Container %s asks port %s of its own pod, and nobody listens there: the other container, %s, is down or ends again and again.", p.run.Container, port, down.Container)
		f.fixes = []answer.Fix{p.h.logsFix(down)}
		if end := explainExit(p.h, down); slices.Contains(ofSiblings, end.Cause) {
			f.cause, f.because, f.fixes, f.told = end.Cause, []string{end.Text}, end.Fixes, end.Told
		}
		return f
	}
	if ports := portsOf(others(look)); len(ports) > 0 {
		f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("have container %s ask port %s, or what listens there listen on %s", p.run.Container, strings.Join(ports, " or "), port))}
	}
	return f
}

// ofSiblings are causes of an end that explain as well what fails another container of the pod, which asks the one
// that ended.
var ofSiblings = []answer.Cause{answer.AppExitError, answer.AppCrashSignal, answer.AppStartFailed, answer.MemoryLimit, answer.MemoryLimitChild, answer.SecurityRefused}

// onlyOtherDown is the newest run that ended of the pod's only other container, where that has not been up for
// long since; nil where there are more, or it is up.
func (p *probing) onlyOtherDown() *history.Run {
	if p.h.Object == nil || len(p.h.Object.Spec.Containers) != 2 {
		return nil
	}
	for _, c := range p.h.Object.Spec.Containers {
		if c.Name == p.run.Container {
			continue
		}
		for _, r := range slices.Backward(p.h.Runs(c.Name)) {
			if r.Exit != nil && (r == p.h.Last(c.Name) || p.h.Now.Sub(r.Exit.When()) < lookedLately) {
				return r // one in back-off is down for minutes
			}
			if r.Exit == nil && r.Started != nil && p.h.Now.Sub(r.Started.When()) >= getIn {
				return nil
			}
		}
	}
	return nil
}

// others are the listeners of other containers of the pod.
func others(look fact.Looked) []fact.Listener {
	return slices.DeleteFunc(slices.Clone(look.Listeners), func(l fact.Listener) bool { return !l.Other })
}

func hostIn(place string) string {
	if host, _, ok := splitAddress(place); ok {
		return host
	}
	return place
}
