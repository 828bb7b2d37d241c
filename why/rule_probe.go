package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
)

// probeRules say why a probe fails, each from what the attempts saw and from
// what was seen in the container meanwhile.
var probeRules = []rule[*probing]{
	{"probe-child-oom", probeChildOOM},
	{"probe-process-stopped", probeProcessStopped},
	{"probe-throttled", probeThrottled},
	{"probe-node-cpu", probeNodeCPU},
	{"probe-overloaded", probeOverloaded},
	{"probe-answers-late", probeAnswersLate},
	{"probe-finishes-late", probeFinishesLate},
	{"probe-hang", probeHang},
	{"probe-blocked", probeBlocked},
	{"probe-listener-gone", probeListenerGone},
	{"probe-never-listened", probeNeverListened},
	{"probe-listens-elsewhere", probeListensElsewhere},
	{"probe-slow-start", probeSlowStart},
	{"probe-path", probePath},
	{"probe-protocol", probeWrongProtocol},
	{"probe-sidecar-answered", probeSidecarAnswered},
	{"probe-said-no", probeSaidNo},
	{"probe-impossible", probeImpossible},
	{"probe-command-late", probeCommandLate},
	{"probe-dependency", probeDependency},
	{"probe-died-meanwhile", probeBrokeOff},
}

// worked says whether this probe ever succeeded: in this run, or in an earlier one.
func (p *probing) worked() bool { return len(p.ever) > 0 }

// succeededTimes counts attempts, folded ones too.
func succeededTimes(facts []*fact.Fact) int64 {
	var n int64
	for _, f := range facts {
		n += max(1, of[fact.Probed](f).Count)
	}
	return n
}

// oomBefore is how long before the first failed attempt the OOM kill of a worker
// may lie to be taken for its reason.
const oomBefore = 15 * time.Second

// probeChildOOM: a worker was OOM-killed, the container lived on, and the probe
// failed. Needs: the kernel's record shortly before or between the attempts, and
// a probe that had worked. Against it: an answer that memory does not explain.
func probeChildOOM(p *probing) *finding {
	var kills []*fact.Fact
	for _, f := range p.run.OOMKills {
		if at := f.When(); !of[fact.OOMKilled](f).Main && at.After(p.from.Add(-oomBefore)) && !at.After(p.until) {
			kills = append(kills, f)
		}
	}
	if len(kills) == 0 || len(p.failed) == 0 {
		return nil
	}
	f := &finding{weight: strong, chain: p.chain(kills...)}
	last := oomRecord(of[fact.OOMKilled](kills[len(kills)-1]))
	p.h.blameOOM(f, p.run.Container, last)
	switch {
	case p.mode == answered && p.last.Evidence.Status < 500, p.mode == impossible, p.mode == mismatch:
		return nil
	case p.mode == exitCode, !p.worked():
		f.weight = fair
	}
	if f.cause == MemoryLimitChild {
		f.text = fmt.Sprintf("Container %s hit its memory limit%s: the kernel OOM-killed %s (%s, last pid %d) and the container lived on, maimed.",
			p.run.Container, ofSize(last.Limit), plural(len(kills), "child process"), brief(last.Command, 40), last.PID)
		f.fixes = append(f.fixes, p.h.memoryFixes(p.run, last)...)
	}
	f.text = strings.TrimSuffix(f.text, ".") + "; then " + p.what() + " failed: " + p.how() + "."
	return f
}

