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
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// crashSignal: it died of a signal of its own making. An exit code says that only by
// convention, so without the kernel's word the answer says so.
func crashSignal(e ending) *finding {
	n, seen := e.signal()
	if !slices.Contains(fact.Faults, n) || !seen && e.exit.StatusKnown {
		return nil // a code that was given to exit(2), as far as the kernel saw
	}
	if n == sigabrt && e.said(knowledge.NoSpace.In) != "" {
		return nil // it ended itself for want of room
	}
	f := e.finds(answer.AppCrashSignal, certain).fix(e.h.logsFix(e.run)).
		says("The main process of container %s crashed%s: it died of %s%s.", e.run.Container, e.after(), signalName(n), crashMeaning(n))
	if n == sigsys {
		e.forbiddenCall(f)
	}
	if e.story().Failed() {
		f.because = append(f.because, prose.Upper(e.quote()))
		f.advice = e.advice()
	}
	if !seen {
		f.weight = strong
		f.text = fmt.Sprintf("The main process of container %s crashed%s: exit code %d stands for %s%s.",
			e.run.Container, e.after(), e.exit.ExitCode, signalName(n), crashMeaning(n))
		if n == sigabrt && e.story().Failed() {
			f.text = fmt.Sprintf("The main process of container %s aborted%s (exit code %d, %s): %s.", e.run.Container, e.after(), e.exit.ExitCode, signalName(n), quoteAs(answer.RoleEnd, e.inItsWords(), quoted))
			f.because = nil
			e.h.meant(f, e.run.Container, e.inItsWords())
		}
	}
	return f
}

// A runtime that runs out of heap ends itself by SIGABRT, V8 also by SIGILL, SIGTRAP or SIGSEGV.
const sigill, sigtrap, sigabrt, sigsegv, sigsys = 4, 5, 6, 11, 31

// crashMeanings says when the kernel or the C library sends such a signal (signal(7)).
var crashMeanings = map[int32]string{
	4: "an instruction that this CPU does not know, as of a program built for a newer one, or a trap of the compiler's", 5: "a trap, as of a debugger or a failed assertion",
	6: "abort(3), as the C library and language runtimes end a process that they find broken; its last words say why",
	7: "memory that is mapped and not there, as of a file cut short or a full /dev/shm", 8: "an arithmetic error, as a division by zero",
	11: "access to memory that it may not touch, by a bug or a stack that is used up", 13: "it wrote to a connection or pipe that the other end had closed", 14: "an alarm that it had set and did not await",
	25: "a file larger than it may write (RLIMIT_FSIZE)", sigsys: "a system call that a seccomp filter forbids",
}

func crashMeaning(n int32) string {
	return prose.Whether(crashMeanings[n] == "", "", ", "+crashMeanings[n])
}

// forbiddenCall blames the pod's seccomp profile where it has one of its own. The
// runtime's default profile lets such calls fail and kills nobody, so without one
// the filter is the application's.
func (e ending) forbiddenCall(f *finding) {
	f.first(e.h.inspect("see which call it was, where the kernel keeps an audit", "dmesg | grep -E 'audit.*type=1326.*sig=31'   # on the node; ausyscall NUMBER names it"))
	profile := e.h.seccompProfile(e.spec)
	if profile == "" {
		f.because = append(f.because, "The pod names no seccomp profile that kills, so the filter is one that the application set itself.")
		return
	}
	f.cause = answer.SecurityRefused
	f.text = fmt.Sprintf("The seccomp profile of container %s (%s) forbids a system call that it made%s: the kernel ended it with SIGSYS.", e.run.Container, profile, e.after())
	f.fix(e.h.specFix("allow that call in the profile, or use RuntimeDefault"))
}

// seccompProfile is the profile on the node that a container's spec, or else the pod's,
// names; "" where it has none of its own.
func (h *inquiry) seccompProfile(c *v1.Container) string {
	pod, own := h.contexts(c)
	profile := cmp.Or(own.SeccompProfile, pod.SeccompProfile)
	if profile == nil || profile.Type != v1.SeccompProfileTypeLocalhost || profile.LocalhostProfile == nil {
		return ""
	}
	return *profile.LocalhostProfile
}

