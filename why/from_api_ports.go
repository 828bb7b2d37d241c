package why

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// A port that refuses a probe, where nothing shows the sockets: the spec, the log, ConfigMaps and other probes tell where the
// container listens.

// listensNever are programs that only wait.
var listensNever = []string{"sleep", "tail", "cat", "pause"}

// unlooked reports whether the port refuses connections and no look at the sockets exists, by the API alone. Kubelet's
// gRPC client dials again until its timeout if the port refuses it (pkg/probe/grpc/grpc.go, WithBlock).
func (p *probing) unlooked() bool {
	_, _, looked := p.look()
	return !looked && (p.mode == refused || p.neverConnected()) && !p.worked() && p.of.Name != "" && p.h.FromAPI
}

// neverConnected reports whether a gRPC probe came to no connection within its timeout.
func (p *probing) neverConnected() bool {
	return p.mode == silent && p.last.Evidence.Handler == fact.GRPC && strings.HasPrefix(p.last.Evidence.Error, "timeout: failed to connect service")
}

// probeSaysLoopback: the log or the spec says that the container listens on loopback only.
func probeSaysLoopback(p *probing) *finding {
	if !p.unlooked() {
		return nil
	}
	f := p.finds(answer.AppListensElse, strong).fix(p.listenFix(p.program(), strconv.Itoa(p.port())))
	if at, line := p.announced(knowledge.OnLoopback); line != "" {
		f.chain = p.chain(at)
		return f.says("By its log container %s listens on port %d only on loopback; probes and Services come from outside and are refused: %s.", p.run.Container, p.port(), quoteAs(answer.RoleLog, line, kept))
	}
	for _, arg := range slices.Concat(p.of.Command, p.of.Args) {
		if host, port, ok := splitAddress(arg); ok && loopback(host) && port == strconv.Itoa(p.port()) || words.BindsToLoopback(arg, p.port()) != "" && strings.Contains(arg, strconv.Itoa(p.port())) {
			return f.says("The command of container %s has it listen on loopback only (%s); probes and Services come from outside and are refused.", p.run.Container, arg)
		}
	}
	for _, c := range p.h.Configs {
		if line := words.BindsToLoopback(c.Text, p.port()); line != "" && p.isAlone() {
			return f.says("ConfigMap %s, key %s, has container %s listen on loopback only (%s); probes and Services come from outside and are refused.", c.Map, c.Key, p.run.Container, line)
		}
	}
	if s, ok := p.bindsLoopback(); ok && p.isAlone() {
		f.weight = fair
		return f.says("Container %s is told to listen on loopback only (%s %s); probes and Services come from outside and are refused.", p.run.Container, s.name, s.value)
	}
	return nil
}

// bindsLoopback is the setting with which a container's spec has its program listen on loopback alone.
func (p *probing) bindsLoopback() (setting, bool) {
	for _, s := range settingsOf(p.of) {
		if words.BindsToLoopback(s.name+" "+s.value, p.port()) != "" {
			return s, true
		}
	}
	return setting{}, false
}

// program is what the container's spec starts; empty where only its image says that.
func (p *probing) program() string {
	if len(p.of.Command) == 0 {
		return ""
	}
	return path.Base(p.of.Command[0])
}

// probeServerFailed: the log ends with a failure, but the main process ran on, so the process that serves the port has ended.
func probeServerFailed(p *probing) *finding {
	at, lines := p.run.Said(time.Time{})
	if !p.unlooked() || p.mode != refused || p.run.Started == nil || !p.isAlone() {
		return nil
	}
	switch ended := p.run.Exit; {
	case ended == nil && (at == nil || p.h.Now.Sub(p.run.Started.When()) < begins): // it may end yet
		return nil
	case ended != nil && (p.run.Kill == nil || len(fact.Of[fact.Exited](ended).LastLinesAt) == 0): // it may have failed as it was ended
		return nil
	case ended != nil:
		at, lines = ended, p.run.LastSaid(time.Time{})
	}
	story := p.h.read(lines)
	if !story.EndsFailed() {
		return nil
	}
	f := p.finds(answer.ChildProcessEnded, fair, at).
		says("Port %d of container %s refuses connections: most likely the process that serves it has failed, while the main process runs on. The log ends with: %s.", p.port(), p.run.Container, quoteAs(answer.RoleLog, story.Reason(), quoted))
	if knowledge.NoMemory.In(story.Reason()) {
		f.fix(p.h.specFix(p.h.moreHeap(p.run.Container, p.of.Resources.Limits.Memory().Value())))
	}
	if p.announces() {
		f.weight = strong
		f.because = []string{"Before that, its log said that it listens on that port."}
		f.fix(p.h.specFix(fmt.Sprintf("have the start script of container %s run the server as its main process (exec as its last command), so that kubelet restarts the container when the server ends", p.run.Container)))
	}
	p.h.meant(f, p.run.Container, story.Reason())
	return f.fix(p.h.logsFix(p.run))
}

