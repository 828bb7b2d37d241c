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
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// What only somebody on the node sees is open where the API server alone was asked. This file
// has what the API's times and kubelet's words allow instead.

// began is when kubelet took the pod in.
func (h *inquiry) began() time.Time {
	if f, _, ok := fact.Latest[fact.Admitted](h.Facts); ok {
		return f.When()
	}
	return h.FirstSeen()
}

// ifAlike is how long it takes to come to the end of a run if all runs before were like
// it, with the waits between them, which begin with none and 10 s (kubelet's back-off).
func (e ending) ifAlike() time.Duration {
	spent, backOff := e.lasted(), time.Duration(0)
	for range e.run.Attempt {
		spent += e.lasted() + backOff + 5*time.Second
		backOff = min(max(2*backOff, 10*time.Second), 5*time.Minute)
	}
	return spent
}

// aWhile is how much longer something took than it would have, for that to tell of another run.
const aWhile = 30 * time.Second

// soEachTime says whether a container has ended several times as in the run that is over,
// which nobody who sends a signal would do: all runs before took as long as this one.
func (e ending) soEachTime() bool {
	s := &e.h.Object.Spec
	shares := s.HostPID || ptr.Deref(s.ShareProcessNamespace, false)
	return e.run.Attempt > 0 && !shares && e.at.Sub(e.h.began()) <= e.ifAlike()+aWhile
}

// ranWell says whether the container has run for much longer at some time than in the run that is over, and
// since when it can have failed so; only the API's times tell of it.
func (e ending) ranWell() (since time.Time, ok bool) {
	alike := e.ifAlike()
	return e.at.Add(-alike), e.h.FromAPI && e.h.Object != nil && e.at.Sub(e.h.began()) > alike+aWhile
}

// sawNoOOM says whether no process of the container was OOM-killed: by the kernel's counters, or, where
// nobody looked at them, by the runtime's word.
func (e ending) sawNoOOM() bool {
	return prose.Whether(e.h.FromAPI, e.exit.RuntimeReason == "Error" || e.exit.RuntimeReason == "Completed", e.exit.OOMKnown && e.exit.OOMKills == 0)
}

var (
	// asking matches the programs of probes that ask a server. Those of its group have to be told which; the others ask their
	// own machine else.
	asking = regexp.MustCompile(`\b(?:(curl|wget|nc|mongo|mongosh|nslookup|dig|ping|grpc_health_probe)|psql|pg_isready|mysql|mysqladmin|mariadb|mariadb-admin|redis-cli)\b|://|\blocalhost\b|\b127\.0\.0\.1\b`)
	// askedHosts matches the hosts that a command line names.
	askedHosts = regexp.MustCompile(`(?:\s-[hH]\s*|\s--host[= ]|://(?:[^\s/@]*@)?|-addr[= ]|\s@)["']?(\[[^\]]*\]|[^\s:/"'|;&)]+)`)
)

// asksFar reports whether the probe's command asks a server that may not be its own container: the answer, or the
// silence, may be of that one.
func (p *probing) asksFar() bool {
	if len(p.argv()) == 0 {
		return false
	}
	asks := asking.FindAllStringSubmatch(p.command(), -1)
	if len(asks) == 0 {
		return false
	}
	here := strings.Contains(p.command(), "localhost") || strings.Contains(p.command(), "127.0.0.1")
	for _, host := range askedHosts.FindAllStringSubmatch(p.command(), -1) {
		if here = loopback(strings.Trim(host[1], "[]")); !here {
			return true
		}
	}
	tells := slices.ContainsFunc(asks, func(m []string) bool { return m[1] != "" }) // it has to be told whom to ask
	compares := strings.Contains(p.command(), "grep") && !p.complainsNow()          // what it looks for may be what is wrong
	return tells && !here || compares || !p.isAlone()
}

// isAlone says that only the container itself can have answered: no other one, no proxy and nobody elsewhere.
func (p *probing) isAlone() bool {
	o := p.h.Object
	if o == nil {
		return false
	}
	sidecar := slices.ContainsFunc(o.Spec.InitContainers, func(c v1.Container) bool { return p.h.isSidecar(c.Name) })
	return !p.shared() && !sidecar && !o.Spec.HostNetwork && (p.spec == nil || p.spec.HTTPGet == nil || p.spec.HTTPGet.Host == "")
}

