package why

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// waiters are programs with which start scripts wait.
var waiters = []string{"sleep", "nc", "ncat", "wget", "curl", "nslookup", "dig", "host", "getent", "ping", "pg_isready", "mysqladmin", "redis-cli", "wait-for-it.sh", "wait-for", "dockerize"}

func declares(c *v1.Container, port int) bool {
	return slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool { return int(p.ContainerPort) == port })
}

// refusedAndLooked is what the rules about listeners need: a refused connection,
// and a look at what listens meanwhile.
func (p *probing) refusedAndLooked() (at *fact.Fact, look fact.Looked, ok bool) {
	if p.mode != refused {
		return nil, look, false
	}
	return p.look()
}

// probeListenerGone: the port was served and is not any more, while the main process
// lives. Who served it tells a worker that ended from a main process that let go.
func probeListenerGone(p *probing) *finding {
	at, look, ok := p.refusedAndLooked()
	if !ok || len(p.before) == 0 || len(p.here(look)) > 0 || look.State == "Z" {
		return nil
	}
	f := p.finds(answer.AppNotListening, fair, at)
	f.text = fmt.Sprintf("Nothing listens on port %d of container %s any more, after %s had succeeded %s; its main process lives.",
		p.port(), p.run.Container, p.what(), prose.Times(int(succeededTimes(p.before))))
	f.fixes = []answer.Fix{p.h.logsFix(p.run)}
	if p.h.Last(p.run.Container).Attempt == p.run.Attempt { // a new run has all of them
		f.fixes = append([]answer.Fix{p.h.inside("see which processes are left", p.run.Container, "ps")}, f.fixes...)
	}
	earlier, who, known := p.servedBy()
	known = known && who.PID != 0 && look.PID != 0
	if known {
		f.chain = append(f.chain, link(earlier))
	}
	if known && who.PID == look.PID {
		f.weight = strong
		f.text = fmt.Sprintf("The main process of container %s closed port %d, and lives.", p.run.Container, p.port())
		p.movedTo(f, earlier, look)
		return f
	}
	if ended, b := p.childEnded(who.PID); ended != nil {
		if p.followedOOM(ended) != nil {
			return nil // the limit that was hit is what somebody can change
		}
		p.childGone(f, ended, b)
		return f
	}
	switch {
	case !known && p.sameProcesses():
		f.because = []string{"It has as many processes and threads as before."}
	case !known && !p.fewerProcesses(look):
		f.weight = weak // a worker that ended looks the same
	case known:
		f.cause, f.weight = answer.ChildProcessEnded, strong
		f.text = fmt.Sprintf("The process that served port %d of container %s ended%s; the main process still runs without it.", p.port(), p.run.Container, inBrackets("", process(who.Command, who.PID)))
	case p.fewerProcesses(look):
		f.cause = answer.ChildProcessEnded
		f.text = fmt.Sprintf("A process of container %s ended, and with it the listener on port %d, judging by the number of its processes; the main process still runs.", p.run.Container, p.port())
	}
	return f
}

// probeServedBySibling: the port is another container's, and nobody listens there
// any more. This container has nothing to do with it but that its probe asks there.
func probeServedBySibling(p *probing) *finding {
	if _, look, _ := p.look(); p.mode != refused || len(p.here(look)) > 0 {
		return nil
	}
	var seen *fact.Fact
	var listener fact.Listener
	for _, r := range p.h.Runs(p.run.Container) {
		for _, f := range r.Looks {
			for _, l := range p.here(fact.Of[fact.Looked](f)) {
				owner := p.h.Owner(l.PID)
				if !l.Other && (owner == "" || owner == p.run.Container) {
					return nil
				}
				if f.Seen.Before(p.until) {
					seen, listener = f, l
				}
			}
		}
	}
	if seen == nil {
		return nil
	}
	f := p.finds(answer.SiblingNotReady, certain, seen).
		says("%s asks on port %d, where another container of the pod listened (%s) and does not any more.", prose.Upper(p.what()), p.port(), process(listener.Command, listener.PID)).
		fix(p.h.specFix("give each container a probe of its own port"))
	for _, name := range p.h.Containers() {
		for _, r := range p.h.Runs(name) {
			if name == p.run.Container || r.Exit == nil || r.Exit.When().Before(seen.Seen) || r.Exit.When().After(p.until) {
				continue
			}
			f.container, f.chain = name, append(f.chain, link(r.Exit))
		}
	}
	if f.container != "" {
		f.because = []string{fmt.Sprintf("Container %s ended meanwhile.", f.container)}
	}
	return f
}

