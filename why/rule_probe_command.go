package why

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
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

// probeCommandNoLogin: the client that a probe runs gives its own server no password.
func probeCommandNoLogin(p *probing) *finding {
	if p.h.askedBy(p.last.Evidence.Target) != "" {
		return nil
	}
	switch output := p.last.Evidence.Output; {
	case knowledge.Any(output, knowledge.WrongPassword, knowledge.NoDatabase, knowledge.NoSuchCommand) && len(p.before) == 0:
		return p.commandRefused()
	case p.worked() || !knowledge.GaveNoPassword.In(output):
		return nil
	}
	with := ""
	if i := slices.IndexFunc(p.of.Env, func(e v1.EnvVar) bool { return passwordVariable.MatchString(e.Name) }); i >= 0 {
		with = fmt.Sprintf(", such as the one in its variable %s", p.of.Env[i].Name)
	}
	return p.finds(answer.ProbeCommandFailed, strong).
		says("The command of the %s probe (%s) gives the server of container %s no password, and that wants one: it %s%s. That says nothing of whether the application is well.",
			kindWord(p.kind), prose.Brief(cmp.Or(p.last.Evidence.Target, p.command()), 80), p.run.Container, commandSaid(p.last.Evidence), saying(p.last.Evidence.Output)).
		fix(p.h.specFix(fmt.Sprintf("have the command of %sProbe give a password%s, by a shell that puts it in ([sh, -c, …]: MariaDB -p\"$VARIABLE\" or MYSQL_PWD, Redis REDISCLI_AUTH, PostgreSQL PGPASSWORD); or use one that needs none (mariadb-admin ping, pg_isready, tcpSocket)", kindWord(p.kind), with)))
}

// commandRefused is of a command whose login its own server does not take: that one is up, and says so.
func (p *probing) commandRefused() *finding {
	told := words.Told(p.last.Evidence.Output)
	f := p.finds(answer.ProbeCommandFailed, strong).
		says("The server of container %s is up, and refuses what the command of the %s probe asks it with (%s)%s. That says nothing of whether the application is well.",
			p.run.Container, kindWord(p.kind), prose.Brief(cmp.Or(p.last.Evidence.Target, p.command()), 80), saying(p.last.Evidence.Output))
	p.h.namedFile(f, p.run.Container, told)
	p.h.meant(f, p.run.Container, told)
	return f.fix(p.h.inside("see which variables it is given, by their names: one that its command takes the login from may be missing, or called otherwise", p.run.Container, "sh -c 'env | cut -d= -f1'"))
}

// passwordVariable fits the name of a variable with a password.
var passwordVariable = regexp.MustCompile(`(?:PASSWORD|PASSWD|_PASS|AUTH)$`)

