package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// crashes are the signals that a process brings upon itself.
var crashes = []int32{4, 5, 6, 7, 8, 11, 31}

// crashSignal: it died of a signal of its own making. Needs: the signal from
// the kernel, or an exit code of 128 plus such a signal. Against it: an exit code
// says that only by convention, so without the kernel's word the answer says so.
func crashSignal(e ending) *finding {
	n, seen := e.exit.Signal, true
	if n == 0 {
		n, seen = e.exit.ExitCode-128, false
	}
	if !slices.Contains(crashes, n) {
		return nil
	}
	f := &finding{cause: AppCrashSignal, weight: certain, chain: e.chain(), fixes: e.h.logsFix(e.run)}
	f.text = fmt.Sprintf("The main process of container %s crashed%s: it died of %s.", e.run.Container, e.after(), signalName(n))
	if !seen {
		f.weight = strong
		f.text = fmt.Sprintf("The main process of container %s crashed%s: exit code %d stands for %s (by convention: the kernel's own word was not seen).",
			e.run.Container, e.after(), e.exit.ExitCode, signalName(n))
	}
	return f
}

// killedFromOutside: somebody who is not the node sent the signal. Needs: a kill
// signal, no kill by the node, and the knowledge that it was not the OOM killer.
func killedFromOutside(e ending) *finding {
	n, seen := e.exit.Signal, true
	if n == 0 {
		n, seen = e.exit.ExitCode-128, false
	}
	if !slices.Contains([]int32{1, 2, 3, 9, 15}, n) || e.exit.MainOOMKilled || e.exit.Vanished {
		return nil
	}
	f := &finding{cause: KilledByOther, weight: weak, chain: e.chain()}
	if n == 9 && (!e.exit.OOMKnown || e.exit.OOMKills > 0) {
		return f // the OOM killer is not out of the question
	}
	f.text = fmt.Sprintf("Something that is not the node ended container %s%s with %s; no kill was ordered here, and no OOM kill was seen in it.", e.run.Container, e.after(), signalName(n))
	f.fixes = append(e.h.logsFix(e.run), e.h.inspect("look for who did it on the node", "journalctl --since -1h | grep -iE 'kill|oom'"))
	switch {
	case seen:
		f.weight = strong
	case n == 9:
		f.weight = fair
		f.text = fmt.Sprintf("Container %s ended%s with exit code 137 (128 + SIGKILL). The node did not end it, and none of its processes was OOM-killed: something else killed it, or it handed on the 137 of a child that was killed.", e.run.Container, e.after())
	}
	return f
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
	return &finding{
		cause: AppStartFailed, weight: strong, chain: e.chain(),
		text:  fmt.Sprintf("Container %s ended at once with exit code %d: its shell %s.", e.run.Container, code, what),
		fixes: append(e.h.logsFix(e.run), e.h.specFix("correct command and args, or use an image that has the program")),
	}
}

// diskFullSaid: the application's last words are ENOSPC's.
func diskFullSaid(e ending) *finding {
	if e.exit.ExitCode == 0 || !strings.Contains(strings.ToLower(e.exit.Message), "no space left on device") {
		return nil
	}
	return &finding{
		cause: DiskFull, weight: strong, chain: e.chain(),
		text:  fmt.Sprintf("Container %s ended%s because it could not write: %s.", e.run.Container, e.after(), brief(e.exit.Message, kept)),
		fixes: []Fix{e.h.inspect("see what fills its file systems", e.h.exec(e.run.Container, "df -h"))},
	}
}

// ownExit: it ended by itself with an error. Needs: an exit code of its own, no
// kill by the node. Against it: an OOM kill right before, or nobody having
// looked while the runtime says OOMKilled.
func ownExit(e ending) *finding {
	code := e.exit.ExitCode
	if code == 0 || e.exit.Vanished || e.exit.Signal != 0 || e.exit.MainOOMKilled {
		return nil
	}
	f := &finding{cause: AppExitError, weight: fair, chain: e.chain(), fixes: e.h.logsFix(e.run)}
	f.text = fmt.Sprintf("The main process of container %s ended by itself%s with exit code %d; the node did not ask it to.", e.run.Container, e.after(), code)
	if e.exit.Message != "" {
		f.text = fmt.Sprintf("The main process of container %s ended by itself%s with exit code %d, saying: %s", e.run.Container, e.after(), code, brief(e.exit.Message, kept))
	}
	if code > 128 && signals[code-128] != "" {
		f.weight = weak // as likely a signal's
	}
	if e.exit.RuntimeReason == "OOMKilled" && !e.exit.OOMKnown && len(e.run.OOMKills) == 0 {
		f.weight = weak
	}
	return f
}

// ownSuccess: it ended by itself with 0, and its policy starts it again.
func ownSuccess(e ending) *finding {
	if e.exit.ExitCode != 0 || e.exit.Vanished {
		return nil
	}
	f := &finding{cause: AppExitSuccess, weight: strong, chain: e.chain()}
	f.text = fmt.Sprintf("The main process of container %s ended by itself%s with exit code 0, as if its work were done.", e.run.Container, e.after())
	f.fixes = e.h.logsFix(e.run)
	if e.h.Object != nil && e.h.Object.Spec.RestartPolicy == v1.RestartPolicyAlways {
		f.text += " Under restartPolicy Always it is started again."
		f.fixes = append(f.fixes, e.h.specFix("if it is meant to end, run it as a Job (restartPolicy OnFailure); if not, keep its main process in the foreground"))
	}
	return f
}

// vanished: the container is gone without a trace, and nobody saw it end.
func vanished(e ending) *finding {
	if !e.exit.Vanished {
		return nil
	}
	if boot := e.h.rebootBefore(e.run.Exit); boot != nil {
		return &finding{
			cause: NodeRestarted, weight: strong, chain: append(e.chain(), link(boot)),
			text:  fmt.Sprintf("The machine was restarted; container %s ended with it, and its exit code is not known.", e.run.Container),
			fixes: []Fix{e.h.inspect("see why the machine restarted", "journalctl -b -1 -e")},
		}
	}
	return &finding{
		cause: RemovedByOther, weight: strong, chain: e.chain(),
		text:  fmt.Sprintf("Container %s was removed from the container runtime behind the node's back; how it ended is not known.", e.run.Container),
		fixes: []Fix{e.h.inspect("look for who talks to the runtime besides the node", "journalctl -u containerd --since -1h")},
	}
}

// rebootBefore is the start of an agent after a reboot, in the time of a run's
// end; nil when there was none.
func (h *History) rebootBefore(exit *fact.Fact) *fact.Fact {
	for _, f := range All[fact.AgentStarted](h.Node) {
		b := of[fact.AgentStarted](f)
		if b.Previous == "reboot" && !f.Seen.After(exit.Seen.Add(time.Minute)) && !b.LastSeen.IsZero() && exit.Seen.After(b.LastSeen) {
			return f
		}
	}
	return nil
}