// movedTo makes it app-listens-elsewhere where the process listens on a port now on
// which nobody listened in the earlier look.
func (p *probing) movedTo(f *finding, earlier *fact.Fact, look fact.Looked) {
	fresh := slices.DeleteFunc(p.mine(look.Listeners), func(l fact.Listener) bool {
		return l.PID != look.PID || slices.ContainsFunc(fact.Of[fact.Looked](earlier).Listeners, func(old fact.Listener) bool { return old.Address == l.Address })
	})
	if len(fresh) == 0 {
		return
	}
	f.cause = answer.AppListensElse
	f.text = fmt.Sprintf("The main process of container %s closed port %d, and listens on %s instead since.", p.run.Container, p.port(), listening(fresh))
}

// childEnded is the end of the process with that pid, as the kernel told it; of
// any child that ended between the last success and the first failure where the
// pid is not known.
func (p *probing) childEnded(pid int) (*fact.Fact, fact.ProcessEnded) {
	since := p.run.Started
	if n := len(p.before); n > 0 {
		since = p.before[n-1]
	}
	for f, b := range newest[fact.ProcessEnded](p.run.Ended) {
		if b.Main || f.When().After(p.until) {
			continue
		}
		if pid != 0 && b.PID == pid || pid == 0 && since != nil && !f.When().Before(since.Seen.Add(-p.period())) && !f.When().After(p.from) {
			return f, b
		}
	}
	return nil, fact.ProcessEnded{}
}

// followedOOM returns the OOM kill of another of the container's processes over which a process ended: by itself or by an
// unknown hand at once, or by the container's own processes, such as a shell that gives up, somewhat later. nil where
// there was none, or somebody else ended it.
func (p *probing) followedOOM(ended *fact.Fact) *fact.Fact {
	if ended == nil {
		return nil
	}
	b, within := fact.Of[fact.ProcessEnded](ended), fact.OOMFollowedWithin
	for _, s := range each[fact.Signalled](p.run.Signals) {
		if s.PID != b.PID || s.Signal != b.Signal || s.Origin == fact.FromKernel {
			continue
		}
		if !p.h.ItsOwn(s, p.run.Container) {
			return nil
		}
		within = oomBefore
	}
	for _, kill := range slices.Backward(p.run.OOMKills) {
		o, ago := fact.Of[fact.OOMKilled](kill), ended.When().Sub(kill.When())
		if !o.Main && o.PID != b.PID && ago >= 0 && ago <= within {
			return kill
		}
	}
	return nil
}

// childGone words the end of a worker by the kernel's word, and by who killed it
// where that is known.
func (p *probing) childGone(f *finding, ended *fact.Fact, b fact.ProcessEnded) {
	f.cause, f.weight = answer.ChildProcessEnded, certain
	f.chain = append(f.chain, link(ended))
	how := prose.Whether(b.Signal != 0, "died of "+signalName(b.Signal), fmt.Sprintf("ended by itself with exit code %d", b.ExitCode))
	f.text = fmt.Sprintf("The process that served port %d of container %s %s%s; the main process still runs without it.", p.port(), p.run.Container, how, inBrackets("", process(b.Command, b.PID)))
	for at, s := range each[fact.Signalled](p.run.Signals) {
		if s.PID == b.PID && s.Signal == b.Signal && s.Origin != fact.FromKernel && !p.h.ItsOwn(s, p.run.Container) {
			f.cause = answer.KilledByOther
			f.chain = append(f.chain, link(at))
			f.text = fmt.Sprintf("%s sent %s to the process that served port %d of container %s%s; the main process still runs without it.",
				prose.Upper(senderWords(s)), signalName(s.Signal), p.port(), p.run.Container, inBrackets("", process(b.Command, b.PID)))
		}
	}
}