// probeCommandItself: what the command asks is well, or was not asked.
func probeCommandItself(p *probing) *finding {
	output := p.last.Evidence.Output
	at, complaint := p.complaint()
	f := p.finds(answer.ProbeCommandFailed, strong)
	probe := kindWord(p.kind) + "Probe"
	switch files := p.wantedFiles(); {
	case p.emptied() != "":
		name := p.emptied()
		f.text = fmt.Sprintf("Kubernetes puts nothing in place of $(%s) in the command of %s: in a probe it knows only variables whose value stands in the spec itself, and %[1]s has its from elsewhere. So the command fails, whether the application is well or not.", name, p.what())
		f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("write $%s in place of $(%s) in %s.exec.command, for a shell to put it in ([sh, -c, …]); or probe with httpGet or tcpSocket, which ask the pod's address", name, name, probe))}
	case p.takenApart() != "":
		f.text = fmt.Sprintf("The shell of the command of %s runs the first word after -c alone (%s): what stands behind it in the list are the shell's own arguments, and no words of that command%s.", p.what(), p.takenApart(), saying(output))
		f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("write what stands after -c in %s.exec.command as one string: [%s, %s, %q], or leave the shell away", probe, p.argv()[0], p.argv()[1], strings.Join(p.argv()[2:], " ")))}
	case knowledge.NoDevTCP.In(output):
		f.text = fmt.Sprintf("The command of %s opens a connection by /dev/tcp, which bash knows and the shell that runs it does not, and asks nothing: %s.", p.what(), quote(words.Told(output), kept))
		f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("probe with tcpSocket or httpGet in place of %s.exec, or have bash run the command, where the image has it", probe))}
	case knowledge.ShellFault.In(output):
		f.text = fmt.Sprintf("The command of %s fails for itself, by its own script, which says nothing of whether the application is well: %s.", p.what(), quote(words.Told(output), kept))
		f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("correct the script of %s.exec.command, or give it what it reads", probe))}
		p.h.namedFile(f, p.run.Container, words.Told(output))
		p.h.meant(f, p.run.Container, words.Told(output))
	case knowledge.NoCommand.In(output):
		return nil // what crashed after that was asked for nothing
	case knowledge.Crashed.In(output):
		f.text = fmt.Sprintf("A program that the command of %s runs crashed (%s), which says nothing of the application.", p.what(), quote(words.Told(output), kept))
		f.fixes = []answer.Fix{p.byHand("run it by hand"), p.h.specFix(fmt.Sprintf("probe with httpGet, tcpSocket or grpc in place of %s.exec, which need no program in the image", probe))}
	case knowledge.OtherCookie.In(output), knowledge.OtherCookie.In(complaint) && knowledge.OwnServerAway.In(output):
		f.chain = p.chain(at)
		f.text = fmt.Sprintf("The command of %s asks with another Erlang cookie than that of the server of container %s, which turns it away: %s.", p.what(), p.run.Container, quote(words.Told(output), kept))
		f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("have the command of %s use the server's cookie: the same HOME (that of its .erlang.cookie), RABBITMQ_ERLANG_COOKIE in the container's env, or --erlang-cookie", probe))}
	case p.ownSocket(output) != "":
		own, asked := p.ownSocket(output), knowledge.NoSocketThere.Slots(output)["socket"]
		f.text = fmt.Sprintf("The command of %s asks at the socket %s, and the server of container %s, which is up, has its own at %s: %s. That says nothing of whether the application is well.", p.what(), asked, p.run.Container, own, quote(words.Told(output), kept))
		f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("have the command of %s ask at the server's socket, %s (MariaDB: --socket, or [client] socket= in its configuration; PostgreSQL: -h with its folder), or over TCP (-h 127.0.0.1)", probe, own))}
	case knowledge.NoReply.In(output) && at == nil:
		f.weight = fair
		f.text = fmt.Sprintf("The command of %s asks the workers by the broker, and none answers it (%s), while the log of container %s tells of no trouble.", p.what(), quote(words.Told(output), kept), p.run.Container)
		f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("see that the command of %s can be answered: worker_enable_remote_control of Celery's configuration is not False, -d names the worker as its log does (celery@HOSTNAME, which a shell puts in), -A is the worker's application, and its pool is not busy (solo answers nothing meanwhile); or probe by a file that the worker touches", probe))}
	case knowledge.NoAliveJob.In(output) && at == nil:
		f.weight = fair
		f.text = fmt.Sprintf("The command of %s asks Airflow's database for a job of this host that is alive, and finds none (%s), while the log of container %s tells of no trouble.", p.what(), quote(words.Told(output), kept), p.run.Container)
		f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("see that the command of %s asks for the job as the process registers it: --hostname has to be what [core] hostname_callable gives (AIRFLOW__CORE__HOSTNAME_CALLABLE: the host's name, or its address), and --job-type its own; airflow jobs check --local takes both from the host itself", probe))}
	case len(files) == 1 && knowledge.SaysWell.In(output):
		f.text = fmt.Sprintf("The command of %s wants the file %s, which is not there, and what it asks before says that it is well: %s.", p.what(), files[0], quote(words.Told(output), kept))
		f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("if nothing makes %s in container %s (an image of another maker does, maybe), take it out of %s.exec.command", files[0], p.run.Container, probe))}
	case len(files) == 1 && at == nil && p.neverMade(files[0], output):
		f.weight = fair
		f.text = fmt.Sprintf("The command of %s wants the file %s, which nothing has made, while the log of container %s says that it is ready, and tells of no trouble%s.", p.what(), files[0], p.run.Container, saying(output))
		f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("see who is to make %s in container %s, and whether its configuration or its command's flags turn that off (Celery touches a file for its heartbeat only without --without-heartbeat); if nothing does, take it out of %s.exec.command", files[0], p.run.Container, probe))}
	default:
		return nil
	}
	return f
}