// quickly is how soon a command that cannot be run has ended.
const quickly = 3 * time.Second

// commandNotRunnable: a shell's 126 or 127 at once after the start.
func commandNotRunnable(e ending) *finding {
	code := e.exit.ExitCode
	if code != 126 && code != 127 || e.lasted() > quickly {
		return nil
	}
	what := map[int32]string{126: "found something that it cannot execute", 127: "did not find the command"}[code]
	said := e.lastWord()
	f := e.finds(answer.AppStartFailed, strong).
		says("Container %s ended at once with exit code %d: its shell %s%s.", e.run.Container, code, what, colon(prose.Brief(said, 100))).
		fix(e.h.logsFix(e.run), e.h.specFix("correct command and args, or use an image that has the program"))
	if i := words.LastOf(e.exit.LastLines, knowledge.NoCommand); i >= 0 {
		said = e.exit.LastLines[i]
		name := notFound(said)
		f.text = fmt.Sprintf("Container %s ended at once with exit code %d: its shell did not find %s: %s.", e.run.Container, code, name, quote(said, kept))
		f.fixes = []answer.Fix{e.h.specFix(fmt.Sprintf("use an image that has %s, or take it out of what the container runs", name)), e.h.logsFix(e.run)}
		e.h.namedFile(f, e.run.Container, said)
	}
	if knowledge.NoInterpreter.In(said) {
		f.text = fmt.Sprintf("Container %s ended at once with exit code %d: its script is there, and the interpreter that its first line names is not (or that line ends in CR LF): %s.", e.run.Container, code, quote(said, kept))
		f.fixes = []answer.Fix{e.h.logsFix(e.run), e.h.specFix("name an interpreter in the script's first line that the image has (#!/bin/sh), save it with Unix line ends, or use an image that has the interpreter")}
	}
	if knowledge.Libraries.In(e.lastWord()) {
		f.text = fmt.Sprintf("Container %s ended at once with exit code %d: its program is there and cannot be loaded%s.", e.run.Container, code, colon(prose.Brief(e.lastWord(), 100)))
		e.meant(f, e.lastWord())
	}
	return f
}

// mostTyped is the maximum length of a command shown for typing.
const mostTyped = 160

// commandToType formats the command of a container for a shell, in brackets; "" if only the image has it, or if it is too long.
func (h *inquiry) commandToType(container string) string {
	c := h.spec(container)
	line := shell.Quote(slices.Concat(c.Command, c.Args)...)
	return prose.Whether(len(c.Command) > 0 && len(line) <= mostTyped, fmt.Sprintf(" (type %s)", line), "")
}

// ownExit: it ended by itself with an error.
func ownExit(e ending) *finding {
	code := e.exit.ExitCode
	if !e.failed() {
		return nil
	}
	f := e.finds(answer.AppExitError, fair).fix(e.h.logsFix(e.run)).says("The main process of container %s ended by itself%s with exit code %d.", e.run.Container, e.after(), code)
	if e.lastWord() != "" {
		f.because, f.advice = []string{e.quote()}, e.advice()
	} else if f.because = []string{"the node did not ask it to."}; e.silence() != "" {
		f.because = append(f.because, e.silence())
		e.silentFixes(f)
	}
	e.h.namedFile(f, e.run.Container, e.inItsWords())
	e.h.oneString(f, e.run.Container, strings.Join(e.saidAtLast(), "\n"))
	e.meant(f, e.lastWord()) // whose advice comes first: it says more
	e.mayNotWrite(f)
	if !words.OfAnother(e.inItsWords()) {
		e.h.raisingFile(f, e.run.Container, e.raisedAt())
	}
	f.notes = e.childOOM()
	if code > 128 && fact.SignalNames[code-128] != "" && !e.exit.StatusKnown || e.childKilled() {
		f.weight = weak // as likely a signal's
	}
	if e.unread() || e.exit.RuntimeReason == "OOMKilled" && !e.exit.OOMKnown && len(e.run.OOMKills) == 0 {
		f.weight = weak
	}
	return f
}