// probeProcessStopped: the process that should answer is stopped or traced: the
// main one, or the one that holds the probed port.
func probeProcessStopped(p *probing) *finding {
	at, look, ok := p.look()
	if !ok {
		return nil
	}
	who, pid, state := "The main process", look.PID, look.State
	here, _ := p.listeners(look)
	for _, l := range here {
		if stopped(l.State) {
			who, pid, state = fmt.Sprintf("The process that holds port %d (%s)", p.port(), brief(l.Command, 30)), l.PID, l.State
		}
	}
	if !stopped(state) {
		return nil
	}
	return &finding{
		cause: ProcessStopped, weight: certain, chain: p.chain(at),
		text: fmt.Sprintf("%s of container %s (pid %d on the node) %s: it is alive and never runs, so it cannot answer.", who, p.run.Container, pid, stateWords(state)),
		fixes: []Fix{
			p.h.inspect("see whether a debugger holds it, or somebody sent SIGSTOP", fmt.Sprintf("grep -E 'State|TracerPid' /proc/%d/status   # on the node", pid)),
			{Text: "let it go on", Command: fmt.Sprintf("kill -CONT %d   # on the node", pid), Risk: Safe},
		},
	}
}

func stopped(state string) bool { return state == "T" || state == "t" }

// probeSlowStart: killed before it ever was healthy, and still starting. Needs:
// no success in this run, while an earlier run did become healthy later than
// this one was given, or it was busy while it was asked.
func probeSlowStart(p *probing) *finding {
	if p.kind == fact.Readiness || len(p.before) > 0 || p.run.Started == nil || len(p.failed) == 0 || p.mode != refused && p.mode != silent && p.mode != exitCode && p.mode != answered {
		return nil
	}
	given := p.until.Sub(p.run.Started.When())
	f := &finding{
		cause: AppSlowStart, weight: weak, chain: append(links(p.run.Started), p.chain()...),
		text: fmt.Sprintf("Container %s was still starting: it was ended %s after its start, before %s had succeeded once.", p.run.Container, span(given), p.what()),
		fixes: []Fix{
			p.h.specFix(fmt.Sprintf("add a startupProbe that allows more than %s, or a larger initialDelaySeconds", span(given))),
			p.h.inspect("see how far it came", p.h.kubectl("logs %s -c %s -p", p.h.Pod.Name, p.run.Container)),
		},
	}
	if took := p.h.timeToHealth(p.run.Container, p.kind); took > given {
		f.weight = strong
		f.text += fmt.Sprintf(" Another run needed %s.", span(took))
	}
	if at, look, ok := p.look(); ok && share(look) >= busyShare {
		f.weight = strong
		f.chain = append(f.chain, link(at))
		f.text += fmt.Sprintf(" It was at work: %s CPU in %s.", span(look.CPUUsed), span(look.Over))
	}
	if p.kind == fact.Startup && p.mode == refused && f.weight == weak {
		f.weight = fair
	}
	return f
}

// timeToHealth is the longest time that a run took from its start to the first
// success of a probe; 0 when none did.
func (h *History) timeToHealth(container string, kind fact.ProbeKind) time.Duration {
	var longest time.Duration
	for _, r := range h.Runs(container) {
		if r.Started == nil {
			continue
		}
		failedFirst := false
		for _, f := range r.Probes {
			b := of[fact.Probed](f)
			if b.Probe != kind {
				continue
			}
			if bad(b) {
				failedFirst = true
				continue
			}
			if failedFirst {
				longest = max(longest, f.When().Sub(r.Started.When()))
			}
			break
		}
	}
	return longest
}

// probeBlocked: packets are dropped or rejected on the way. Needs: no connection
// while the container listens on that port with room for more, or the kernel's
// word that it may not be reached.
func probeBlocked(p *probing) *finding {
	if p.mode != unreachable && p.mode != refused || p.last.Evidence == nil {
		return nil
	}
	f := &finding{cause: NetworkBlocked, weight: weak, chain: p.chain()}
	f.text = fmt.Sprintf("Nothing comes back from port %d of the pod: %s.", p.port(), p.how())
	f.fixes = []Fix{
		p.h.inspect("see which rules drop it", "nft list ruleset | grep -iE 'drop|reject'; iptables-save | grep -iE 'drop|reject'"),
		p.h.inspect("ask from inside, past the network", p.h.exec(p.run.Container, fmt.Sprintf("wget -qO- -T 5 http://127.0.0.1:%d/", p.port()))),
	}
	if errno := p.last.Evidence.Errno; errno == "EPERM" || errno == "EACCES" {
		f.weight = strong
	}
	if at, look, ok := p.look(); ok {
		here, _ := p.listeners(look)
		switch {
		case len(here) > 0 && here[0].Backlog == 0:
			f.weight = strong
			f.chain = append(f.chain, link(at))
			f.text = fmt.Sprintf("Packets to port %d of the pod are dropped or refused on the way: %s listens there and has no connection waiting, yet %s.", p.port(), here[0].Address, p.how())
		case p.mode == refused:
			return nil
		}
	} else if p.mode == refused {
		return nil
	}
	return f
}

