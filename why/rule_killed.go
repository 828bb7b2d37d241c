package why

import (
	"fmt"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// kills are the signals that others send, and that end a process which does not heed
// them: SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGUSR1, SIGUSR2 and SIGTERM.
var kills = []int32{1, 2, 3, 9, 10, 12, 15}

// killedFromOutside: somebody who is not the node sent the signal.
func killedFromOutside(e ending) *finding {
	n, seen := e.signal()
	if !slices.Contains(kills, n) || e.exit.MainOOMKilled || e.exit.Vanished || !seen && e.exit.StatusKnown {
		return nil
	}
	f := e.finds(answer.KilledByOther, weak)
	if n == sigkill && (!e.exit.OOMKnown || e.exit.OOMKills > 0 || !e.exit.ByKernel && e.oomLately()) {
		return f // the OOM killer is not out of the question
	}
	if e.exit.ByKernel {
		f.weight, f.text = refuted, "no process sent the SIGKILL: the kernel itself did"
		return f
	}
	f.text = fmt.Sprintf("Container %s was ended%s with %s by something other than the node: the node ordered no kill, and no OOM kill was seen in it then.", e.run.Container, e.after(), signalName(n))
	f.fixes = []answer.Fix{e.h.logsFix(e.run), e.h.inspect("look for who did it on the node", "journalctl --since -1h | grep -iE 'kill|oom'")}
	sender, _ := e.lastSignal()
	switch {
	case n == sigkill && sender == nil && e.endedByCPUTime():
		f.text = "somebody else may have killed it, but an earlier run ended in the same way at its limit of CPU time"
	case seen:
		f.weight = strong
	case n == 9:
		f.text = "something else killed it, or it handed on the 137 of a child that was killed"
	}
	return f
}

// oomLately says whether a process of the container was OOM-killed shortly before its end.
func (e ending) oomLately() bool {
	return slices.ContainsFunc(e.run.OOMKills, func(f *fact.Fact) bool { return e.at.Sub(f.When()).Abs() <= lately })
}

// vanished: the container is gone without a trace, and nobody saw it end.
func vanished(e ending) *finding {
	if !e.exit.Vanished {
		return nil
	}
	if boot := e.h.RebootBefore(e.run); boot != nil {
		return e.finds(answer.NodeRestarted, strong, boot).
			says("The machine was restarted; container %s ended with it, and its exit code is not known.", e.run.Container).
			fix(e.h.inspect("see why the machine restarted", "journalctl -b -1 -e"))
	}
	if e.order() != unordered {
		return nil // whoever decides here removes what has ended
	}
	return e.finds(answer.RemovedByOther, strong).
		says("Container %s was removed from the container runtime by something other than the node; how it ended is not known.", e.run.Container).
		fix(e.h.inspect("look for who talks to the runtime besides the node", "journalctl -u containerd --since -1h"))
}

// heeds is how long after a SIGTERM or the like an end is taken for its consequence: the
// longest grace period that is common. SIGKILL works at once.
const heeds = 30 * time.Second

// senderSeen: the kernel told who sent the signal that ended the main process.
func senderSeen(e ending) *finding {
	at, b := e.lastSignal()
	if at == nil || b.Origin == fact.FromKernel || b.Origin == fact.FromNode && e.h.Beside != "" {
		return nil
	}
	f := e.finds(answer.KilledByOther, certain, at).fix(e.h.logsFix(e.run))
	how := "with " + signalName(b.Signal)
	if e.exit.Signal != b.Signal && e.exit.ExitCode != 128+b.Signal {
		how = fmt.Sprintf("on its %s (exit code %d)", signalName(b.Signal), e.exit.ExitCode)
	}
	switch {
	case b.SenderPID == b.PID && b.PID != 0 && e.exit.Signal != b.Signal && e.exit.ExitCode != 128+b.Signal:
		return nil // a way to end that it has heeded by itself, with a code of its own
	case b.SenderPID == b.PID && b.PID != 0:
		f.cause = answer.AppCrashSignal
		return f.says("The main process of container %s ended itself%s: it sent %s to itself.", e.run.Container, e.after(), signalName(b.Signal))
	case b.Origin == fact.FromNode:
		f.text = fmt.Sprintf("Container %s was ended%s %s through the container runtime, and not by the node: somebody else told the runtime to.", e.run.Container, e.after(), how)
		return f.fix(e.h.inspect("look for who talks to the runtime besides the node", "journalctl -u containerd --since -1h"))
	}
	f.text = fmt.Sprintf("%s sent %s to the main process of container %s%s; it ended %s. The node did not order it.", prose.Upper(senderWords(b)), signalName(b.Signal), e.run.Container, e.after(), how)
	if b.SenderPod != nil && b.SenderPod.UID == e.h.Pod.UID {
		return f.fix(e.h.specFix(fmt.Sprintf("look for a command that does so in the scripts, hooks and probes of container %s, and correct it; none may be there, for kubectl exec leaves no trace in the spec", b.SenderContainer)))
	}
	return f.fix(kubectl.OnNode("see what that process is, if it still runs", shell.Linef("ps -o pid,ppid,user,lstart,args -p %d", b.SenderPID)))
}

// lastSignal is the newest signal to the main process that its end follows from.
func (e ending) lastSignal() (*fact.Fact, fact.Signalled) {
	for f, b := range newest[fact.Signalled](e.run.Signals) {
		gap := e.at.Sub(f.When())
		if !b.Main || gap < -fact.OOMFollowedWithin {
			continue
		}
		died := e.exit.Signal == b.Signal || e.exit.Signal == 0 && e.exit.ExitCode == 128+b.Signal
		switch b.Signal {
		case 2, 15: // asks it to stop, in its own way
			if gap <= heeds && e.exit.Signal != sigkill && !slices.Contains(fact.Faults, e.exit.Signal) {
				return f, b
			}
		default: // others ask for something else (a JVM's SIGQUIT for its threads), unless it dies of them
			if gap <= fact.OOMFollowedWithin && (died || b.Signal == 3) {
				return f, b
			}
		}
	}
	return nil, fact.Signalled{}
}

// handedOn is the end of a child whose status the main process passed on.
func (e ending) handedOn() (*fact.Fact, fact.ProcessEnded) {
	if e.by() != itself {
		return nil, fact.ProcessEnded{}
	}
	for f, b := range newest[fact.ProcessEnded](e.run.Ended) {
		if !b.Main && b.Signal != 0 && e.exit.ExitCode == 128+b.Signal && e.at.Sub(f.When()).Abs() <= fact.OOMFollowedWithin {
			return f, b
		}
	}
	return nil, fact.ProcessEnded{}
}

func childCrashHandedOn(e ending) *finding {
	at, b := e.handedOn()
	if at == nil {
		return e.crashToldByShell()
	}
	if !slices.Contains(fact.Faults, b.Signal) {
		return nil
	}
	return e.finds(answer.AppCrashSignal, certain, at).
		says("A child process of container %s%s crashed%s: it died of %s%s. The main process was not hit: it handed on exit code %d.",
			e.run.Container, inBrackets("", process(b.Command, b.PID)), e.after(), signalName(b.Signal), crashMeaning(b.Signal), e.exit.ExitCode).
		fix(e.h.logsFix(e.run))
}

// crashToldByShell: nobody saw the child end, and the shell that waited for it says how it did.
func (e ending) crashToldByShell() *finding {
	n := e.exit.ExitCode - 128
	if e.by() != itself || !slices.ContainsFunc(e.exit.LastLines, func(line string) bool { return words.DiedOf(line) == n }) {
		return nil
	}
	f := e.finds(answer.AppCrashSignal, strong).
		says("A child process of container %s crashed%s: its shell says that it died of %s%s, and handed on exit code %d.",
			e.run.Container, e.after(), signalName(n), crashMeaning(n), e.exit.ExitCode).
		fix(e.h.logsFix(e.run))
	if heap := heapSaid(e); heap != nil { // why it ended itself
		f.text, f.fixes = heap.text, heap.fixes
	}
	return f
}

func childKillHandedOn(e ending) *finding {
	at, b := e.handedOn()
	if at == nil {
		return nil
	}
	for f, s := range each[fact.Signalled](e.run.Signals) {
		if s.PID != b.PID || s.Signal != b.Signal || s.Origin != fact.FromHost && s.Origin != fact.FromContainer || e.h.ItsOwn(s, e.run.Container) {
			continue
		}
		return e.finds(answer.KilledByOther, certain, f, at).
			says("%s sent %s to a child process of container %s%s; the main process handed on its exit code %d.",
				prose.Upper(senderWords(s)), signalName(s.Signal), e.run.Container, inBrackets("", process(b.Command, b.PID)), e.exit.ExitCode).
			fix(e.h.logsFix(e.run))
	}
	return nil
}

// childKilled says whether the main process handed on that a child was killed,
// and nobody knows by whom.
func (e ending) childKilled() bool {
	at, b := e.handedOn()
	return at != nil && slices.Contains(kills, b.Signal) &&
		!slices.ContainsFunc(e.run.Signals, func(f *fact.Fact) bool { return fact.Of[fact.Signalled](f).PID == b.PID })
}

const (
	sigkill = 9
	sigxcpu = 24
)

func cpuTimeLimit(e ending) *finding {
	look, limit := e.run.CPUTime()
	if limit == 0 {
		look, limit = e.otherCPUTime()
	}
	f := e.finds(answer.AppCrashSignal, certain, look).fix(e.h.logsFix(e.run))
	how := prose.Whether(limit > 0, fmt.Sprintf("the %s of CPU time that it may use (RLIMIT_CPU)", prose.Span(limit)), "more CPU time than it may use (RLIMIT_CPU)")
	f.text = fmt.Sprintf("The main process of container %s used up %s%s, so the kernel ended it with %s.", e.run.Container, how, e.after(), signalName(e.exit.Signal))
	f.first(e.h.specFix("raise or drop the limit of CPU time (ulimit -t in the start script or image), or find out what the program computes"))
	switch sender, _ := e.lastSignal(); {
	case e.exit.Signal == sigxcpu:
		return f
	case e.exit.Signal != sigkill || limit == 0 || e.exit.MainOOMKilled || sender != nil:
		return nil
	case !e.exit.ByKernel:
		f.weight = strong // as likely as that somebody killed it, unless one was seen
		if e.endedByCPUTime() {
			f.because = []string{"An earlier end was seen to be of that kind; of this one less was seen."}
		}
		if e.order() == orderUnknown {
			f.weight = weak
		}
	}
	return f
}

// endedByCPUTime says whether another run was seen to be killed by the kernel at such a limit.
func (e ending) endedByCPUTime() bool {
	return slices.ContainsFunc(e.h.Runs(e.run.Container), func(r *history.Run) bool {
		if r == e.run || r.Exit == nil {
			return false
		}
		b := fact.Of[fact.Exited](r.Exit)
		_, limit := r.CPUTime()
		return b.ByKernel && b.Signal == sigkill && !b.MainOOMKilled && limit > 0
	})
}

// otherCPUTime is the limit of another run: of a short one often nobody saw anything.
func (e ending) otherCPUTime() (*fact.Fact, time.Duration) {
	for _, r := range slices.Backward(e.h.Runs(e.run.Container)) {
		if look, limit := r.CPUTime(); limit > 0 {
			return look, limit
		}
	}
	return nil, 0
}
