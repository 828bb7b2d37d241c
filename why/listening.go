package why

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
)

// listening is what the pod's containers listen on, by the newest look into one
// that still runs: its containers share a network namespace, so one look sees all.
// Ports that were probed well since then count too.
func (h *inquiry) listening() *answer.Listening {
	var newest *fact.Fact
	for run := range h.running("") {
		for _, f := range run.Looks {
			if fact.Of[fact.Looked](f).Error == "" && (newest == nil || f.Seen.After(newest.Seen)) {
				newest = f
			}
		}
	}
	if newest == nil {
		return nil
	}
	l := listeningIn(newest.Seen, fact.Of[fact.Looked](newest))
	l.From, l.Busy, l.Throttled = fact.Of[fact.Looked](newest).From, h.busy(), h.throttled()
	for f, b := range every[fact.Probed](h.Facts) {
		if b.Verdict == fact.Success && b.Evidence != nil && b.Evidence.Handler != fact.Exec && !f.Seen.Before(newest.Seen) {
			p := probing{last: b}
			l.Add(strconv.Itoa(p.port()))
		}
	}
	slices.Sort(l.Ports)
	return l
}

func listeningIn(at time.Time, look fact.Looked) *answer.Listening {
	l := &answer.Listening{At: at, Ports: []int32{}}
	for _, s := range look.Listeners {
		host, port, ok := splitAddress(s.Address)
		switch {
		case !ok:
		case loopback(host):
			l.AddLoopback(port)
		default:
			l.Add(port)
			if n := len(l.Ports); n > 0 && s.Backlog == 0 && !s.V6Only && strconv.Itoa(int(l.Ports[n-1])) == port { // of a file, it may be no number
				l.Room = append(l.Room, l.Ports[n-1])
			}
		}
	}
	return l
}

// sampledLately and shortest bound the samples that tell how busy a container is now.
const sampledLately, shortest = 30 * time.Second, 200 * time.Millisecond

// busy is how many processors the containers that run keep busy; nil where that was not seen
// of each.
func (h *inquiry) busy() *float64 {
	var all float64
	for run := range h.running("") {
		part, ok := h.busyIn(run)
		if !ok {
			return nil
		}
		all += part
	}
	return &all
}

// throttled words which container that runs its own CPU limit stalled lately, in at least half of
// the kernel's periods; "" where none was.
func (h *inquiry) throttled() string {
	for run := range h.running("") {
		spec := h.spec(run.Container)
		if spec.Resources.Limits.Cpu().IsZero() {
			continue
		}
		first, last := samples(run, h.Now.Add(-sampledLately), h.Now)
		if first == nil {
			continue
		}
		a, b := fact.Of[fact.Sampled](first), fact.Of[fact.Sampled](last)
		periods, stalled := b.Periods-a.Periods, b.ThrottledPeriods-a.ThrottledPeriods
		if periods >= fewestPeriods && 2*stalled >= periods {
			return fmt.Sprintf("its own CPU limit of %s stalled container %s in %d of %d periods within %s", spec.Resources.Limits.Cpu(), run.Container, stalled, periods, prose.Span(last.Seen.Sub(first.Seen)))
		}
	}
	return ""
}

// fewestPeriods are those of the kernel's quota, 100 ms each, that tell how it goes.
const fewestPeriods = 5

func (h *inquiry) busyIn(run *history.Run) (part float64, ok bool) {
	if u, ok := newestUse(run, h.Now.Add(-sampledLately), h.Now, shortest); ok {
		return u.part(u.cpu), true
	}
	if n := len(run.Looks); n > 0 && h.Now.Sub(run.Looks[n-1].Seen) <= sampledLately {
		if look := fact.Of[fact.Looked](run.Looks[n-1]); look.Processes == 1 && look.Over > 0 {
			return share(look), true
		}
	}
	return 0, false
}

// listenerEnded finds a container that looks well since no probe asks it, and whose process that
// served is gone: a start script puts that into the background, and something else goes on.
func (h *inquiry) listenerEnded(run *history.Run) *finding {
	at, now := h.freshLook(run)
	if at == nil {
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