// probeImpossible: the attempt itself cannot be made.
func probeImpossible(p *probing) *finding {
	if p.mode != impossible {
		return nil
	}
	ev := p.last.Evidence
	f := &finding{cause: ProbeCommandFailed, weight: certain, certainty: Inferred, chain: p.chain()}
	if ev != nil && ev.Handler == "exec" {
		f.text = fmt.Sprintf("The command of the %s probe (%s) cannot be run in container %s: %s.", kindWord(p.kind), brief(ev.Target, 80), p.run.Container, lastClause(p.last.Message, ev))
		f.fixes = []Fix{p.h.inspect("see what the image has", p.h.exec(p.run.Container, "ls /bin /usr/bin")), p.h.specFix("correct the probe's command")}
		return f
	}
	if name, ok := p.namedPort(); ok {
		f.cause = ProbePortNameUnknown
		f.text = fmt.Sprintf("The %s probe names port %q, which container %s does not declare, so it has never been asked.", kindWord(p.kind), name, p.run.Container)
		f.fixes = []Fix{p.h.specFix("declare the port under that name, or give the probe its number")}
		return f
	}
	return nil
}

// namedPort is the port's name, if the probe uses one that its container lacks.
func (p *probing) namedPort() (string, bool) {
	if p.spec == nil || p.of == nil {
		return "", false
	}
	name := ""
	switch {
	case p.spec.HTTPGet != nil:
		name = p.spec.HTTPGet.Port.StrVal
	case p.spec.TCPSocket != nil:
		name = p.spec.TCPSocket.Port.StrVal
	}
	for _, port := range p.of.Ports {
		if port.Name == name {
			return "", false
		}
	}
	return name, name != ""
}

// lastClause is the end of a wrapped error, where the reason stands.
func lastClause(message string, ev *fact.Evidence) string {
	if ev.ExitCode != nil {
		return fmt.Sprintf("exit code %d", *ev.ExitCode)
	}
	parts := strings.Split(message, "exec: ")
	return brief(parts[len(parts)-1], 100)
}

// probeCommandLate: the exec probe's own command does not end in time.
func probeCommandLate(p *probing) *finding {
	if p.mode != commandLate {
		return nil
	}
	return &finding{
		cause: ProbeCommandFailed, weight: fair, chain: p.chain(),
		text:  fmt.Sprintf("The command of %s does not end within its timeout of %s.", p.what(), span(p.timeout())),
		fixes: []Fix{p.h.inspect("see how long it takes", p.h.exec(p.run.Container, "time "+brief(p.last.Evidence.Target, 80))), p.h.specFix("make it quicker, or raise timeoutSeconds")},
	}
}