// silentFixes are what to do about a run that failed and logged nothing, as far as that is known.
func (e ending) silentFixes(f *finding) {
	if e.h.IsInit(e.run.Container) {
		return
	}
	byHand := answer.Fix{
		Text:    fmt.Sprintf("start its command by hand in a copy of the pod, to see what it says%s; delete the copy afterwards", e.h.commandToType(e.run.Container)),
		Command: e.h.kubectl("debug %s -it --copy-to=%s-by-hand --container=%s -- sh", e.h.Pod.Name, e.h.Pod.Name, e.run.Container), Risk: answer.Safe,
	}
	if e.h.FromAPI {
		f.fixes = []answer.Fix{byHand}
		return
	}
	f.fixes[0].Text = "see whether its log has lines that the agent did not record"
	byHand.Text = "if it has none: " + byHand.Text
	f.fix(byHand, exitOutcome(e.h, &answer.Verdict{Container: e.run.Container}))
}

// quote is what a process said of its end, without what a logger put before it.
func (e ending) quote() string {
	when := prose.Whether(strings.TrimSpace(e.exit.Message) == "", e.longBefore(), "")
	said := quoteAs(answer.RoleEnd, e.inItsWords(), quoted)
	return "its last message" + when + ": " + said + atPlace(said, e.raisedAt()) + "."
}

// raisedAt is where in its own code a process says that happened for which it ends.
func (e ending) raisedAt() logline.Spot {
	if e.h.Causes {
		return logline.Spot{}
	}
	if strings.TrimSpace(e.exit.Message) != "" {
		return e.h.read(strings.Split(e.exit.Message, "\n")).RaisedAt()
	}
	return e.story().RaisedAt()
}

// atPlace adds to a quotation where in the application's code that was, if it does not name that.
func atPlace(said string, at logline.Spot) string {
	if at.File == "" || strings.Contains(said, at.File) {
		return ""
	}
	return inBrackets("at ", prose.Midst(at.String(), longestPlace))
}

// longestPlace is how much is told of a place in code.
const longestPlace = 120

// inItsWords is what a process said of why it ends: its termination message, or the lines of its
// log that say most.
func (e ending) inItsWords() string {
	if text := strings.TrimSpace(e.exit.Message); text != "" {
		if lines := strings.Split(text, "\n"); len(lines) > 1 { // the end of its log, under FallbackToLogsOnError
			return cmp.Or(e.h.read(lines).Reason(), logline.Message(text))
		}
		return logline.Message(text)
	}
	return e.story().Reason()
}

// readsInput fits what a program says that waits for somebody at its terminal, terminals what such programs are
// called.
var (
	readsInput = regexp.MustCompile(`(?i)\b(?:press|hit|type)\b.{0,30}\b(?:enter|return|any key|ctrl[+-]d|quit|exit)\b|\bstdin\b|\bend of (?:input|file)\b|\bEOF\b`)
	terminals  = []string{"sh", "bash", "ash", "python", "python3", "node", "irb", "ruby", "php", "perl", "jshell"}
)

// orInput is what else to do about one that ended well because its input was at its end: a container has none,
// unless its spec says so.
func (e ending) orInput() string {
	c := e.spec
	if c.Name == "" || c.Stdin {
		return ""
	}
	argv := slices.Concat(c.Command, c.Args)
	interprets := len(argv) == 1 && slices.Contains(terminals, path.Base(argv[0])) || len(argv) == 0 && len(e.exit.LastLines) == 0 && e.lasted() < quickly
	if interprets || slices.ContainsFunc(e.exit.LastLines, readsInput.MatchString) {
		return "; where it only waits for input, which a container has none of: give it a program to run (command, args), or stdin: true and tty: true"
	}
	return ""
}

// foreground are the options with which daemons stay in the foreground, by their names.
var foreground = map[string]string{
	"redis-server": "--daemonize no", "nginx": "-g 'daemon off;'", "httpd": "-D FOREGROUND", "apache2": "-D FOREGROUND", "apachectl": "-D FOREGROUND", "apache2ctl": "-D FOREGROUND",
	"php-fpm": "-F", "sshd": "-D", "crond": "-f", "cron": "-f", "lighttpd": "-D", "squid": "-N", "supervisord": "-n", "dnsmasq": "-k", "named": "-f", "unbound": "-d", "varnishd": "-F",
}

