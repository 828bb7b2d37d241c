package why

import (
	"fmt"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

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
	how := fmt.Sprintf("with %s", signalName(b.Signal))
	if e.exit.Signal != b.Signal && e.exit.ExitCode != 128+b.Signal {
		how = fmt.Sprintf("on its %s (exit code %d)", signalName(b.Signal), e.exit.ExitCode)
	}
	switch {
	case b.SenderPID == b.PID && b.PID != 0 && e.exit.Signal != b.Signal && e.exit.ExitCode != 128+b.Signal:
		return nil // a way to end that it has heeded by itself, with a code of its own
	case b.SenderPID == b.PID && b.PID != 0:
		f.cause = answer.AppCrashSignal
		f.text = fmt.Sprintf("The main process of container %s ended itself%s: it sent %s to itself.", e.run.Container, e.after(), signalName(b.Signal))
		return f
	case b.Origin == fact.FromNode:
		f.text = fmt.Sprintf("Container %s was ended%s %s through the container runtime, and not by the node: somebody else told the runtime to.", e.run.Container, e.after(), how)
		return f.fix(e.h.inspect("look for who talks to the runtime besides the node", "journalctl -u containerd --since -1h"))
	}
	f.text = fmt.Sprintf("%s sent %s to the main process of container %s%s; it ended %s. The node did not order it.", prose.Upper(senderWords(b)), signalName(b.Signal), e.run.Container, e.after(), how)
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
