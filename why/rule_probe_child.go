package why

import (
	"fmt"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// probeWorkersEnd: the main process holds the port, and whom it starts to answer ends each time.
func probeWorkersEnd(p *probing) *finding {
	said := p.complained()
	if p.mode != silent || len(p.run.OOMKills) > 0 || said.at == nil || len(p.failed) == 0 {
		return nil
	}
	if _, lines := p.log(); words.LastOf(lines, knowledge.WorkerLate) >= 0 {
		return nil // its own server ends each for being late
	}
	first, since := p.failed[0], p.until.Add(-2*p.period())
	ends, last := int64(0), (*fact.Fact)(nil)
	command := ""
	for f, b := range newest[fact.ProcessEnded](p.run.Ended) {
		if b.Main || b.Parent != 0 && p.run.Started != nil && b.Parent != fact.Of[fact.Started](p.run.Started).PID || b.Signal == 0 && b.ExitCode == 0 || f.When().Before(first.When().Add(-p.timeout())) && len(p.before) > 0 {
			continue
		}
		if last == nil {
			last, command = f, b.Command
		}
		if b.Command == command {
			ends += 1 + b.Alike
		}
	}
	if last == nil || ends < usual || len(p.before) > 0 && last.When().Before(since) { // of many alike the newest are only counted
		return nil
	}
	b := fact.Of[fact.ProcessEnded](last)
	how := prose.Whether(b.Signal != 0, "of "+signalName(b.Signal), fmt.Sprintf("with exit code %d", b.ExitCode))
	f := p.finds(answer.ChildProcessEnded, strong).fix(p.h.logsFix(p.run)).
		says("The main process of container %s listens, and the processes that it starts to answer end each time: %d so far (%s, %s), so nobody answers %s.",
			p.run.Container, ends, process(b.Command, b.PID), how, p.what())
	p.quoteInto(f)
	f.chain = append(f.chain, link(last))
	return f
}

// probeWorkerDied: the request was given to a worker, which died of it.
func probeWorkerDied(p *probing) *finding {
	if p.mode != broken || len(p.run.OOMKills) > 0 || p.run.Exit != nil && newEnding(p.h, p.run).order() != ordered {
		return nil
	}
	for ended, b := range each[fact.ProcessEnded](p.run.Ended) {
		meanwhile := slices.ContainsFunc(p.failed, func(at *fact.Fact) bool {
			return !ended.When().Before(at.When()) && ended.When().Sub(at.Seen) <= time.Second
		})
		if b.Main || b.Signal == 0 && b.ExitCode == 0 || !meanwhile {
			continue
		}
		return p.finds(answer.ChildProcessEnded, strong, ended).
			says("A process of container %s%s %s while it was to answer %s, which broke off; the main process still runs.", p.run.Container, inBrackets("", process(b.Command, b.PID)), howEnded(b), p.what()).
			fix(p.h.logsFix(p.run))
	}
	return nil
}

// probeDiedAnswering: the node's kill came when the process was about to end of itself.
func probeDiedAnswering(p *probing) *finding {
	if p.run.Exit == nil || len(p.failed) == 0 {
		return nil
	}
	exit, last := fact.Of[fact.Exited](p.run.Exit), p.failed[len(p.failed)-1]
	if modeOf(fact.Of[fact.Probed](last)) != broken || !exit.StatusKnown || exit.Signal != 0 || exit.ExitCode == 0 || exit.ExitCode > 128 ||
		exit.Vanished || p.run.Exit.When().Sub(last.Seen).Abs() > time.Second {
		return nil
	}
	f := p.finds(answer.AppExitError, fair).fix(p.h.logsFix(p.run)).
		says("The main process of container %s ended by itself with exit code %d while it was to answer %s, which broke off.", p.run.Container, exit.ExitCode, p.what())
	if said := newEnding(p.h, p.run).lastWord(); said != "" {
		f.because = []string{"Its last message: " + answer.RoleEnd.Mark(prose.Brief(said, kept)) + "."}
	}
	return f
}

// oomBefore is how long before the first failed attempt the OOM kill of a worker
// may lie to be taken for its reason.
const oomBefore = 15 * time.Second

// probeChildOOM: a worker was OOM-killed, the container lived on, and the probe failed.
func probeChildOOM(p *probing) *finding {
	kills := p.childrenKilled()
	if len(kills) == 0 || len(p.failed) == 0 || p.h.leftBehind(p.run).kill != nil {
		return nil
	}
	f := &finding{weight: strong, chain: p.chain(kills[max(0, len(kills)-mostKills):]...)}
	newest := kills[len(kills)-1]
	for _, k := range kills { // not each record of many came whole
		if fact.Of[fact.OOMKilled](k).Limit > 0 {
			newest = k
		}
	}
	last := oomRecord(fact.Of[fact.OOMKilled](newest))
	p.h.blameOOM(f, p.run, newest)
	n := len(p.before)
	wellSince := n > 0 && p.before[n-1].When().After(kills[len(kills)-1].When())
	switch {
	case p.mode == broken && p.diedMeanwhile(kills):
		f.weight = certain // who was to answer was killed
	case p.mode == answered && p.last.Evidence.Status < 500, p.mode == impossible, p.mode == mismatch:
		return nil
	case p.mode == exitCode && p.ownCommandKilled(kills):
	case (p.mode == exitCode || p.mode == answered) && p.livedThrough(kills[0]) >= usual:
		f.weight = weak
	case p.late() && p.diedAllTheWhile(kills):
		f.weight = certain // whoever is to answer is killed again and again
	case p.mode == exitCode, p.mode == answered && (p.told() || wellSince), !p.told() && !p.worked():
		f.weight = fair
	case p.late() && killedIn(kills, p.from.Add(-p.timeout()), p.from): // nobody was left to give the answer
		f.weight = certain // a busy node or a queue is no rival to that
	}
	if f.cause == answer.MemoryLimitChild {
		f.text = fmt.Sprintf("Container %s hit its memory limit%s: the kernel OOM-killed %s%s and the container kept running without it.",
			p.run.Container, ofSize(last.Limit), prose.Plural(len(kills), "child process"), inBrackets("last ", process(last.Command, last.PID)))
		f.fix(p.h.memoryFixes(p.run, last)...)
	}
	then := "then "
	if _, who, known := p.servedBy(); p.mode == refused && known && who.PID != 0 {
		if ended, b := p.childEnded(who.PID); p.followedOOM(ended) != nil {
			f.chain = append(f.chain, link(ended))
			then = fmt.Sprintf("then the process that served port %d ended as well%s, and ", p.port(), inBrackets("", process(b.Command, b.PID)))
		}
	}
	if kills[0].When().After(p.until) {
		then = "while its processes waited for memory, shortly before the first of them was killed, "
	}
	f.then = []string{then + p.what() + " failed: " + p.how() + "."}
	return f
}

// childrenKilled are the OOM kills of children that the failed attempts may come from.
func (p *probing) childrenKilled() (kills []*fact.Fact) {
	for _, f := range p.run.OOMKills {
		if at := f.When(); !fact.Of[fact.OOMKilled](f).Main && at.After(p.from.Add(-oomBefore)) && !at.After(p.stalledUntil()) {
			kills = append(kills, f)
		}
	}
	return kills
}

// mostKills is how many OOM kills a chain shows, the newest.
const mostKills = 3

// ownCommandKilled says whether the probe's command died of SIGKILL, and one of the
// kills was made while it ran. Kubelet's word of a failure may be read before the runtime
// tells the exit code, which then is known of some of the attempts.
func (p *probing) ownCommandKilled(kills []*fact.Fact) bool {
	died := false
	for _, at := range p.failed {
		if ev := fact.Of[fact.Probed](at).Evidence; ev != nil && ev.ExitCode != nil {
			if *ev.ExitCode != 137 {
				return false
			}
			died = true
		}
	}
	return died && slices.ContainsFunc(p.failed, func(at *fact.Fact) bool {
		began := at.When()
		if b := fact.Of[fact.Probed](at); b.By == fact.BySay && b.Took == 0 {
			began = began.Add(-p.timeout()) // what is told is when it was over
		}
		return killedIn(kills, began, at.Seen.Add(time.Second))
	})
}

// usual is how many OOM kills without a consequence make the next one no reason for
// what the application says.
const usual = 3

// livedThrough counts the OOM kills of children before one, in the same run, that no
// failed attempt followed.
func (p *probing) livedThrough(kill *fact.Fact) int {
	n := 0
	for _, f := range p.run.OOMKills {
		followed := slices.ContainsFunc(p.run.Probes, func(at *fact.Fact) bool {
			ago := at.When().Sub(f.When())
			return bad(fact.Of[fact.Probed](at)) && ago >= 0 && ago <= oomBefore
		})
		if f.ID < kill.ID && !fact.Of[fact.OOMKilled](f).Main && !followed {
			n++
		}
	}
	return n
}

// diedAllTheWhile says whether there was a kill, at least, between each two of the attempts that were not answered.
func (p *probing) diedAllTheWhile(kills []*fact.Fact) bool {
	for i := 1; i < len(p.failed); i++ {
		if !killedIn(kills, p.failed[i-1].When(), p.failed[i].Seen) {
			return false
		}
	}
	return len(p.failed) > 1 && len(kills) >= usual
}

// killedIn says whether one of some kills was made in a time.
func killedIn(kills []*fact.Fact, from, until time.Time) bool {
	return slices.ContainsFunc(kills, func(f *fact.Fact) bool { return !f.When().Before(from) && !f.When().After(until) })
}

// diedMeanwhile says whether there was a kill during each attempt that broke off, of at least
// two: what it is asked for takes the memory, and it need never have been well.
func (p *probing) diedMeanwhile(kills []*fact.Fact) bool {
	broke := 0
	for _, at := range p.failed {
		if modeOf(fact.Of[fact.Probed](at)) != broken {
			continue
		}
		if broke++; !killedIn(kills, at.When(), at.Seen.Add(time.Second)) {
			return false
		}
	}
	return broke >= 2
}

// stalledUntil is until when the OOM kill of a worker may come to explain the
// attempts. At the limit the kernel searches for pages to take back before it
// kills, and all processes of the cgroup wait for that meanwhile: they do not
// answer, and the kill comes after the attempts.
func (p *probing) stalledUntil() time.Time {
	if p.mode != silent && p.mode != commandLate && p.mode != unreachable || p.run.Exit == nil {
		return p.until
	}
	return earliest(p.run.Exit.When(), p.until.Add(oomBefore))
}

func earliest(a, b time.Time) time.Time { return prose.Whether(b.Before(a), b, a) }

// probeProcessStopped: the process that should answer is stopped or traced: the
// main one, or the one that holds the probed port.
func probeProcessStopped(p *probing) *finding {
	at, look, ok := p.look()
	if !ok || p.mode == noSidecar { // the application was not asked
		return nil
	}
	who, pid, state := "The main process", look.PID, look.State
	for _, l := range p.here(look) {
		if stopped(l.State) {
			who, pid, state = fmt.Sprintf("The process that holds port %d (%s)", p.port(), prose.Brief(l.Command, 30)), l.PID, l.State
		}
	}
	weight := certain
	if one := look.Stopped; !stopped(state) && one != nil && (p.late() || p.mode == unreachable) {
		// It may have nothing to do with the probe, where nothing else says that it has.
		who, pid, state, weight = fmt.Sprintf("A process (%s)", prose.Brief(one.Command, 30)), one.PID, one.State, strong
	}
	if !stopped(state) {
		return nil
	}
	return p.finds(answer.ProcessStopped, weight, at).
		says("%s of container %s (pid %d on the node) %s: it is alive and never runs, so it cannot answer.", who, p.run.Container, pid, stateWords(state)).
		fix(letGoOn(pid), kubectl.OnNode("see whether a debugger holds the process, or somebody sent SIGSTOP", shell.Linef("grep -E 'State|TracerPid' /proc/%d/status", pid)))
}

func stopped(state string) bool { return state == "T" || state == "t" }
