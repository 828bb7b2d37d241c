package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// ending is the case of a run that ended: why?
type ending struct {
	h    *inquiry
	run  *history.Run
	exit fact.Exited
	at   time.Time
	spec *v1.Container // empty when it is not known
}

func newEnding(h *inquiry, run *history.Run) ending {
	return ending{h: h, run: run, exit: fact.Of[fact.Exited](run.Exit), at: run.Exit.When(), spec: h.spec(run.Container)}
}

// endedBy is what ended a run, as far as its exit tells; whether somebody ordered that says [ending.order].
type endedBy uint8

const (
	itself    endedBy = iota // with an exit code of its own
	aSignal                  // by the kernel's word
	oomKiller                // which took the main process
	nobodySaw                // it is gone from the runtime
)

func (e ending) by() endedBy {
	switch {
	case e.exit.Vanished:
		return nobodySaw
	case e.exit.MainOOMKilled:
		return oomKiller
	case e.exit.Signal != 0:
		return aSignal
	}
	return itself
}

// signal is what ended the main process, by the kernel's word or, unseen, by the convention of exit codes.
func (e ending) signal() (n int32, seen bool) {
	if e.exit.Signal != 0 {
		return e.exit.Signal, true
	}
	return e.exit.ExitCode - 128, false
}

func (e ending) failed() bool { return e.by() == itself && e.exit.ExitCode != 0 }

// killed says whether the end is the effect of a kill of which the decision is known.
func (e ending) killed() bool {
	if e.run.Kill == nil {
		return false
	}
	if len(e.run.Exit.Because) > 0 {
		return slices.Contains(e.run.Exit.Because, e.run.Kill.ID)
	}
	return !e.at.Before(e.run.Kill.Seen)
}

// lasted is how long the run took; 0 when its start is not known.
func (e ending) lasted() time.Duration {
	start := e.exit.StartedAt
	if start.IsZero() && e.run.Started != nil {
		start = e.run.Started.When()
	}
	if start.IsZero() {
		return 0
	}
	return max(e.at.Sub(start), 0)
}

func (e ending) after() string { return afterSpan(e.lasted()) }

// chain is the run's end, after what led to it.
func (e ending) chain(before ...*fact.Fact) []answer.Link {
	return links(append(before, e.run.Exit)...)
}

func (e ending) limit() int64 { return e.spec.Resources.Limits.Memory().Value() }

func explainExit(h *inquiry, run *history.Run) answer.Verdict {
	e := newEnding(h, run)
	v := e.explain()
	e.noteGPUError(&v)
	v.LastWords = e.exit.LastLines
	return v
}

func (e ending) explain() answer.Verdict {
	h, run := e.h, e.run
	if e.killed() {
		return e.explainKill()
	}
	best, rest := exitRules.hear(e).judge()
	if best != nil {
		return best.verdict(run.Container, rest)
	}
	if e.order() != unordered {
		what, missing := e.openWords()
		return undecided(run.Container, what, e.chain(e.stopped()), rest, missing, h.logsFix(run), h.describeFix())
	}
	what := fmt.Sprintf("Container %s ended with exit code %d%s, and %s.", run.Container, e.exit.ExitCode, e.after(), prose.Whether(h.FromAPI, "no event says that the node ended it", "the node did not end it"))
	look := []answer.Fix{kubectl.OnNode("look for the kernel's own record on the node", "dmesg -T | grep -iE 'oom|killed process' | tail")}
	missing := "The evidence does not tell these apart."
	if !e.exit.OOMKnown {
		missing = prose.Whether(e.exit.RuntimeReason == "OOMKilled",
			"The container runtime says OOMKilled, which it also says when a child or a sibling was the victim; the kernel's own record of this end was not seen.",
			"Whether the kernel's OOM killer took a process of it could not be seen (the container's cgroup was gone, or the kernel log not readable).")
	}
	switch {
	case e.h.FromAPI && e.sawNoOOM():
		missing, look = "The runtime saw no OOM kill of the container.", nil
	case e.h.FromAPI && e.unread():
		missing = "What it said before could not be read."
	case e.h.FromAPI && e.exit.RuntimeReason == "OOMKilled":
		what += " The container runtime says OOMKilled: the kernel killed some process in it for memory, then or before" + prose.Whether(e.limit() == 0, "; it has no limit of its own.", "; it has a limit of "+prose.Size(e.limit())+".")
		missing = "Which process that was, and whether the container ended for it, was not seen."
		if e.limit() > 0 {
			look = append(look, e.h.specFix(fmt.Sprintf("if the kernel's record has it, raise the memory limit of container %s, or have it use less", run.Container)))
		}
	case !e.exit.ByKernel:
	case len(e.run.OOMKills) > 0 || e.exit.OOMKills > 0 || e.exit.MainOOMKilled:
		missing = "The kernel itself sent its main process SIGKILL; whether for the OOM kill that it tells of, or for a limit of CPU time (RLIMIT_CPU, ulimit -t), was not seen."
	default:
		missing = "The kernel itself sent its main process SIGKILL, and its log has no OOM kill. A limit of CPU time (RLIMIT_CPU, ulimit -t) does that; whether there is one was not seen."
	}
	return undecided(run.Container, what, e.chain(), rest, missing, append([]answer.Fix{h.logsFix(run)}, look...)...)
}