// probeCommandOutlives: what the command starts lives on when the command is ended for its timeout, and fills the memory.
func probeCommandOutlives(p *probing) *finding {
	left := p.h.leftBehind(p.run)
	if left.kill == nil || left.kind != p.kind {
		return nil
	}
	return &finding{
		cause: answer.ProbeCommandFailed, weight: certain, chain: append(p.chain(), link(left.kill)),
		text:  left.String() + fmt.Sprintf(" As the kernel first OOM-killed one of the container's processes, %d of them were left.", left.count),
		fixes: p.h.endsWhatItStarts(p.run.Container, p.kind, p.timeout()),
	}
}

// leftovers are processes that attempts of an exec probe started and that outlived their timeout.
type leftovers struct {
	container string
	kind      fact.ProbeKind
	command   string
	count     int
	kill      *fact.Fact // the OOM kill whose table shows them; nil: there are none
}

func (l leftovers) String() string {
	return fmt.Sprintf("The %[2]s probe of container %[3]s leaks processes (%[1]s): its timeout ends only the command, and not what that started. They fill the container's memory.", prose.Brief(l.command, 40), kindWord(l.kind), l.container)
}

// leftBehind returns what an exec probe left in the memory of a run, by the table of its first OOM kill: several
// processes of a name that the probe's command has and the main process has not, and no more than attempts had timed out.
func (h *inquiry) leftBehind(run *history.Run) leftovers {
	if len(run.OOMKills) == 0 || run.Started == nil {
		return leftovers{}
	}
	kill, main := run.OOMKills[0], fact.Of[fact.Started](run.Started).PID
	for _, kind := range []fact.ProbeKind{fact.Readiness, fact.Liveness, fact.Startup} {
		probe, late := fact.ProbeOf(h.Spec(run.Container), kind), 0
		if probe == nil || probe.Exec == nil {
			continue
		}
		for _, f := range run.Probes {
			if b := fact.Of[fact.Probed](f); b.Probe == kind && b.Evidence != nil && b.Evidence.Timeout && f.Seen.Before(kill.When()) {
				late++
			}
		}
		count, own := map[string]int{}, ""
		for _, task := range fact.Of[fact.OOMKilled](kill).Tasks {
			if count[task.Command]++; task.PID == main {
				own = task.Command
			}
		}
		for _, task := range fact.Of[fact.OOMKilled](kill).Tasks {
			if name, n := task.Command, count[task.Command]; n >= usual && n <= late+1 && name != own && runsProgram(probe.Exec.Command, name) {
				return leftovers{run.Container, kind, name, n, kill}
			}
		}
	}
	return leftovers{}
}

// runsProgram reports whether a command runs a program of that name, which the kernel cuts after 15 bytes: itself, by a
// shell, or by timeout.
func runsProgram(command []string, name string) bool {
	const before = `(?:^|\n|[;&|(]|\b(?:exec|then|do|else)\b|\btimeout(?:\s+-\S+)*(?:\s+[A-Z]+)?\s+\d[\d.]*[smhd]?)\s*(?:[\w./-]*/)?`
	end := prose.Whether(len(name) == 15, "", `(?:[\s;&|)]|$)`)
	program := regexp.MustCompile(before + regexp.QuoteMeta(name) + end)
	text := strings.Join(command, " ")
	if at := slices.IndexFunc(command, func(arg string) bool { return strings.HasPrefix(arg, "-") && strings.HasSuffix(arg, "c") }); at > 0 && at+1 < len(command) && slices.Contains(shells, path.Base(command[0])) {
		text = command[0] + "\n" + command[at+1]
	}
	return program.MatchString(text)
}