// servedBy finds who listened on the port in an earlier look of this run.
func (p *probing) servedBy() (*fact.Fact, fact.Listener, bool) {
	for _, f := range slices.Backward(p.run.Looks) {
		if f.Seen.After(p.from) {
			continue
		}
		if here := p.here(fact.Of[fact.Looked](f)); len(here) > 0 {
			return f, here[0], true
		}
	}
	return nil, fact.Listener{}, false
}

// fewerProcesses says whether the container has fewer processes than it had
// while the probe succeeded.
func (p *probing) fewerProcesses(look fact.Looked) bool {
	for _, f := range p.run.Looks {
		if b := fact.Of[fact.Looked](f); f.Seen.Before(p.from) && b.Processes > look.Processes && look.Processes > 0 {
			return true
		}
	}
	first, last := p.tasks()
	return last > 0 && first > last
}

// mostProcesses is how many processes the container was seen to have at most in this run.
func (p *probing) mostProcesses() (most int) {
	for _, f := range p.run.Looks {
		most = max(most, fact.Of[fact.Looked](f).Processes)
	}
	return most
}

// sameProcesses says whether it has as many processes and threads as it ever had while the
// probe succeeded.
func (p *probing) sameProcesses() bool {
	first, last := p.tasks()
	return first > 0 && last >= first
}

// tasks are how many processes and threads the container had at most before the attempts failed,
// and how many at last; 0 where nobody counted.
func (p *probing) tasks() (first, last int64) {
	for _, f := range p.run.Samples {
		if n := fact.Of[fact.Sampled](f).PIDs; n > 0 {
			if f.Seen.Before(p.from) {
				first = max(first, n)
			} else {
				last = n
			}
		}
	}
	return first, last
}

// mine are the listeners that are not known to be of another container.
func (p *probing) mine(listeners []fact.Listener) []fact.Listener {
	return slices.DeleteFunc(slices.Clone(listeners), func(l fact.Listener) bool {
		owner := p.h.Owner(l.PID)
		return l.Other || owner != "" && owner != p.run.Container
	})
}

// probeNeverListened: alive, and it listens nowhere in the pod. A process at work may be
// starting, and so may one of which another run came up.
func probeNeverListened(p *probing) *finding {
	at, look, ok := p.refusedAndLooked()
	if !ok || len(p.before) > 0 || len(p.mine(look.Listeners)) > 0 || len(p.here(look)) > 0 {
		return nil
	}
	f := p.finds(answer.AppNotListening, fair, at).says("Container %s runs and listens on no TCP port, so %s is refused.", p.run.Container, p.what())
	if look.Over > 0 {
		f.text = fmt.Sprintf("Container %s runs and listens on no TCP port (its main process %s), so %s is refused.", p.run.Container, idleWords(look), p.what())
	}
	_, _, used := p.used()
	waits := len(look.Commands) > 0 && !slices.ContainsFunc(look.Commands, func(c string) bool { return !slices.Contains(waiters, c) }) && !used.busy()
	if waits {
		f.because = []string{fmt.Sprintf("What runs in it only waits (%s).", strings.Join(look.Commands, ", "))}
	}
	if p.tooSoon() || p.cameUpElsewhen() || p.atWork(look) || p.progress() != "" || p.begun() != "" || len(p.childrenKilled()) > 0 || !waits && (p.childrenWork(look) || p.mayStillStart(look)) {
		f.weight = weak
	}
	f.fixes = []answer.Fix{p.h.logsFix(p.run), p.h.inside("see what it does", p.run.Container, "ps")}
	if said := p.complained(); said.at != nil {
		if most := p.mostProcesses(); !waits && f.weight >= fair && most > look.Processes && look.Processes > 0 {
			f.cause = answer.ChildProcessEnded
			f.text = fmt.Sprintf("Of the %d processes of container %s %d have ended, and its main process goes on without them; nothing listens on port %d, so %s is refused.",
				most, p.run.Container, most-look.Processes, p.port(), p.what())
		}
		p.quoteInto(f)
		return f
	}
	f.fix(p.h.specFix(fmt.Sprintf("have it listen on port %d; or, if it is not meant to serve anybody, remove %sProbe from container %s", p.port(), kindWord(p.kind), p.run.Container)))
	if p.kind == fact.Readiness || p.run.Started == nil {
		return f
	}
	if given := p.until.Sub(p.run.Started.When()); given < time.Minute {
		f.fix(p.h.specFix(fmt.Sprintf("if it only needs longer than %s to start, allow it with a startupProbe (failureThreshold × periodSeconds)", prose.Span(given))))
	}
	return f
}

