package why

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/redact"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// notFound is the program, or the whole line in its place, that a shell says it does not find; empty where it says no such thing.
func notFound(said string) string {
	slots := knowledge.NoCommand.Slots(said)
	return cmp.Or(slots["program"], slots["line"])
}

// probeCommandLacks: the command runs, and what it runs is not there.
func probeCommandLacks(p *probing) *finding {
	name := notFound(p.last.Evidence.Output)
	if name == "" {
		return nil
	}
	f := p.finds(answer.ProbeCommandFailed, strong)
	if strings.Contains(name, " ") {
		p.h.meant(f, p.run.Container, p.last.Evidence.Output)
	}
	return f.
		says("The command of the %s probe (%s) cannot do its work in container %s: its shell does not find %s (%s), which says nothing of the application.",
			kindWord(p.kind), prose.Brief(cmp.Or(p.last.Evidence.Target, p.command()), 80), p.run.Container, name, quote(words.Told(p.last.Evidence.Output), kept)).
		fix(p.h.inside("see what the image has", p.run.Container, "ls /bin /usr/bin"), p.h.specFix(fmt.Sprintf("correct %s in %sProbe's command, or probe with httpGet, tcpSocket or grpc, which need no program in the image", name, kindWord(p.kind))))
}

// probeCommandFails: the command runs, and ends for an error of its own, of which the
// application knows nothing.
func probeCommandFails(p *probing) *finding {
	output := p.last.Evidence.Output
	if said := strings.TrimSpace(output); strings.HasPrefix(said, "exec /") && knowledge.Any(said, knowledge.NoFile, knowledge.ExecFormat) {
		return p.notRunnable(said)
	}
	if !knowledge.ToolFails.In(output) {
		return nil
	}
	f := p.finds(answer.ProbeCommandFailed, strong).
		says("The command of %s fails itself, before it asks anything, which says nothing of the application: %s.", p.what(), quote(words.Told(output), kept)).
		fix(p.byHand("run it by hand"))
	f.fix(p.h.withoutFixes(p.of, output)...)
	return f.fix(p.h.specFix("correct the probe's command, or probe with httpGet, tcpSocket or grpc, which need no program in the image"))
}

// notRunnable: the kernel refused the command when the runtime's own process had already been started in its
// place (runc ends with 255 then), for want of what runs it.
func (p *probing) notRunnable(said string) *finding {
	return p.finds(answer.ProbeCommandFailed, strong).
		says("The command of %s is there and cannot be run, because what runs it is missing in the image: the interpreter that a script names in its first line, or a program's loader. The runtime says: %s.", p.what(), quote(said, kept)).
		fix(p.h.specFix("name another program for the probe (of a wrapper script, the program that it would run), or use an image that has the interpreter; httpGet, tcpSocket and grpc need none"), p.h.inside("see its first line", p.run.Container, shell.Linef("head -n 1 %s", strings.TrimSuffix(strings.Fields(said)[1], ":"))))
}

// readsDollars are programs, beside shells, whose arguments give $NAME a meaning of its own.
var readsDollars = []string{"awk", "gawk", "mawk", "perl", "php", "ruby", "jq", "expect", "tclsh", "psql", "mongosh", "node"}

// shellVariable is $NAME or ${NAME}. Of $(NAME) kubelet makes the value of the container's env.
var shellVariable = regexp.MustCompile(`\$\{?[A-Za-z_][A-Za-z0-9_]*\}?`)

// probeCommandVariable: nobody puts a variable's value into a command that runs without a shell.
func probeCommandVariable(p *probing) *finding {
	name := ""
	for _, arg := range p.argv() {
		if program := path.Base(arg); slices.Contains(shells, program) || slices.Contains(readsDollars, program) {
			return nil
		}
		name = cmp.Or(name, shellVariable.FindString(arg))
	}
	if name == "" {
		return nil
	}
	return p.finds(answer.ProbeCommandFailed, strong).
		says("%s is run without a shell, so %s in it stays as it is written, and no value comes in its place: %s%s.",
			prose.Upper(p.what()), name, p.how(), saying(p.last.Evidence.Output)).
		fix(p.h.specFix(`have a shell run the probe's command (["sh", "-c", "exec …"]), which puts in the value of ` + name))
}