// openAnswer says whether a failure of which kubelet alone told may be another's than the application's: of an
// HTTP answer it tells the status, and of a command what it put out.
func (p *probing) openAnswer() bool {
	ev := p.last.Evidence
	if !p.h.FromAPI || ev == nil {
		return false
	}
	switch p.mode {
	case exitCode:
		output := strings.TrimSpace(ev.Output)
		_, _, unreached := words.Unreached(output)
		return unreached || strings.HasSuffix(output, "Killed") || p.asksFar() || output == "" && p.mayBeKilled()
	case answered:
		if p.saysOfHost() {
			return false
		}
		if ev.Status == 502 || ev.Status == 504 || ev.Status == 408 || ev.Status == 429 || ev.Status == 400 && !p.wasReady() && !p.complainsNow() { // 400 is the answer to plain HTTP at a port with TLS, too
			return true
		}
	case redirects, notServing:
	default:
		return false
	}
	return !p.isAlone()
}

// openBelow is the verdict on a probe of a pod that is ready, of which kubelet tells failures alone: where they have gone
// on for longer than it takes to count for something, some must have passed between them.
func (h *inquiry) openBelow(p *probing, ready time.Time) answer.Verdict {
	since := ready
	for _, f := range p.run.Probes {
		if b := fact.Of[fact.Probed](f); b.Probe == p.kind && bad(b) && !f.When().Before(ready) {
			since = f.When()
			break
		}
	}
	what := prose.Upper(p.what()) + " failed lately: " + p.how() + "."
	if p.spec == nil || p.until.Sub(since) <= time.Duration(max(p.spec.FailureThreshold, 1)+1)*(p.period()+p.timeout()) {
		return undecided(p.run.Container, what, p.chain(), nil, "", h.describeFix())
	}
	f := finding{cause: answer.None, rule: "no-symptom", weight: fair, chain: p.chain(), text: what, because: []string{"Some attempts must have succeeded in between: the failures go back further than it takes to count as failed."}}
	f.fixes = []answer.Fix{p.h.logsFix(p.run), p.h.specFix(fmt.Sprintf("if those answers are right, and it is to take no traffic meanwhile: lower %s", p.field("failureThreshold")))}
	if p.kind == fact.Liveness {
		f.fixes = f.fixes[:1]
	}
	return f.verdict(p.run.Container, nil)
}

// mayBeKilled says whether the kernel may have ended the probe's command for memory, and nothing shows that it did not.
func (p *probing) mayBeKilled() bool {
	limited := !p.of.Resources.Limits.Memory().IsZero() || p.h.Object != nil && p.h.Object.Spec.Resources != nil
	return limited && (p.run.Exit == nil || !newEnding(p.h, p.run).sawNoOOM())
}

// listensNever are programs that only wait.
var listensNever = []string{"sleep", "tail", "cat", "pause"}

// unlooked reports whether the port refuses connections and no look at the sockets exists, by the API alone.
func (p *probing) unlooked() bool {
	_, _, looked := p.look()
	return !looked && p.mode == refused && !p.worked() && p.of.Name != "" && p.h.FromAPI
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
	if s, ok := bindsLoopback(p.of); ok && p.isAlone() {
		f.weight = fair
		return f.says("Container %s is told to listen on loopback only (%s %s); probes and Services come from outside and are refused.", p.run.Container, s.name, s.value)
	}
	return nil
}

// bindOption fits the name of an option or a variable that says on which address to listen.
var bindOption = regexp.MustCompile(`(?i)(?:^|[-_. ])(?:bind|listen|host|address|addr|interface|ip)(?:[-_.]?(?:addr|address|host|ip))?$`)