// endsWhatItStarts is what to do about a probe's command that leaves processes behind.
func (h *inquiry) endsWhatItStarts(container string, kind fact.ProbeKind, timeout time.Duration) []answer.Fix {
	return []answer.Fix{
		h.specFix(fmt.Sprintf("in %sProbe.exec.command of container %s, put timeout -s KILL %d before the program that it runs, so that nothing outlives the attempt; or probe with httpGet or tcpSocket, which start no process", kindWord(kind), container, max(1, prose.Seconds(timeout)-1))),
	}
}

// neverMade says whether a file that the command wants is not there, of a container that says that it is ready.
func (p *probing) neverMade(file, output string) bool {
	lines, _ := p.saidSoFar()
	missing := knowledge.NoFile.In(output) && strings.Contains(output, file)
	silent := strings.TrimSpace(output) == "" && !strings.Contains(p.command(), "find ") // which is silent of one that is there, and old
	return (missing || silent) && words.LastOf(lines, knowledge.SaysReady) >= 0
}

// ownSocket is the socket that the server says it listens on, where the command found none at another; "" where
// it says none, or the same.
func (p *probing) ownSocket(output string) string {
	asked := knowledge.NoSocketThere.Slots(output)["socket"]
	if _, look, ok := p.look(); asked == "" || ok && !p.up(look) {
		return ""
	}
	lines, _ := p.saidSoFar()
	for _, line := range slices.Backward(lines) {
		if own := knowledge.SocketHere.Slots(line)["socket"]; own != "" && own != asked {
			return own
		} else if own != "" {
			return ""
		}
	}
	return ""
}

// takenApart is the one word that a shell is to run, where more follow it in the list; "" where that is not so.
func (p *probing) takenApart() string {
	c := p.argv()
	if len(c) < 4 || !slices.Contains(shells, path.Base(c[0])) || c[1] != "-c" && c[1] != "-ec" && c[1] != "-lc" || strings.ContainsAny(c[2], " \t\n$;&|") {
		return ""
	}
	return c[2]
}

// inProbe fits a variable as Kubernetes takes it.
var inProbe = regexp.MustCompile(`\$\(([A-Za-z_]\w*)\)`)

// emptied is the variable of the probe's command for which kubelet puts nothing, since its value is from elsewhere
// (ExpandContainerCommandOnlyStatic of pkg/kubelet/container); "" where there is none.
func (p *probing) emptied() string {
	for _, m := range inProbe.FindAllStringSubmatch(strings.Join(p.argv(), " "), -1) {
		if slices.ContainsFunc(p.of.Env, func(e v1.EnvVar) bool { return e.Name == m[1] && e.ValueFrom != nil }) {
			return m[1]
		}
	}
	return ""
}

// wantsFile fits what a shell's command does with a file that has to be there.
var wantsFile = regexp.MustCompile(`(?:\[\[? +|\btest +)-[aefsrdxS] +["']?(/[\w.@+/-]+)["']?|\b(?:cat|stat|ls|find) +(?:-\S+ +)*["']?(/[\w.@+/-]+)["']?`)