var (
	// shutsDown fits what a server logs that ends in order, limitsRequests an option or a variable that ends it after
	// some requests.
	shutsDown      = regexp.MustCompile(`(?i)\bshut(?:ting)? ?down\b|\bfinished server process\b|\bserver (?:stopped|closed)\b`)
	limitsRequests = regexp.MustCompile(`(?i)[\w-]*max[_-]requests?\b(?:[= ]\d+)?`)
)

// stayFix has a container stay up whose main process ends with exit code 0.
func (e ending) stayFix() answer.Fix {
	given := strings.Join(append(slices.Concat(e.spec.Command, e.spec.Args), prose.Each(e.spec.Env, func(v v1.EnvVar) string { return v.Name + "=" + v.Value })...), " ")
	for word := range strings.FieldsSeq(given) {
		option := foreground[path.Base(word)]
		if option != "" && e.lasted() < quickly && !strings.Contains(strings.ReplaceAll(given, " ", ""), strings.ReplaceAll(option, " ", "")) {
			return e.h.specFix(fmt.Sprintf("start it as %s %s: as a daemon it goes into the background, and the container ends", path.Base(word), option))
		}
	}
	if !slices.ContainsFunc(e.exit.LastLines, logline.IsRequest) || !slices.ContainsFunc(e.exit.LastLines, shutsDown.MatchString) {
		return e.h.specFix("if it is meant to end, run it as a Job (restartPolicy OnFailure); if not, keep its main process in the foreground" + e.orInput())
	}
	if limit := limitsRequests.FindString(given); limit != "" {
		return e.h.specFix(fmt.Sprintf("remove %s, which ends the server after so many requests, or run it under a process manager that starts its workers again", limit))
	}
	return e.h.specFix("find what shuts the server down after it has served requests: a limit on requests or on its age, a restart of its own, or a signal from within the container; remove that")
}

// ownSuccess: it ended by itself with 0, and its policy starts it again.
func ownSuccess(e ending) *finding {
	if e.exit.ExitCode != 0 || e.exit.Vanished {
		return nil
	}
	f := e.finds(answer.AppExitSuccess, strong)
	if sender, _ := e.lastSignal(); sender != nil {
		return nil // it ended on that
	}
	f.text = fmt.Sprintf("The main process of container %s ended by itself%s with exit code 0, as if its work were done.", e.run.Container, e.after())
	silence := e.silence()
	if silence != "" {
		f.because = []string{silence}
	}
	if logs := e.h.logsFix(e.run); silence == "" {
		f.fixes = []answer.Fix{logs}
	} else if !e.h.FromAPI {
		logs.Text = "see whether its log has lines that the agent did not record"
		f.fixes = []answer.Fix{logs}
	}
	if e.h.FromAPI && (!e.soEachTime() || e.unread()) {
		return f.possibly() // who is sent a signal may end so, too
	}
	if said := e.lastWord(); e.story().EndsFailed() {
		f.cause = answer.AppExitError
		f.text = fmt.Sprintf("Container %s failed%s, and called it a success: its main process ended by itself with exit code 0.", e.run.Container, e.after())
		f.because, f.advice = []string{e.quote()}, e.advice()
		e.h.namedFile(f, e.run.Container, e.inItsWords())
		e.meant(f, said)
		return f
	}
	if said := e.lastWord(); said != "" {
		f.because = []string{"its last message: " + quoteAs(answer.RoleEnd, said, quoted) + "."}
		e.h.namedFile(f, e.run.Container, said)
	}
	if e.h.Object != nil && e.h.Object.Spec.RestartPolicy == v1.RestartPolicyAlways {
		if e.exit.OOMKills > 0 && len(e.run.OOMKills) == 0 {
			f.weight, f.text = weak, "a process of it was OOM-killed; when, and whether it ended because of that, only the kernel's record tells"
			return f
		}
		f.then = []string{"Under restartPolicy Always it is started again."}
		if stay := e.stayFix(); silence == "" {
			f.fix(stay)
		} else {
			f.first(stay)
		}
	}
	return f
}