// explainKill follows a kill that the node decided to what it rests on.
func (e ending) explainKill() answer.Verdict {
	kill := fact.Of[fact.Kill](e.run.Kill)
	var v answer.Verdict
	switch kill.Reason {
	case fact.KillLiveness, fact.KillStartup:
		v = e.probeKill(kill)
	case fact.KillHook:
		v = e.hookKill()
	case fact.KillSandbox:
		v = e.sandboxKill()
	default:
		v = e.podKill(kill).verdict(e.run.Container, nil)
	}
	e.howItWent(&v, kill)
	return v
}

// howItWent adds what the end itself shows beside the reason it was ordered for.
func (e ending) howItWent(v *answer.Verdict, kill fact.Kill) {
	for i, l := range v.Chain {
		if l.Fact == e.run.Exit.ID && e.exit.ExitCode != 137 {
			v.Chain[i].Text = exitWords(e.exit, "it stopped on the node's order, with")
		}
	}
	if note, ok := e.graceUsed(kill); ok && !slices.ContainsFunc(v.Contributing, func(n answer.Note) bool { return n.Cause == note.Cause }) {
		v.Contributing = append(v.Contributing, note)
	}
	if v.Cause == answer.MemoryLimit || v.Cause == answer.MemoryLimitChild {
		return
	}
	if note, ok := e.notMemory(); ok && !slices.ContainsFunc(v.RuledOut, func(n answer.Note) bool { return n.Cause == note.Cause }) {
		v.RuledOut = append(v.RuledOut, note)
	}
}

// graceUsed tells what used up the grace period: the preStop hook, which comes before
// the stop signal, or the container after it. A hook that failed sooner is told, too.
func (e ending) graceUsed(kill fact.Kill) (answer.Note, bool) {
	grace := time.Duration(kill.GraceSeconds)*time.Second - 100*time.Millisecond
	killed := kill.GraceSeconds > 0 && e.exit.ExitCode == 137 && !e.exit.MainOOMKilled && e.at.Sub(e.run.Kill.Seen) >= grace
	for hook, b := range each[fact.HookRan](e.run.Hooks) {
		switch {
		case b.Hook != fact.PreStop:
		case killed && b.Took >= grace:
			return answer.Note{
				Cause: answer.HookFailed, Facts: []fact.ID{e.run.Kill.ID, hook.ID, e.run.Exit.ID},
				Text: fmt.Sprintf("the preStop hook of container %s took all of the %d s that it had to end, and left next to no time after the stop signal: exit code 137 comes from that", e.run.Container, kill.GraceSeconds),
			}, true
		case b.Error != "" || b.Timeout:
			return answer.Note{Cause: answer.HookFailed, Facts: []fact.ID{hook.ID}, Text: fmt.Sprintf("the preStop hook of container %s failed%s", e.run.Container, afterSpan(b.Took))}, true
		}
	}
	text := fmt.Sprintf("container %s did not end on its stop signal within %d s, so the node killed it: exit code 137 comes from that", e.run.Container, kill.GraceSeconds)
	if shellInFront(e.spec) {
		// Shells put the last command in their own place, most of them and mostly.
		switch main := e.mainCommand(); {
		case slices.Contains(shells, main):
			text += "; its main process is a shell, which hands no signal on to the program that it starts: put exec before that in its command"
		case main == "":
			text += "; if its main process was still the shell of its command, that handed no signal on: exec before the program in it helps then"
		}
	}
	return answer.Note{Cause: answer.AppIgnoredSIGTERM, Facts: []fact.ID{e.run.Kill.ID, e.run.Exit.ID}, Text: text}, killed
}