// probeListensElsewhere: it listens, and not where the probe asks: only on
// loopback, on another port than the one that its spec declares, or the probe
// has the wrong number.
func probeListensElsewhere(p *probing) *finding {
	seen, look, ok := p.refusedAndLooked()
	mine := p.mine(p.elsewhere(look))
	if !ok || p.worked() || len(p.here(look)) > 0 || len(mine) == 0 {
		return nil
	}
	f := p.finds(answer.ProbeWrongPort, strong, seen)
	there := listenersAt(mine, fmt.Sprint(p.port()))
	onLoopback := slices.ContainsFunc(there, func(l fact.Listener) bool { return loopback(hostIn(l.Address)) })
	over6 := slices.ContainsFunc(there, p.otherFamily)
	for _, said := range slices.Backward(p.run.Looks) {
		lines := fact.Of[fact.Looked](said).Said
		if i := words.LastOf(lines, knowledge.Debugger); i >= 0 && onlyIn(lines[i], mine) {
			return p.awaitsDebugger(seen, said, lines[i], mine)
		}
	}
	said, why := p.saysOfPort()
	switch {
	case said != nil && !over6 && !onLoopback:
		f.cause, f.weight, f.chain = answer.AppNotListening, certain, p.chain(seen, said)
		f.text = fmt.Sprintf("Container %s does not listen on port %d, and its log says why: %s. It listens on %s.", p.run.Container, p.port(), answer.RoleLog.Mark(why), listening(mine))
		f.because = []string{"The rest of it is up: the probe's port need not be wrong."}
		f.fixes = []answer.Fix{p.h.logsFix(p.run)}
		p.h.namedFile(f, p.run.Container, why)
		p.h.meant(f, p.run.Container, why)
	case over6:
		f.cause, f.weight = answer.AppListensElse, certain
		f.text = fmt.Sprintf("Container %s listens on port %d over IPv6 only (%s); the pod's address is one of IPv4, so probes and Services are refused.", p.run.Container, p.port(), listening(mine))
		f.fixes = []answer.Fix{p.h.specFix("have the application listen on 0.0.0.0, or on :: for both (without IPV6_V6ONLY)")}
	case onLoopback:
		f.cause, f.weight = answer.AppListensElse, certain
		f.text = fmt.Sprintf("Container %s listens on port %d only on loopback (%s); probes and Services come from outside and are refused.", p.run.Container, p.port(), listening(mine))
		f.fixes = []answer.Fix{p.listenFix(there[0].Command, strconv.Itoa(p.port()))}
	case declares(p.of, p.port()) && !p.wellAt(mine):
		f.cause = answer.AppListensElse
		f.text = fmt.Sprintf("Container %s declares port %d and listens elsewhere: %s. %s has never succeeded.", p.run.Container, p.port(), listening(mine), prose.Upper(p.what()))
		f.fixes = []answer.Fix{
			p.h.configFix(p.run.Container, fmt.Sprintf("have it listen on port %d", p.port())),
			p.h.specFix(fmt.Sprintf("or set %s and its containerPort to the port where it listens: %s", p.field("port"), strings.Join(portsOf(mine), " or "))),
		}
	default:
		f.text = fmt.Sprintf("The %s probe asks on port %d, where container %s has never listened; it listens on %s.", kindWord(p.kind), p.port(), p.run.Container, listening(mine))
		if p.wellAt(mine) {
			f.because = []string{"There another probe of it is answered."}
		}
		f.fixes = []answer.Fix{p.portFix(mine)}
	}
	p.enablePlugin(f, p.port(), mine)
	return f
}