// bindsLoopback is the setting with which a container's spec has its program listen on loopback alone.
func bindsLoopback(c *v1.Container) (setting, bool) {
	for _, s := range settingsOf(c) {
		if bindOption.MatchString(s.name) && loopback(s.value) {
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
	if !p.unlooked() || p.run.Started == nil || !p.isAlone() {
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
			says("Container %s answers its %s probe on port %d, and refuses connections on port %d, where %s asks.", p.run.Container, kindWord(kind), port, p.port(), p.what()).
			fix(p.h.specFix(fmt.Sprintf("set %s to %d, or have the application listen on port %d, too", p.field("port"), port, p.port())))
	}
	f := p.finds(answer.AppListensElse, strong)
	f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("have the application listen on all addresses (0.0.0.0 or ::) and on port %d, or correct %s", p.port(), p.field("port")))}
	at, lines := p.run.Said(time.Time{}) // also before the attempts failed: it is said once, at the start
	if at == nil && p.run.Exit != nil {
		lines = fact.Of[fact.Exited](p.run.Exit).LastLines
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

// passesElsewhere is the port at which another probe of the container asks over the network, and passes: the container was
// Ready by it in some run, or has started.
func (p *probing) passesElsewhere() (port int, kind fact.ProbeKind) {
	for _, kind := range []fact.ProbeKind{fact.Readiness, fact.Startup} {
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
		if port != 0 && port != p.port() && (kind == fact.Startup || slices.ContainsFunc(p.h.Runs(p.run.Container), passes)) { // others are made once the startup probe has passed
			return port, kind
		}
	}
	return 0, ""
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
	for _, l := range lines {
		n, beside := words.ListensOn(l)
		switch {
		case n == 0:
			continue
		case beside, n == p.port(), port != 0 && n != port:
			return 0, ""
		}
		port, line = n, l
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

// oomByStatus: the runtime says OOMKilled of an end with the exit code of SIGKILL, which nobody ordered.
func oomByStatus(e ending) *finding {
	child := slices.ContainsFunc(e.exit.LastLines, knowledge.ChildKilled.In)
	if e.exit.ExitCode != 137 { // the mark of the runtime may be of an earlier child that the main process outlived
		child = e.exit.ExitCode != 0 && knowledge.ChildKilled.In(e.lastWord())
	}
	if !e.h.FromAPI || e.exit.RuntimeReason != "OOMKilled" || e.spec.Name == "" || e.exit.ExitCode != 137 && !child {
		return nil
	}
	f := e.oom(nil)
	f.weight = strong
	if child && e.limit() > 0 && len(e.h.inMemory(e.run.Container)) == 0 {
		f.cause = answer.MemoryLimitChild
		return f.says("A child process of container %s was OOM-killed: the container reached its memory limit of %s. By its log the main process lost a child to SIGKILL, and ended with exit code %d because of that.", e.run.Container, prose.Size(e.limit()), e.exit.ExitCode)
	}
	if whole := e.h.Object.Spec.Resources; whole != nil && !whole.Limits.Memory().IsZero() {
		if e.limit() > 0 {
			return f.possibly() // whose limit it was, only the kernel tells
		}
		f.cause = answer.PodMemoryLimit
		f.text = fmt.Sprintf("Container %s was OOM-killed; it has no limit of its own, and all containers of its pod together have one of %s.", e.run.Container, whole.Limits.Memory())
		f.fixes = []answer.Fix{e.h.limitsFix("raise the pod's memory limit, or bound its containers one by one"), e.h.inspect("see which container uses most", e.h.kubectl("top pod %s --containers", e.h.Pod.Name))}
	} else if e.limit() == 0 {
		f.cause, f.text = answer.NodeOutOfMemory, "the machine, or all pods together, had no more memory"
		return f.possibly()
	}
	if len(e.h.inMemory(e.run.Container)) > 0 {
		return f.possibly() // files in memory may have filled it
	}
	if handsOn(e.spec) && !replaced(slices.Concat(e.spec.Command[1:], e.spec.Args)) {
		return f.possibly() // it may have taken a child
	}
	return f
}

// killedByLog: the last that a container with a memory limit said is that a process of its was killed, and nothing shows the
// kernel's record.
func killedByLog(e ending) *finding {
	if !e.h.FromAPI || e.limit() == 0 || e.exit.RuntimeReason == "OOMKilled" || !knowledge.ChildKilled.In(e.lastWord()) {
		return nil
	}
	f := e.oom(nil)
	f.cause, f.weight = answer.MemoryLimitChild, strong
	return f.says("A child process of container %s was killed by SIGKILL, most likely because the container reached its memory limit of %s. The last line of its log says: %s.", e.run.Container, prose.Size(e.limit()), quoteAs(answer.RoleLog, e.lastWord(), kept))
}

// leastKilled is the minimum count of killed workers: a single one may have been killed by hand.
const leastKilled = 2

// asksToEnd fits what a server logs before it kills a worker itself.
var asksToEnd = regexp.MustCompile(`(?i)\bWORKER TIMEOUT\b|\bworker exceeded|\btime(?:d)? ?(?:out|limit)\b.{0,40}\bkill`)

// workersKilled is the newest line of a log by which a container's workers are killed by signal 9 again and again, and not
// by the container itself.
func workersKilled(lines []string) (newest string, ok bool) {
	n := 0
	for _, line := range lines {
		switch {
		case asksToEnd.MatchString(line):
			return "", false
		case knowledge.WorkerKilled.In(line):
			newest, n = line, n+1
		}
	}
	return newest, n >= leastKilled
}

// probeWorkersKilled: workers of a container with a memory limit are killed by signal 9 again and again. The kernel's record
// is missing by the API alone, but the OOM killer is the only usual reason for that pattern.
func probeWorkersKilled(p *probing) *finding {
	limit := p.of.Resources.Limits.Memory().Value()
	if !p.h.FromAPI || limit == 0 || p.mode == impossible || p.mode == mismatch {
		return nil
	}
	at, lines := p.log()
	line, ok := workersKilled(lines)
	if !ok {
		return nil
	}
	return p.finds(answer.MemoryLimitChild, strong, at).
		says("Worker processes of container %s are killed by signal 9 again and again, most likely because the container reaches its memory limit of %s. Its log says: %s.", p.run.Container, prose.Size(limit), quoteAs(answer.RoleLog, logline.Message(line), kept)).
		fix(p.h.memoryFixes(p.run, oomRecord{Limit: limit})...)
}

// probeWorkersCrashed: a worker of the container crashed since its probe began to fail, by the container's log.
func probeWorkersCrashed(p *probing) *finding {
	at, _ := p.log()
	if !p.h.FromAPI || at == nil || p.mode == impossible || p.mode == mismatch || p.mode == refused {
		return nil
	}
	lines := history.SaidSince(at, p.lately(at))
	i := words.LastOf(lines, knowledge.WorkerCrashed)
	if i < 0 {
		return nil
	}
	f := p.finds(answer.ChildProcessEnded, strong, at)
	p.h.meant(f, p.run.Container, lines[i])
	return f.says("Worker processes of container %s crash while its probe fails. Its log says: %s.", p.run.Container, quoteAs(answer.RoleLog, logline.Message(lines[i]), kept))
}

// replaced says whether the script that a shell is given ends with exec of a program, whatever it
// does before, and leaves nothing running beside that. A script that is not as simple as that is not read.
func replaced(args []string) bool {
	if len(args) < 2 || !asScript.MatchString(args[0]) {
		return false
	}
	script := strings.TrimRight(args[1], "; \n")
	plain := strings.NewReplacer("&&", "", "2>&1", "", ">&2", "").Replace(script)
	if strings.ContainsAny(plain, "&|`") || strings.Contains(script, "/dev/shm") || strings.Contains(script, "$(") || strings.Contains(script, "trap ") {
		return false
	}
	statements := strings.FieldsFunc(script, func(r rune) bool { return r == ';' || r == '\n' })
	if len(statements) == 0 {
		return false
	}
	ends := strings.TrimSpace(statements[len(statements)-1])
	return strings.HasPrefix(ends, "exec ") && strings.Count(ends, "'")%2 == 0 && strings.Count(ends, `"`)%2 == 0
}

// unread says whether the log of a run that ended could not be read, so that nobody knows what it said.
func (e ending) unread() bool {
	return slices.Contains(e.h.Unread, e.run.Exit.ID) && strings.TrimSpace(e.exit.Message) == ""
}

// sleepsTooLong says whether the first that a probe's command does is to sleep for longer than it may take.
func (p *probing) sleepsTooLong() bool {
	command := p.argv()
	if len(command) == 3 && slices.Contains(shells, path.Base(command[0])) && command[1] == "-c" {
		command = strings.Fields(command[2])
	}
	if len(command) < 2 || path.Base(command[0]) != "sleep" || len(command) > 2 && command[2] == "&" {
		return false
	}
	n, err := strconv.ParseFloat(strings.TrimRight(command[1], "s;"), 64)
	return err == nil && n >= p.timeout().Seconds()
}

// young is how long a pod may be made before it is said that something holds it.
const young = 30 * time.Second

// stillCreated is the verdict on a pod that is made for so long that something holds it of which no event
// tells; ok is false of one that is young.
func (h *inquiry) stillCreated(container string) (v answer.Verdict, ok bool) {
	since := h.Now.Sub(h.began())
	if !h.FromAPI || since < young {
		return v, false
	}
	what := fmt.Sprintf("The pod has been started for %s and is not ready, and nothing tells what holds it.", prose.Span(since))
	for _, name := range h.Containers() {
		run := h.Last(name)
		if run == nil || run.Started != nil || len(run.Images) == 0 {
			continue
		}
		if at := run.Images[len(run.Images)-1]; at.Body.Kind() == (fact.ImagePulling{}).Kind() {
			what = fmt.Sprintf("The image of container %s has been downloading for %s.", name, prose.Span(h.Now.Sub(at.When())))
		}
	}
	return undecided(container, what, nil, nil, "", h.describeFix()), true
}

// byAPI makes an answer's verdicts those of an asker who saw what the API shows: nobody recorded a
// decision, its facts are in no journal, and what is open an agent would have seen.
func (h *inquiry) byAPI(a *answer.Answer) {
	if !h.FromAPI {
		return
	}
	for i := range a.Verdicts {
		v := &a.Verdicts[i]
		if v.Certainty == answer.Recorded {
			v.Certainty, v.Rule = answer.Inferred, "act-inferred"
		}
		if v.Cause == answer.CauseUnknown {
			kind := prose.Whether(v.Probe != "", answer.NotReady, a.Symptoms[i].Kind)
			v.Text += " An agent on the node (kubectl why install) would have seen " + unseenBy[kind] + "."
		}
		if v.Cause == answer.None && a.Symptoms[i].Kind != answer.Completed {
			v.Certainty, v.Rule = answer.Unknown, ""
		}
		v.Chain = slices.DeleteFunc(v.Chain, func(l answer.Link) bool { return l.Kind == fact.Looked{}.Kind() }) // a log that was read is no event
		for j := range v.Chain {
			v.Chain[j].Fact = 0
		}
		for _, notes := range [][]answer.Note{v.Contributing, v.RuledOut} {
			for j := range notes {
				notes[j].Facts = nil
			}
		}
	}
	for i := range a.Reaches {
		a.Reaches[i].Fact = 0
	}
	for i := range a.Complaints {
		a.Complaints[i].Fact = 0
	}
	for i := range a.Changes {
		a.Changes[i].Fact = 0
	}
}

// unseenBy is what somebody on the node would have seen, by what is to be explained.
var unseenBy = map[answer.SymptomKind]string{
	answer.Restarted: "who ended it, with which signal, and what the kernel killed", answer.Failed: "who ended it, with which signal, and what the kernel killed",
	answer.Completed: "whether it was told to end", answer.NotStarting: "which step it is at, and what that waits for",
	answer.NotReady: "each attempt of its probe, what it listened on, and what it waited for", answer.Healthy: "each attempt of its probes, and what goes on in it",
	answer.Terminating: "which container does not end, or which volume does not come off", answer.Disappeared: "what was decided, and from what",
	answer.Evicted: "what the node was short of, and which pods used it", answer.UnknownNode: "what became of its containers",
	answer.Pending: "whether its kubelet took it up", answer.NotServing: "who listens in its pods",
}