// notMemory rules memory out of an end that others would call OOMKilled.
func (e ending) notMemory() (answer.Note, bool) {
	suspicious := e.exit.ExitCode == 137 || e.exit.RuntimeReason == "OOMKilled" || len(e.run.OOMKills) > 0
	if !suspicious || e.exit.MainOOMKilled {
		return answer.Note{}, false
	}
	n := answer.Note{Cause: answer.MemoryLimit, Facts: []fact.ID{e.run.Exit.ID}}
	switch {
	case len(e.run.OOMKills) > 0:
		last := e.run.OOMKills[len(e.run.OOMKills)-1]
		n.Facts = append(n.Facts, last.ID)
		n.Text = fmt.Sprintf("%s was OOM-killed %s before; the container kept running after that", prose.Brief(fact.Of[fact.OOMKilled](last).Command, 40), prose.Span(e.at.Sub(last.When())))
	case e.exit.OOMKnown && e.exit.OOMKills == 0:
		n.Text = "no process of the container was OOM-killed (its oom_kill counter is 0)"
	case e.killed():
		n.Text = "the node ended it and knows why; exit code 137 alone says nothing about memory"
	default:
		return answer.Note{}, false
	}
	return n, true
}

// probeOfKill has the probe for which a node ends a container, by the reason that it gives.
var probeOfKill = map[fact.KillReason]fact.ProbeKind{fact.KillLiveness: fact.Liveness, fact.KillStartup: fact.Startup}

func (e ending) probeKill(kill fact.Kill) answer.Verdict {
	kind := probeOfKill[kill.Reason]
	p := newProbing(e.h, e.run, kind, e.run.Kill.Because)
	v := p.explain()
	v.Chain = inOrder(append(v.Chain, links(e.run.Kill, e.run.Exit)...))
	row := prose.Whether(len(p.failed) > 1, " "+prose.Times(len(p.failed))+" in a row", "")
	then := fmt.Sprintf("So its %s probe failed%s, and the node ended the container", kindWord(kind), row)
	if e.exit.ExitCode != 0 {
		then += fmt.Sprintf(" (exit code %d)", e.exit.ExitCode)
	}
	v.SayThen(then + ".")
	return v
}

// hookCommand formats the command of the postStart hook of the container in brackets; "" without one.
func (e ending) hookCommand() string {
	l := e.h.spec(e.run.Container).Lifecycle
	if l == nil || l.PostStart == nil || l.PostStart.Exec == nil {
		return ""
	}
	return fmt.Sprintf(" (`%s`)", prose.Brief(strings.Join(l.PostStart.Exec.Command, " "), 80))
}

func (e ending) hookKill() answer.Verdict {
	hook := lastThat(e.run.Hooks, func(f *fact.Fact) bool { return slices.Contains(e.run.Kill.Because, f.ID) })
	if f := e.hookOOM(hook); f != nil {
		return f.verdict(e.run.Container, nil)
	}
	said := strings.TrimRight(hookSaid(fact.Of[fact.HookRan](hook).Error), ":. ")
	f := e.finds(answer.HookFailed, certain, e.run.Start, hook, e.run.Kill).recorded().
		says("The postStart hook of container %s%s failed, so the node ended it and starts it again: %s.", e.run.Container, e.hookCommand(), cmp.Or(said, "it said nothing")).
		fix(e.h.specFix(fmt.Sprintf("correct lifecycle.postStart of container %s, or have its main process do that work", e.run.Container)), e.h.logsFix(e.run))
	if fix, ok := e.h.modeFix(e.run.Container, words.NotExecutable(said)); ok {
		f.first(fix)
	}
	return f.verdict(e.run.Container, nil)
}