// toAll are variables that every program of a runtime takes for its own, whoever starts it.
var toAll = []string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "NODE_OPTIONS", "LD_PRELOAD", "RUBYOPT", "PERL5OPT", "PYTHONSTARTUP"}

// withoutFixes advise that a probe's command runs without the variables of its container that
// its output names, or that count for every program of a runtime.
func (h *inquiry) withoutFixes(c *v1.Container, output string) (all []answer.Fix) {
	for _, env := range c.Env {
		if strings.Contains(output, env.Name) || slices.Contains(toAll, env.Name) {
			has := env.Name
			if env.Value != "" && !redact.IsSetting(env.Name, env.Value) {
				has += fmt.Sprintf(" (%s)", prose.Midst(env.Value, 120))
			}
			all = append(all, h.specFix(fmt.Sprintf("the probe's command has %s from the container, which is meant for the application: run it without (env -u %s COMMAND)", has, env.Name)))
		}
	}
	return all
}

// probeImpossible: the attempt itself cannot be made.
func probeImpossible(p *probing) *finding {
	ev := p.last.Evidence
	f := p.finds(answer.ProbeCommandFailed, certain)
	if ev != nil && ev.Handler == fact.Exec {
		f.text = fmt.Sprintf("The command of the %s probe (%s) cannot be run in container %s: %s.", kindWord(p.kind), prose.Brief(cmp.Or(ev.Target, p.command()), 80), p.run.Container, lastClause(p.last.Message, ev))
		does := fmt.Sprintf("correct %sProbe.exec.command of container %s, or probe with httpGet, tcpSocket or grpc, which need no program in the image", kindWord(p.kind), p.run.Container)
		if lacks := notFound(ev.Output + "\n" + ev.Error); lacks != "" {
			f.because = []string{fmt.Sprintf("The image has no program %s.", lacks)}
			does = fmt.Sprintf("use another program than %s in %sProbe.exec.command of container %s, or an image that has it; httpGet, tcpSocket and grpc need none", lacks, kindWord(p.kind), p.run.Container)
		}
		return f.fix(p.h.specFix(does), p.h.inside("see what the image has", p.run.Container, "ls /bin /usr/bin"))
	}
	if name, ok := p.namedPort(); ok {
		return p.portNotDeclared(name)
	}
	return nil
}

// portNotDeclared words that the probe names a port that its container does not declare.
func (p *probing) portNotDeclared(name string) *finding {
	f := p.finds(answer.ProbePortNameUnknown, certain).
		says("The %s probe names port %q, which container %s does not declare, so it has never been asked.", kindWord(p.kind), name, p.run.Container).
		fix(p.h.specFix(fmt.Sprintf("declare the port under that name in the ports of container %s (name: %s), or give %sProbe its number or a name that is declared%s", p.run.Container, name, kindWord(p.kind), inBrackets("", prose.Some(portNames(p.of))))))
	f.rule = "probe-command"
	return f
}

// namedPort is the port's name, if the probe uses one that its container lacks.
func (p *probing) namedPort() (string, bool) {
	name := askedBy(p.spec).port.StrVal
	return name, name != "" && !slices.Contains(portNames(p.of), name)
}

// portNames are those that a container declares.
func portNames(c *v1.Container) (names []string) {
	for _, port := range c.Ports {
		if port.Name != "" {
			names = append(names, port.Name)
		}
	}
	return names
}

// lastClause is the end of a wrapped error, where the reason stands.
func lastClause(message string, ev *fact.Evidence) string {
	if ev.ExitCode != nil {
		return fmt.Sprintf("exit code %d", *ev.ExitCode)
	}
	parts := strings.Split(message, "exec: ")
	// The name of what is not there may stand twice before the reason.
	return prose.Midst(parts[len(parts)-1], kept)
}