// announces reports whether the log of the run says that the container listens on the probed port.
func (p *probing) announces() bool {
	return slices.ContainsFunc(p.ownLines(), func(l string) bool {
		n, _ := words.ListensOn(l)
		return n != 0 && n == p.port()
	})
}

// probeSaysWhere: what it says, or is told, of the port on which it listens.
func probeSaysWhere(p *probing) *finding {
	if !p.unlooked() {
		return nil
	}
	if port, kind := p.passesElsewhere(); port > 0 && !declares(p.of, p.port()) {
		return p.finds(answer.ProbeWrongPort, fair).
			says("Container %s answers its %s probe on port %d, and %s on port %d, where %s asks.", p.run.Container, kindWord(kind), port, prose.Whether(p.mode == refused, "refuses connections", "accepts no gRPC connection"), p.port(), p.what()).
			fix(p.h.specFix(fmt.Sprintf("set %s to %d, or have the application listen on port %d, too", p.field("port"), port, p.port())))
	}
	f := p.finds(answer.AppListensElse, strong)
	f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("have the application listen on all addresses (0.0.0.0 or ::) and on port %d, or correct %s", p.port(), p.field("port")))}
	at, lines := p.run.Said(time.Time{}) // also before the attempts failed: it is said once, at the start
	if at == nil && p.run.Exit != nil {
		lines = fact.Of[fact.Exited](p.run.Exit).LastLines
	}
	if len(lines) == 0 { // the next run says the same at its start
		at, lines = p.h.Last(p.run.Container).Said(time.Time{})
	}
	argv := slices.Concat(p.of.Command, p.of.Args)
	if elsewhere := portsIn(argv); len(elsewhere) > 0 && !namesPort(p.of, p.port()) && p.isAlone() {
		f.text = fmt.Sprintf("The command of container %s has it listen on port %s, and %s asks on %d, where nothing has ever answered.", p.run.Container, strings.Join(elsewhere, " and "), p.what(), p.port())
		if !declares(p.of, p.port()) {
			f.cause = answer.ProbeWrongPort
			f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("set %s to %s", p.field("port"), elsewhere[0]))}
		}
		return f
	}
	if port, line := p.loggedPort(lines); port > 0 {
		f.weight, f.chain = fair, p.chain(at)
		return p.saidElsewhere(f, port, fmt.Sprintf("its log says that it listens on port %d: %s", port, quoteAs(answer.RoleLog, line, kept)))
	}
	if port, where := p.configuredPort(); port > 0 {
		f.weight = fair
		return p.saidElsewhere(f, port, fmt.Sprintf("%s has it listen on port %d", where, port))
	}
	if len(p.of.Command) > 0 && slices.Contains(listensNever, path.Base(p.of.Command[0])) && p.isAlone() {
		f.cause = answer.AppNotListening
		f.text = fmt.Sprintf("The main process of container %s is %s by its command, which listens on nothing, so %s is refused.", p.run.Container, path.Base(p.of.Command[0]), p.what())
		f.fixes = []answer.Fix{p.h.specFix("give it the command of the server, or take the probe away")}
		return f
	}
	return nil
}

// passesElsewhere returns the port of another probe of the container that passes: the container was Ready in some run, or
// has started.
func (p *probing) passesElsewhere() (port int, kind fact.ProbeKind) {
	for _, kind := range []fact.ProbeKind{fact.Readiness, fact.Startup, fact.Liveness} {
		other := fact.ProbeOf(p.of, kind)
		if kind == p.kind || other == nil || other.Exec != nil {
			continue
		}
		passes := func(r *history.Run) bool {
			return slices.ContainsFunc(r.Marks, func(m *fact.Fact) bool { return fact.Of[fact.Marked](m).Ready })
		}
		asked := askedBy(other).port
		port := asked.IntValue()
		for _, c := range p.of.Ports {
			if asked.StrVal != "" && c.Name == asked.StrVal {
				port = int(c.ContainerPort)
			}
		}
		if port != 0 && port != p.port() && (kind == fact.Startup || kind == fact.Liveness && p.outlives(other) || kind == fact.Readiness && slices.ContainsFunc(p.h.Runs(p.run.Container), passes)) { // others are made once the startup probe has passed
			return port, kind
		}
	}
	return 0, ""
}

