package why

import (
	"fmt"
	"slices"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// kills are the signals that others send, and that end a process which does not heed
// them: SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGUSR1, SIGUSR2 and SIGTERM.
var kills = []int32{1, 2, 3, 9, 10, 12, 15}

// killedFromOutside: somebody who is not the node sent the signal.
func killedFromOutside(e ending) *finding {
	n, seen := e.exit.Signal, true
	if n == 0 {
		n, seen = e.exit.ExitCode-128, false
	}
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
		return &finding{
			cause: answer.NodeRestarted, weight: strong, chain: append(e.chain(), link(boot)),
			text:  fmt.Sprintf("The machine was restarted; container %s ended with it, and its exit code is not known.", e.run.Container),
			fixes: []answer.Fix{e.h.inspect("see why the machine restarted", "journalctl -b -1 -e")},
		}
	}
	if e.order() != unordered {
		return nil // whoever decides here removes what has ended
	}
	return e.finds(answer.RemovedByOther, strong).
		says("Container %s was removed from the container runtime by something other than the node; how it ended is not known.", e.run.Container).
		fix(e.h.inspect("look for who talks to the runtime besides the node", "journalctl -u containerd --since -1h"))
}