// mayNotWrite names the volumes that the spec does not let the container write to, where
// that is what it complains of.
func (e ending) mayNotWrite(f *finding) {
	if e.said(knowledge.ReadOnly.In) == "" {
		return
	}
	for _, m := range e.spec.VolumeMounts {
		_, v := e.h.volumeOf(e.run.Container, path.Clean(m.MountPath))
		if given := v != nil && (v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil); m.ReadOnly && !given { // nobody can write to those
			f.because = append(f.because, fmt.Sprintf("Its volume %s (at %s) is mounted readOnly.", m.Name, m.MountPath))
			f.fix(e.h.specFix(fmt.Sprintf("mount volume %s without readOnly, or have it write elsewhere", m.Name)))
		}
	}
}

// passedOn fits words that a server has from one behind it.
var passedOn = regexp.MustCompile(`(?i)\bfastcgi\b|\bupstream\b|\bsaid into std`)

// lostSetting adds to a finding whose words miss a variable that the spec has it, where it does: for
// the container that says so, or, where it passes on what another says, for any.
func (h *inquiry) lostSetting(f *finding, container, said string) bool {
	for _, c := range h.podSpec().Containers {
		if c.Name != container && !passedOn.MatchString(said) {
			continue
		}
		for _, e := range c.Env {
			if len(e.Name) < 3 || e.Value == "" || !regexp.MustCompile(`\b`+regexp.QuoteMeta(e.Name)+`\b`).MatchString(said) {
				continue
			}
			f.because = append(f.because, fmt.Sprintf("Variable %s is in the env of container %s, and does not reach the process that wants it.", e.Name, c.Name))
			f.fixes = append([]answer.Fix{h.inside(
				"see which of its processes have it: a start script may drop it, and a server give its workers an environment of their own (clear_env of php-fpm, env of nginx)",
				c.Name, shell.Linef("sh -c %s", string(shell.Linef("grep -lz ^%s= /proc/[0-9]*/environ", e.Name))),
			).About(e.Name)}, f.fixes...)
			return true
		}
	}
	return false
}

// meant adds the meaning of a container's words to a finding that quotes them, and what to do about it. It changes no
// cause: the process ended, or says no, because of them by itself.
func (h *inquiry) meant(f *finding, container, said string) bool {
	h.throughProxy(f, container, said)
	m, ok := h.Knowledge.Meaning(said)
	if !ok {
		return false
	}
	f.because = append(f.because, fmt.Sprintf("That means: %s.", knowledge.Fill(m.Means, m.Slots)))
	fixes := h.advice(f, container, said, m)
	if m.ID == knowledge.ServiceLink.ID() {
		f.fixes = nil // its configuration and its code are right
	}
	f.first(fixes...)
	return true
}

// meant adds the meaning of a process's last words, or else of its code.
func (e ending) meant(f *finding, said string) {
	all := e.inItsWords()
	if m, ok := e.h.Knowledge.Meaning(said); !ok || m.ID == knowledge.BadConfig.ID() {
		said = cmp.Or(all, said) // what it said just before has one, or one that says more than a place, maybe
	}
	if e.h.meant(f, e.run.Container, said) {
		return
	}
	code := e.exit.ExitCode
	switch {
	case words.NodeCodes[code] != "" && (e.mainCommand() == "node" || len(e.spec.Command) > 0 && path.Base(e.spec.Command[0]) == "node"):
		f.because = append(f.because, prose.Upper("exit code "+words.NodeCodes[code])+".")
	case words.ShellCodes[code] != "":
		f.because = append(f.because, prose.Upper("exit code "+words.ShellCodes[code])+".")
		f.first(e.h.specFix("correct the command in its start script, or use an image that has it"))
	case code > 128 && fact.SignalNames[code-128] != "" && e.exit.StatusKnown:
		f.because = append(f.because, fmt.Sprintf("By a shell's convention that stands for a child that died of %s; the main process itself died of no signal, by the kernel's word.", signalName(code-128)))
	}
}
