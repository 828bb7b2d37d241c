package why

import (
	"fmt"
	"slices"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// listenerEnded finds a container that looks well since no probe asks it, and whose process that
// served is gone: a start script puts that into the background, and something else goes on.
func (h *inquiry) listenerEnded(run *history.Run) *finding {
	if len(run.Looks) == 0 {
		return nil
	}
	at := run.Looks[len(run.Looks)-1]
	now := fact.Of[fact.Looked](at)
	if now.Error != "" || h.Now.Sub(at.When()) > lookedLately {
		return nil
	}
	for ended, b := range newest[fact.ProcessEnded](run.Ended) {
		served := listenedOn(run, b.PID)
		if b.Main || served.Address == "" || slices.ContainsFunc(now.Listeners, func(l fact.Listener) bool { return l.Address == served.Address }) {
			continue
		}
		f := &finding{container: run.Container, weight: strong, cause: answer.ChildProcessEnded, rule: "listener-gone", chain: links(ended, at)}
		f.text = fmt.Sprintf("Container %s looks healthy and serves nobody on %s any more: its process%s that listened there %s, and its main process runs on without it.",
			run.Container, served.Address, inBrackets("", process(b.Command, b.PID)), howEnded(b))
		if c, ok := complaint(at, now, ended.When().Add(-quickly)); ok && !c.Before {
			f.because = []string{itsLog(c.Text)}
		}
		return f.fix(h.logsFix(run), h.specFix("have that process be the container's main one (exec it last, and send its log to standard output), so that its end is the container's and it is started again"))
	}
	return nil
}

// listenedOn is where a process of a run listened; empty where it was not seen to.
func listenedOn(run *history.Run, pid int) fact.Listener {
	for _, f := range run.Looks {
		for _, l := range fact.Of[fact.Looked](f).Listeners {
			if l.PID == pid && pid != 0 && !l.Other {
				return l
			}
		}
	}
	return fact.Listener{}
}