// probeSaidNo: the application itself answers failure. Needs: an answer that is
// the application's: a status, an exit code, a gRPC status. Against it: the path
// never worked, or somebody else answered.
func probeSaidNo(p *probing) *finding {
	ev := p.last.Evidence
	f := &finding{cause: AppUnhealthy, weight: fair, certainty: Recorded, chain: p.chain()}
	switch {
	case p.mode == exitCode:
		f.text = fmt.Sprintf("The application says that it is unhealthy: the command of %s exits with %d%s.", p.what(), *ev.ExitCode, saying(ev.Output))
	case p.mode == answered:
		f.text = fmt.Sprintf("The application itself answers %s with %d%s%s.", p.what(), ev.Status, saying(ev.Output), p.sinceWhen())
	case p.mode == notServing && strings.Contains(p.last.Message, "NOT_SERVING"):
		f.text = fmt.Sprintf("The application answers %s with NOT_SERVING%s.", p.what(), p.sinceWhen())
	default:
		return nil
	}
	f.fixes = append(p.h.probeFixes(p), p.h.logsFix(p.run)...)
	return f
}

func saying(output string) string {
	if output == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", brief(output, 80))
}

// sinceWhen says how long it had been well.
func (p *probing) sinceWhen() string {
	switch n := succeededTimes(p.before); {
	case n > 0:
		return fmt.Sprintf(", after it had answered well %s", times(int(n)))
	case p.worked():
		return ", which it did not in an earlier run"
	}
	return "; it has never answered well"
}

// probePath: the application answers 404 where it never answered anything else.
func probePath(p *probing) *finding {
	if p.mode != answered || p.last.Evidence.Status != 404 && p.last.Evidence.Status != 405 && p.last.Evidence.Status != 410 {
		return nil
	}
	f := &finding{cause: ProbeWrongPath, weight: strong, chain: p.chain()}
	if p.worked() {
		f.weight = refuted
		f.text = fmt.Sprintf("the same path was answered well %s before", times(int(succeededTimes(p.ever))))
		return f
	}
	f.text = fmt.Sprintf("The %s probe asks for a path that container %s does not have: %s has been answered with %d ever since, and never otherwise.",
		kindWord(p.kind), p.run.Container, brief(p.last.Evidence.Target, 80), p.last.Evidence.Status)
	f.fixes = []Fix{p.h.specFix("give the probe a path that the application serves"), p.h.inspect("try it", p.h.exec(p.run.Container, "wget -S -O- "+p.last.Evidence.Target))}
	return f
}

// probeWrongProtocol: what comes back is another protocol.
func probeWrongProtocol(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || p.worked() {
		return nil
	}
	f := &finding{cause: ProbeProtocol, weight: strong, chain: p.chain()}
	f.fixes = []Fix{p.h.specFix("have the probe speak what the port speaks, or use tcpSocket")}
	switch {
	case strings.Contains(ev.Error, "HTTP response to HTTPS client"), strings.Contains(ev.Error, "first record does not look like a TLS handshake"):
		f.cause = ProbeWrongScheme
		f.text = fmt.Sprintf("%s uses HTTPS, and the application speaks plain HTTP there.", upper(p.what()))
		f.fixes = []Fix{p.h.specFix("set the probe's scheme to HTTP")}
	case p.mode == answered && ev.Status == 400 && saysHTTPS(ev.Output):
		f.cause = ProbeWrongScheme
		f.text = fmt.Sprintf("%s uses plain HTTP, and the application wants HTTPS there%s.", upper(p.what()), saying(ev.Output))
		f.fixes = []Fix{p.h.specFix("set the probe's scheme to HTTPS")}
	case p.mode == mismatch:
		f.text = fmt.Sprintf("What answers %s does not speak its protocol: %s.", p.what(), brief(ev.Error, 100))
	case ev.Handler == "grpc" && p.mode == notServing && strings.Contains(p.last.Message, "does not implement the grpc health protocol"):
		f.text = fmt.Sprintf("The gRPC server of container %s has no health service, which %s asks.", p.run.Container, p.what())
	case ev.Handler == "grpc" && ev.Timeout && ev.Connect > 0:
		f.weight = fair
		f.text = fmt.Sprintf("Port %d accepts connections within %s and never speaks gRPC on them, so %s fails.", p.port(), span(ev.Connect), p.what())
	default:
		return nil
	}
	return f
}