// probeCommandLate: the exec probe's own command does not end in time.
func probeCommandLate(p *probing) *finding {
	came, silent := p.again()
	if came != nil || p.endsElsewhen() != nil {
		return nil // it ends well, only later
	}
	nor := prose.Whether(silent != nil, fmt.Sprintf(", nor within %s when it was run once more", prose.Span(fact.Of[fact.AskedAgain](silent).Patience)), "")
	if p.h.FromAPI && !p.sleepsTooLong() && p.slowToBegin() == "" {
		return nil // whose silence that is, and whether it had CPU, nobody saw
	}
	cause := answer.ProbeCommandFailed
	if program := p.slowToBegin(); program != "" && silent == nil {
		cause, nor = answer.ProbeTimeoutTooShort, fmt.Sprintf(": it runs %s, which may take longer than that to begin", program)
	}
	return p.finds(cause, fair, silent).
		says("The command of %s does not end within its timeout of %s%s.", p.what(), prose.Span(p.timeout()), nor).
		fix(p.h.specFix(fmt.Sprintf("make the probe's command quicker, or raise %s of container %s (now %d) above that", p.field("timeoutSeconds"), p.run.Container, prose.Seconds(p.timeout()))), timed(p.byHand("see how long the command takes")))
}

// slow are programs that take a second or more to begin where situations were played (a JVM that reads sources,
// Celery's and RabbitMQ's command lines), and what runs in a JVM as they do.
var slow = regexp.MustCompile(`(?:^|[\s/'"])(java|nodetool|kafka-[\w-]+\.sh|zkServer\.sh|celery|rabbitmqctl|rabbitmq-diagnostics)\b`)

// slowToBegin is such a program that the probe's command runs, where its timeout is kubelet's default, a second, or
// less; "" where it runs none.
func (p *probing) slowToBegin() string {
	if p.timeout() > time.Second {
		return ""
	}
	if m := slow.FindStringSubmatch(p.command()); m != nil {
		return m[1]
	}
	return ""
}

// command is what an exec probe runs, as a shell takes it.
func (p *probing) command() string {
	if p.argv() == nil {
		return prose.Brief(p.last.Evidence.Target, 80)
	}
	return shell.Quote(p.argv()...)
}

// byHand returns the step that runs the probe's command in its container. One of several lines is not for a command
// line: it is in the spec.
func (p *probing) byHand(text string) answer.Fix {
	if strings.ContainsFunc(p.command(), unicode.IsControl) {
		return answer.Fix{Text: fmt.Sprintf("%s (%sProbe.exec.command of container %s)", text, kindWord(p.kind), p.run.Container), Risk: answer.Inspect}
	}
	return p.h.inside(text, p.run.Container, shell.Line(p.command()))
}

// probePath: the application answers 404 where it never answered anything else.
func probePath(p *probing) *finding {
	if p.mode != answered || p.last.Evidence.Status != 404 && p.last.Evidence.Status != 405 && p.last.Evidence.Status != 410 {
		return nil
	}
	f := p.finds(answer.ProbeWrongPath, strong)
	if p.worked() {
		f.weight = refuted
		if len(p.ever) == 0 {
			return f.says("its pod was Ready before, with the same path")
		}
		return f.says("the same path was answered well %s before", prose.Times(int(succeededTimes(p.ever))))
	}
	if p.failsBehind() {
		f.weight = weak // what is behind it may not find what the path stands for
	}
	target := cmp.Or(p.last.Evidence.Target, p.targetOfSpec())
	f.text = fmt.Sprintf("The %s probe asks for a path that container %s does not have: every attempt%s was answered with %d.",
		kindWord(p.kind), p.run.Container, prose.Whether(target == "", "", " at "+prose.Brief(target, 80)), p.last.Evidence.Status)
	if fix, because, ok := p.belowContext(); ok {
		f.because, f.fixes = []string{because}, []answer.Fix{fix}
		return f
	}
	f.fixes = []answer.Fix{
		p.h.specFix(fmt.Sprintf("set %s to a path that the application serves; if it has no health path: probe with tcpSocket on the same port", p.field("path"))),
		p.h.inside("list which of the usual paths it serves", p.run.Container, shell.Linef("sh -c %s", fmt.Sprintf(usualPaths, p.baseOf(target)))),
	}
	return f
}