func (e ending) sandboxKill() answer.Verdict {
	lost := lastThat(e.h.because(e.run.Kill), func(f *fact.Fact) bool { return f.Body.Kind() == (fact.SandboxLost{}).Kind() })
	f := e.finds(answer.SandboxFailed, certain, lost, e.run.Kill).recorded().fix(e.h.nodeFix()).
		says("The pod's sandbox ended although nobody asked it to, so all its containers were ended and started in a new one%s.", colon(fact.Of[fact.SandboxLost](lost).Message))
	if boot := e.h.RebootBefore(e.run); boot != nil {
		f.cause, f.certainty, f.rule = answer.NodeRestarted, answer.Inferred, "reboot"
		f.text = "The machine was restarted; all containers ended with it, and the node started them again."
		f.chain = append(f.chain, link(boot))
	}
	return f.verdict(e.run.Container, nil)
}

func colon(text string) string {
	return prose.Whether(text == "", "", ": "+strings.TrimSuffix(prose.Brief(text, kept), "."))
}

// newImage formats the old and the new image of the container if the last change of the pod spec replaced it; else "".
func (e ending) newImage() string {
	var images []string
	for _, b := range every[fact.SpecSeen](e.h.Facts) {
		if b.Object == nil {
			continue
		}
		for _, c := range b.Object.Spec.Containers {
			if c.Name == e.run.Container {
				images = append(images, c.Image)
			}
		}
	}
	n := len(images)
	if n < 2 || images[n-1] == images[n-2] {
		return ""
	}
	return fmt.Sprintf(": its image was %s and is now %s", images[n-2], images[n-1])
}

func (e ending) podKill(kill fact.Kill) finding {
	f := finding{certainty: answer.Recorded, weight: certain, chain: append(append(e.h.firstLinks(e.run.Kill), e.chain()...), link(e.run.Kill))}
	switch kill.Reason {
	case fact.KillDeletion, fact.KillEviction, fact.KillDeadline, fact.KillShutdown:
		d := map[fact.KillReason]func() finding{
			fact.KillDeletion: e.h.deletionFinding, fact.KillEviction: e.h.evictionFinding,
			fact.KillDeadline: e.h.deadlineFinding, fact.KillShutdown: e.h.shutdownFinding,
		}[kill.Reason]()
		d.chain = append(d.chain, f.chain...)
		return d
	case fact.KillSpec, fact.KillResize:
		f.cause = answer.SpecChanged
		f.text = fmt.Sprintf("The pod's own spec was changed%s, and that restarts container %s%s.", inBrackets("", e.h.ChangedBy()), e.run.Container, e.newImage())
		f.fixes = []answer.Fix{e.h.seeSpec()}
	case fact.KillPreempted:
		f.cause, f.text = answer.Preempted, "The pod had to go for a pod of higher priority."
	case fact.KillPodDone:
		f.cause, f.text = answer.None, "The pod's main containers had ended, so the node ended this one too."
	default:
		f.cause, f.text = answer.RestartPolicy, fmt.Sprintf("A restart rule of the pod asks for a restart of all its containers, so %s was ended too.", e.run.Container)
	}
	return f
}

// gpuErrorWithin is how long before an end an error of a GPU is shown beside it.
const gpuErrorWithin = time.Minute

// noteGPUError adds to the verdict on an end the last error of a GPU that the driver reported
// for a process of that run. It changes no cause: programs cause some Xids, and survive others.
func (e ending) noteGPUError(v *answer.Verdict) {
	all := fact.All[fact.GPUError](e.h.Facts)
	for _, f := range slices.Backward(all) {
		before := e.at.Sub(f.When())
		if f.Container != e.run.Container || f.Attempt != e.run.Attempt || before < -time.Second || before > gpuErrorWithin {
			continue
		}
		b := fact.Of[fact.GPUError](f)
		v.Contributing = append(v.Contributing, answer.Note{
			Cause: v.Cause, Facts: []fact.ID{f.ID},
			Text: fmt.Sprintf("its GPU %s reported Xid %d %s before: %s", b.Device, b.Code, prose.Span(max(before, 0)), prose.Brief(b.Message, kept)),
		})
		return
	}
}