func saysHTTPS(body string) bool {
	body = strings.ToLower(body)
	return strings.Contains(body, "https") || strings.Contains(body, "ssl") || strings.Contains(body, "tls")
}

// probeBrokeOff: the connection broke off in the middle.
func probeBrokeOff(p *probing) *finding {
	if p.mode != broken {
		return nil
	}
	f := &finding{cause: AppUnhealthy, weight: weak, chain: p.chain()}
	f.text = fmt.Sprintf("The application took the connection of %s and broke it off without an answer.", p.what())
	return f
}

// probeSidecarAnswered: the failure was another container's answer. Needs: the
// process that listens on the probed port belongs to another container, or the
// answer carries a proxy's signature.
func probeSidecarAnswered(p *probing) *finding {
	if p.mode != answered {
		return nil
	}
	ev := p.last.Evidence
	proxy, how := p.otherListener()
	if proxy == "" && strings.Contains(strings.ToLower(ev.Header["Server"]), "envoy") {
		proxy, how = "a sidecar (envoy)", "its Server header says so"
	}
	if proxy == "" {
		return nil
	}
	f := &finding{
		cause: MeshSidecarAnswered, weight: strong, chain: p.chain(),
		text:  fmt.Sprintf("The %d was not the application's: %s answers on port %d (%s), in place of container %s.", ev.Status, proxy, p.port(), how, p.run.Container),
		fixes: append([]Fix{p.h.inspect("ask the application itself", p.h.exec(p.run.Container, "wget -S -O- http://127.0.0.1:PORT/"))}, p.h.logsFix(p.run)...),
	}
	at, look, ok := p.look()
	if ok && p.appSilent(look) {
		f.cause, f.weight = AppNotListening, certain
		f.notes = []Note{{Cause: MeshSidecarAnswered, Text: fmt.Sprintf("the %d is the answer of %s, which could not reach it", ev.Status, proxy), Facts: idsOf(f.chain)}}
		f.text = fmt.Sprintf("Container %s does not listen on any port that it declares; %s answered its %s probe with %d in its place.", p.run.Container, proxy, kindWord(p.kind), ev.Status)
	}
	if ok {
		f.chain = append(f.chain, link(at))
	}
	return f
}

// otherListener names the other container that serves the probed port, and how
// that is known.
func (p *probing) otherListener() (container, how string) {
	if _, look, ok := p.look(); ok {
		here, _ := p.listeners(look)
		for _, l := range here {
			switch owner := p.h.owner(l.PID); {
			case owner == p.run.Container:
				return "", ""
			case owner != "":
				return "container " + owner, "its process listens there"
			case l.Other:
				return "another container of the pod", "its process " + brief(l.Command, 20) + " listens there"
			}
		}
	}
	if p.h.Object == nil || p.of == nil || declares(p.of, p.port()) {
		return "", ""
	}
	for i := range p.h.Object.Spec.Containers {
		c := &p.h.Object.Spec.Containers[i]
		if c.Name != p.run.Container && declares(c, p.port()) {
			return "container " + c.Name, "it declares that port"
		}
	}
	return "", ""
}

// owner is the container whose main process has that pid, empty when it is none's.
func (h *History) owner(pid int) string {
	if pid == 0 {
		return ""
	}
	for name, runs := range h.runs {
		for _, r := range runs {
			if r.Started != nil && of[fact.Started](r.Started).PID == pid {
				return name
			}
		}
	}
	return ""
}

// appSilent says whether the look shows that the container declares ports, and
// nothing listens on any of them.
func (p *probing) appSilent(look fact.Looked) bool {
	if p.of == nil || len(p.of.Ports) == 0 {
		return false
	}
	for _, l := range look.Listeners {
		_, port, ok := splitAddress(l.Address)
		if ok && slices.ContainsFunc(p.of.Ports, func(c portSpec) bool { return fmt.Sprint(c.ContainerPort) == port }) {
			return false
		}
	}
	return true
}
