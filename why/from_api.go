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
	// asking matches the programs of probes that ask a server. Those of its groups need a host; the others ask their own machine
	// by default.
	asking = regexp.MustCompile(`\b(?:(curl|wget|nc|mongo|mongosh|nslookup|dig|grpc_health_probe)|psql|pg_isready|mysql|mysqladmin|mariadb|mariadb-admin|redis-cli)\b|(?:^|[;&|('\"]\s*)(ping)\s|://|\blocalhost\b|\b127\.0\.0\.1\b`)
	// askedHosts matches the hosts that a command line names.
	askedHosts = regexp.MustCompile(`(?:\s-h\s*|\s--host[= ]|://(?:[^\s/@]*@)?|-addr[= ]|\s@)["']?(\[[^\]]*\]|[^\s:/"'|;&)]+)`)
)

// asksFar reports whether the probe's command asks a server that may not be its own container: then the answer, or the
// silence, may be that server's.
func (p *probing) asksFar() bool {
	if len(p.argv()) == 0 {
		return false
	}
	asks, elsewhere := asksServer(p.command())
	compares := strings.Contains(p.command(), "grep") && !p.complainsNow() // the expected text may be the mistake
	return asks && (elsewhere || compares || !p.isAlone())
}

// asksServer reports whether a command asks a server, and whether that may be on another machine.
func asksServer(command string) (asks, elsewhere bool) {
	clients := asking.FindAllStringSubmatch(command, -1)
	if len(clients) == 0 {
		return false, false
	}
	hosts := askedHosts.FindAllStringSubmatch(command, -1)
	if len(hosts) > 0 {
		return true, slices.ContainsFunc(hosts, func(m []string) bool { return !loopback(strings.Trim(m[1], "[]")) })
	}
	needsHost := slices.ContainsFunc(clients, func(m []string) bool { return m[1]+m[2] != "" })
	return true, needsHost && !strings.Contains(command, "localhost") && !strings.Contains(command, "127.0.0.1")
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