// usualPaths prints which of the usual paths of health checks a server answers well.
const usualPaths = `for p in / /health /healthz /ready /readyz /live /livez /ping /status /metrics /api/health /actuator/health; do wget -q -O /dev/null %s$p && echo $p; done`

// baseOf returns the address of a probe's target without its path, on loopback if the target is not known.
func (p *probing) baseOf(target string) string {
	if scheme, rest, ok := strings.Cut(target, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		return scheme + "://" + host
	}
	return fmt.Sprintf("http://127.0.0.1:%d", p.portOfSpec())
}

// probeWantsLogin: who answers is well, and lets nobody in who does not say who it is.
func probeWantsLogin(p *probing) *finding {
	if at, complaint := p.complaint(); p.mode == answered && p.last.Evidence.Status == 403 && !p.worked() && knowledge.ForbiddenByRule.In(complaint) {
		return p.finds(answer.ProbeWrongPath, strong, at).
			says("The configuration of container %s lets others ask where %s does, and not the node: the answer is 403%s, and was never otherwise. Its log says: %s.",
				p.run.Container, p.what(), saying(p.last.Evidence.Output), quoteAs(answer.RoleLog, complaint, kept)).
			fix(p.h.specFix(fmt.Sprintf("have its configuration let the node's address ask that path, too (nginx: allow before deny all; Apache: Require ip), or probe a path that everybody may ask (%s)", p.field("path"))))
	}
	if p.mode != answered || p.last.Evidence.Status != 401 || p.worked() || p.complainsNow() {
		return nil
	}
	return p.finds(answer.ProbeWrongPath, strong).
		says("Container %s wants a login where %s asks, which sends none: the answer is 401%s, and was never otherwise.",
			p.run.Container, p.what(), saying(p.last.Evidence.Output)).
		fix(p.h.specFix(fmt.Sprintf("probe a path that needs no login (%[1]s), or have its configuration let that path in without one; or send what it asks for (%[2]s: [{name: Authorization, value: …}]), or only see that it listens (tcpSocket)", p.field("path"), p.field("httpHeaders"))))
}

// contextSet fits variables that put an application below a path.
var contextSet = regexp.MustCompile(`(?:^|_)(?:CONTEXT|BASE|ROOT|SUB|URL)_?(?:PATH|PREFIX)$`)

// belowContext is what to do where the container's log or variables say that the application is below a path, and
// the probe asks beside that.
func (p *probing) belowContext() (fix answer.Fix, because string, ok bool) {
	if p.spec == nil || p.spec.HTTPGet == nil {
		return fix, "", false
	}
	at, says := "", ""
	_, lines := p.run.Said(time.Time{})
	for _, line := range slices.Backward(lines) {
		if at = logline.ContextPath(line); at != "" {
			says = fmt.Sprintf("Its log says that the application is below %s: %s.", at, quoteAs(answer.RoleNoted, logline.Message(line), quoted))
			break
		}
	}
	if at == "" {
		for _, e := range p.of.Env {
			if contextSet.MatchString(e.Name) && strings.HasPrefix(e.Value, "/") && len(e.Value) > 1 {
				at, says = strings.TrimSuffix(e.Value, "/"), fmt.Sprintf("Variable %s puts the application below %s.", e.Name, e.Value)
			}
		}
	}
	asked := p.spec.HTTPGet.Path
	if at == "" || asked == at || strings.HasPrefix(asked, at+"/") {
		return fix, "", false
	}
	return p.h.specFix(fmt.Sprintf("set %s of container %s to %s%s", p.field("path"), p.run.Container, at, strings.TrimSuffix(asked, "/"))), says, true
}

