package why

import (
	"slices"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

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

// handedOnBefore is the same of an earlier run: what ends in the same way again and again
// is told once, and then only counted.
func (e ending) handedOnBefore() (*fact.Fact, fact.ProcessEnded) {
	for _, r := range slices.Backward(e.h.Runs(e.run.Container)) {
		if r.Exit == nil || r.Attempt >= e.run.Attempt {
			continue
		}
		if o := newEnding(e.h, r); o.exit.ExitCode == e.exit.ExitCode && e.exit.Signal == 0 {
			if at, b := o.handedOn(); at != nil {
				return at, b
			}
		}
	}
	return nil, fact.ProcessEnded{}
}

func childCrashHandedOn(e ending) *finding {
	at, b := e.handedOn()
	if at == nil {
		if at, b = e.handedOnBefore(); at != nil {
			b.PID = 0
		}
	}
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