// wantedFiles are those that the probe's command wants to be there.
func (p *probing) wantedFiles() (files []string) {
	for _, m := range wantsFile.FindAllStringSubmatch(strings.Join(p.argv(), " "), -1) {
		if file := m[1] + m[2]; !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// lacksFile says of a command that failed without a word of why that it wants a file, and has that made or asked
// for no more.
func (p *probing) lacksFile(f *finding) {
	files := p.wantedFiles()
	if p.mode != exitCode || len(files) != 1 || words.Complains(words.Told(p.last.Evidence.Output)) {
		return
	}
	f.because = append(f.because, fmt.Sprintf("Its command wants the file %s.", files[0]))
	f.first(p.h.specFix(fmt.Sprintf("see who is to make %s in container %s; if nothing does, take it out of %sProbe.exec.command", files[0], p.run.Container, kindWord(p.kind))))
}

// hearOut has a command that put out nothing say what it did before its grep kept that back.
func (p *probing) hearOut() {
	if p.mode != exitCode || p.last.Evidence == nil || strings.TrimSpace(p.last.Evidence.Output) != "" {
		return
	}
	for f, b := range newest[fact.AskedAgain](p.run.Again) {
		if b.Probe != p.kind || !b.Unfiltered || b.Cut || b.Evidence == nil || !p.about(f) {
			continue
		}
		e := *p.last.Evidence
		e.Output = b.Evidence.Output
		p.last.Evidence, p.through = &e, f
		return
	}
}

// byHTTP fits the clients that a command asks by HTTP with.
var byHTTP = regexp.MustCompile(`\b(?:curl|wget|http|https|httpie)\b|https?://`)

// probeCommandFilter: what it asks is well, for all that it says.
func probeCommandFilter(p *probing) *finding {
	if byHTTP.MatchString(p.command()) {
		return nil
	}
	if p.through == nil {
		return p.filtersAnother()
	}
	b := fact.Of[fact.AskedAgain](p.through)
	said := strings.TrimSpace(words.Told(b.Evidence.Output))
	if b.Verdict != fact.Success || said != "" && (p.h.read(strings.Split(said, "\n")).Troubled() || words.Complains(said) || knowledge.StillStarts.In(said)) {
		return nil
	}
	f := p.finds(answer.ProbeCommandFailed, strong).
		says("The command of %s looks with grep for what does not come: without that it ends well, and says “%s”. So it fails whether the application is well or not.", p.what(), quote(said, kept))
	if said == "" {
		f.text = fmt.Sprintf("The command of %s looks with grep for what does not come: without that it ends well, and says nothing at all. So it fails whether the application is well or not.", p.what())
	}
	probe := kindWord(p.kind) + "Probe"
	return f.fix(p.h.specFix(fmt.Sprintf("correct what the grep of %s.exec.command looks for, or what that asks before it", probe)), p.byHand("run it by hand, and leave the grep at its end away"))
}

// greps fits what a command looks for with grep, in quotes or not.
var greps = regexp.MustCompile(`\bgrep(?: -\S+)* +(?:'([^']+)'|"([^"]+)"|([^\s|;&'"]+))`)

// ofTrouble fits words that may tell of trouble, in what a command puts out of a state.
var ofTrouble = regexp.MustCompile(`(?i)\b(?:fail\w*|err\w*|not?|none|nothing|never|down|load\w*|start\w*|init\w*|wait\w*|pend\w*|recover\w*|sync\w*|stop\w*|off\w*|un\w+|in\w+|degraded|false|refused|denied|time\w*|dead|lost|broken|closed|exit\w*|limit\w*|full|0|without|can'?t|cannot)\b`)

// filtersAnother: the command greps for what does not come, and what came in its place tells of no trouble.
func (p *probing) filtersAnother() *finding {
	if p.argv() == nil {
		return nil
	}
	m := greps.FindStringSubmatch(strings.Join(p.argv(), " "))
	said := strings.TrimSpace(words.Told(p.last.Evidence.Output))
	if at, _ := p.complaint(); m == nil || said == "" || at != nil || ofTrouble.MatchString(said) || p.h.read(strings.Split(said, "\n")).Troubled() || words.Complains(said) {
		return nil
	}
	at, look, ok := p.look()
	if !ok || !p.up(look) {
		return nil
	}
	f := p.finds(answer.ProbeCommandFailed, fair, at).
		says("The command of %s looks with grep for “%s”, which never came; what it put out tells of no trouble: “%s”. Neither does the log of container %s.",
			p.what(), quote(m[1]+m[2]+m[3], quoted), quote(said, kept), p.run.Container).
		fix(p.h.specFix(fmt.Sprintf("if the application is well, correct what the grep of %sProbe.exec.command looks for, or what that asks before it", kindWord(p.kind))), p.byHand("run it by hand, and leave the grep away"))
	return f.possibly() // the application may mean what it says
}