// failsBehind says whether the container's log tells now of an error that does not name the path, nor
// a file that is missing, as servers do of any path that they do not have.
func (p *probing) failsBehind() bool {
	if !p.complainsNow() {
		return false
	}
	_, said := p.complaint()
	_, target, _ := strings.Cut(p.last.Evidence.Target, "://")
	_, asked, _ := strings.Cut(target, "/")
	return !knowledge.NoFile.In(said) && (asked == "" || !strings.Contains(said, "/"+asked))
}

// probeUnknownService: the health service answers, and does not know the name.
func probeUnknownService(p *probing) *finding {
	if p.worked() || !knowledge.ServiceNotKnown.In(p.last.Message) {
		return nil
	}
	return p.finds(answer.ProbeWrongPath, fair).
		says("%s asks for a gRPC service that container %s does not have: its health service answers, and does not know that name.", prose.Upper(p.what()), p.run.Container).
		fix(p.h.specFix("give the probe's grpc.service a name that the application registers, or leave it out"))
}

// probeWrongScheme: what comes back shows that the other of HTTP and HTTPS is spoken there.
func probeWrongScheme(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || p.worked() || p.readyMeanwhile() {
		return nil
	}
	f, scheme := p.finds(answer.ProbeWrongScheme, strong), "HTTPS"
	switch {
	case knowledge.NotTLS.In(ev.Error):
		scheme = "HTTP"
		f.text = fmt.Sprintf("%s uses HTTPS, and the application speaks plain HTTP there.", prose.Upper(p.what()))
	case p.mode == answered && p.asksTLS():
		f.text = fmt.Sprintf("%s uses plain HTTP, and the application wants HTTPS there%s.", prose.Upper(p.what()), saying(ev.Output))
	case knowledge.TLSAlert.In(ev.Error):
		f.text = fmt.Sprintf("%s uses plain HTTP, and the application speaks TLS there: it answers with an alert.", prose.Upper(p.what()))
	default:
		return nil
	}
	return f.fix(p.h.specFix("set " + p.field("scheme") + " to " + scheme))
}

// wantsCertificate fits the TLS alert of a server to a client that presents no certificate.
var wantsCertificate = regexp.MustCompile(`\btls: (?:bad certificate|certificate required)`)

// probeWrongProtocol: what comes back is another protocol.
func probeWrongProtocol(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || p.worked() {
		return nil
	}
	f := p.finds(answer.ProbeProtocol, strong)
	f.fixes = []answer.Fix{p.h.specFix("have the probe speak what the port speaks, or use tcpSocket")}
	switch {
	case p.failsTLS(), knowledge.NotTLS.In(ev.Error):
		return nil
	case p.mode == mismatch && wantsCertificate.MatchString(ev.Error):
		f.text = fmt.Sprintf("Port %d of container %s demands a client certificate, and kubelet has none to present for %s: %s.", p.port(), p.run.Container, p.what(), prose.Brief(ev.Error, 100))
		f.fixes = []answer.Fix{
			p.h.specFix(fmt.Sprintf("probe a port for health or metrics that speaks plain HTTP (etcd has one by --listen-metrics-urls=http://0.0.0.0:2381, with /health): set %s to it, and remove %s", p.field("port"), p.field("scheme"))),
			p.h.specFix(fmt.Sprintf("or replace httpGet of %sProbe by tcpSocket on port %d, or by a command that presents the client's certificate (exec; etcd: etcdctl endpoint health with --cacert, --cert and --key)", kindWord(p.kind), p.port())),
		}
	case p.mode == mismatch:
		f.text = fmt.Sprintf("What answers %s does not speak its protocol: %s.", p.what(), prose.Brief(ev.Error, 100))
	case ev.Handler == fact.GRPC && p.mode == notServing && knowledge.NoHealthService.In(p.last.Message):
		f.text = fmt.Sprintf("The gRPC server of container %s has no health service, which %s asks.", p.run.Container, p.what())
	case ev.Handler == fact.GRPC && ev.Timeout && ev.Connect > 0:
		f.weight = fair
		f.text = fmt.Sprintf("Port %d accepts connections within %s and never speaks gRPC on them, so %s fails.", p.port(), prose.Span(ev.Connect), p.what())
	default:
		return nil
	}
	return f
}