// outlives reports whether the container still runs though its liveness probe, of which no failure is known, had the time
// to end it.
func (p *probing) outlives(liveness *v1.Probe) bool {
	fails := func(f *fact.Fact) bool { b := fact.Of[fact.Probed](f); return b.Probe == fact.Liveness && bad(b) }
	if p.run.Exit != nil || p.run.Started == nil || slices.ContainsFunc(p.run.Probes, fails) {
		return false
	}
	return p.h.Now.Sub(p.run.Started.When()) > fact.SoonestKill(liveness)+time.Duration(max(liveness.PeriodSeconds, 1)+liveness.TimeoutSeconds)*time.Second
}

// saidElsewhere completes a finding about a container that listens on another port than the probe asks, as something says.
func (p *probing) saidElsewhere(f *finding, port int, says string) *finding {
	where := fmt.Sprintf("where container %s has never answered", p.run.Container)
	f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("set containerPort and %s to %d, and targetPort of its Services; or have the application listen on port %d", p.field("port"), port, p.port()))}
	if declares(p.of, port) && !declares(p.of, p.port()) {
		where = fmt.Sprintf("which container %s does not declare and where nothing has ever answered", p.run.Container)
		f.cause, f.fixes = answer.ProbeWrongPort, []answer.Fix{p.h.specFix(fmt.Sprintf("set %s to %d", p.field("port"), port))}
	}
	return f.says("%s asks on port %d, %s; %s.", prose.Upper(p.what()), p.port(), where, says)
}

// configuredPort is the only port on which the container's ConfigMaps have it listen, where none of them has the probed one.
func (p *probing) configuredPort() (port int, where string) {
	if !p.isAlone() || namesPort(p.of, p.port()) || strings.Contains(p.last.Evidence.Target, "/metrics") {
		return 0, ""
	}
	number := regexp.MustCompile(fmt.Sprintf(`(?:^|\D)%d(?:\D|$)`, p.port()))
	for _, c := range p.h.Configs {
		if number.MatchString(c.Text) {
			return 0, ""
		}
		for n, line := range words.PortsSet(c.Text) {
			if port != 0 && n != port {
				return 0, ""
			}
			port, where = n, fmt.Sprintf("ConfigMap %s, key %s (“%s”),", c.Map, c.Key, line)
		}
	}
	return port, where
}

// loggedPort is the only port on which the container logs that it listens, where the probe asks on another that
// nothing but its declared ports names.
func (p *probing) loggedPort(lines []string) (port int, line string) {
	if !p.isAlone() || namesPort(p.of, p.port()) || strings.Contains(p.last.Evidence.Target, "/metrics") { // which servers rarely have at the port of their work
		return 0, ""
	}
	if port, line = words.OnlyPort(lines); port == p.port() {
		return 0, ""
	}
	return port, line
}

// shortPort are the servers whose option -p is the port: that of others is a profile, a prefix or a process ID.
var shortPort = []string{"httpd", "memcached", "mosquitto", "nc", "postgres"}

// portFlags are the options that set a server's port.
var portFlags = []string{"--port", "-port", "--http-port", "--listen-port", "--server.port", "-Dserver.port"}

// namesPort reports whether the command or a variable of a container has a port in it: the program may listen on several.
func namesPort(c *v1.Container, port int) bool {
	number := regexp.MustCompile(fmt.Sprintf(`(?:^|\D)%d(?:\D|$)`, port))
	return slices.ContainsFunc(slices.Concat(c.Command, c.Args), number.MatchString) || slices.ContainsFunc(c.Env, func(e v1.EnvVar) bool { return number.MatchString(e.Value) })
}

// portsIn are the ports that a command names by such options.
func portsIn(argv []string) (ports []string) {
	short := len(argv) > 0 && slices.Contains(shortPort, path.Base(argv[0]))
	for i, arg := range argv {
		flag, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(argv) {
			value = argv[i+1]
		}
		if n, err := strconv.Atoi(value[strings.LastIndexByte(value, ':')+1:]); err == nil && n > 0 && n < 1<<16 && (slices.Contains(portFlags, flag) || short && flag == "-p") {
			ports = append(ports, strconv.Itoa(n))
		}
	}
	return ports
}