// enablePlugin says of a port that is a plugin's of RabbitMQ that this is not enabled.
func (p *probing) enablePlugin(f *finding, port int, mine []fact.Listener) {
	plugin := plugins[port]
	if plugin == "" || slices.Contains(portsOf(mine), strconv.Itoa(port)) || !slices.ContainsFunc(mine, func(l fact.Listener) bool { return l.Command == "beam.smp" }) {
		return
	}
	f.cause = answer.AppNotListening
	f.fixes[0] = p.h.configFix(p.run.Container, fmt.Sprintf("port %d is that of RabbitMQ's plugin %[2]s: add %[2]s to its file enabled_plugins (the list ends with a dot: [%[2]s].)", port, plugin))
}

// wellAt says whether another probe of this run is answered where the container listens.
func (p *probing) wellAt(mine []fact.Listener) bool {
	ports := portsOf(mine)
	return slices.ContainsFunc(p.run.Probes, func(f *fact.Fact) bool {
		b := fact.Of[fact.Probed](f)
		if b.Probe == p.kind || bad(b) || b.Evidence == nil {
			return false
		}
		_, port, ok := splitAddress(cmp.Or(b.Evidence.Remote, addressOf(b.Evidence.Target)))
		return ok && slices.Contains(ports, port)
	})
}

// plugins are those of RabbitMQ that listen where it does not without them (rabbitmq.com, Networking).
var plugins = map[int]string{
	1883: "rabbitmq_mqtt", 8883: "rabbitmq_mqtt", 5552: "rabbitmq_stream", 15672: "rabbitmq_management", 15674: "rabbitmq_web_stomp",
	15675: "rabbitmq_web_mqtt", 15692: "rabbitmq_prometheus", 61613: "rabbitmq_stomp",
}

// onlyIn says whether a line names the port of each listener.
func onlyIn(line string, listeners []fact.Listener) bool {
	numbers := strings.FieldsFunc(line, func(r rune) bool { return r < '0' || r > '9' })
	return !slices.ContainsFunc(portsOf(listeners), func(port string) bool { return !slices.Contains(numbers, port) })
}

// awaitsDebugger words that nobody but a debugger is listened for.
func (p *probing) awaitsDebugger(at, said *fact.Fact, line string, mine []fact.Listener) *finding {
	return p.finds(answer.AppNotListening, certain, at, said).
		says("Container %s listens for a debugger alone, on %s, and not on port %d: its runtime was started so that it waits for one before it runs the program. Its log says: %s.",
			p.run.Container, listening(mine), p.port(), quoteAs(answer.RoleLog, logline.Message(line), quoted)).
		fix(p.h.specFix("take the debugger's option out of its command or variables (--inspect-brk in NODE_OPTIONS, suspend=y of -agentlib:jdwp, debugpy --wait-for-client, dlv)"))
}

// saysOfPort are the words of an error in the log that name the probed port, with what follows
// them there of the same error: not those of one that asks somebody at such a port.
func (p *probing) saysOfPort() (*fact.Fact, string) {
	for _, at := range slices.Backward(p.run.Looks) {
		lines := fact.Of[fact.Looked](at).Said
		i := p.h.read(lines).OfPort(p.port())
		if i < 0 {
			continue
		}
		_, asks := dependency(lines[i])
		_, _, failed := words.FailedBy(lines[i])
		if !asks && !failed && !strings.Contains(lines[i], "://") {
			return at, strings.TrimRight(prose.Midst(p.h.read(lines).ErrorAt(i), 2*quoted), ".! ")
		}
	}
	return nil, ""
}
