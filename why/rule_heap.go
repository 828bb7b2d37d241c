package why

import (
	"fmt"
	"slices"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

func heapSaid(e ending) *finding {
	if e.exit.ExitCode == 0 || e.exit.Vanished || !e.sawNoOOM() || e.exit.Signal != 0 && !slices.Contains(fact.Faults, e.exit.Signal) {
		return nil
	}
	said := ""
	for _, line := range append([]string{e.exit.Message}, e.exit.LastLines...) {
		if knowledge.NoMemory.In(line) && !words.NoFork(line) {
			said = line
		}
	}
	if said == "" {
		return nil
	}
	f := e.finds(answer.AppExitError, strong).fix(e.h.logsFix(e.run))
	how := fmt.Sprintf("with exit code %d", e.exit.ExitCode)
	if e.exit.Signal != 0 {
		f.cause, f.weight, how = answer.AppCrashSignal, certain, "by "+signalName(e.exit.Signal)
	} else if e.exit.ExitCode == 128+sigabrt && !e.exit.StatusKnown { // as V8 and the JVM end themselves when the heap is full
		f.cause = answer.AppCrashSignal
	}
	said = e.reasonFor(said)
	f.text = fmt.Sprintf("Container %s ended%s %s because its program could get no more memory. The kernel killed nothing: there was no OOM kill at the container's limit. It said: %s.", e.run.Container, e.after(), how, quote(said, quotedHint))
	return f.fix(e.h.specFix(e.moreMemory(said)))
}

// quotedHint is how much is quoted of words that may have advice in them.
const quotedHint = 440

// reasonFor is what the process said last of why, where that line is part of it, or the line.
func (e ending) reasonFor(said string) string {
	line := logline.Message(said)
	if all := e.story().Reason(); strings.Contains(all, line) {
		return all
	}
	return line
}

// moreMemory is what lets a program have more memory, by what it said and is set to.
func (e ending) moreMemory(said string) string {
	g, sized := heapOf(e.spec)
	switch {
	case sized:
		text := fmt.Sprintf("find what fills its heap, or allow it a larger one than %s", g)
		if limit := e.limit(); limit > 0 && float64(g.bytes) > besideHeap*float64(limit)/2 {
			text += fmt.Sprintf(", and the container more than %s of memory with it", prose.Size(limit))
		}
		return text
	case knowledge.HugePages.In(said):
		return "have it use no huge pages (huge_pages of PostgreSQL, -XX:+UseLargePages of Java), or give the container some, as hugepages-2Mi among its limits, on a node that has them; or have it ask for less"
	case knowledge.RefusedMemory.In(said):
		return "have it ask for less (caches, shared buffers, workers), or lift what refuses it more: a limit of its address space (ulimit -v in its start script), or the node's rule for how much it promises (vm.overcommit_memory)"
	}
	return "find what fills its heap, or allow it a larger one (-Xmx, --max-old-space-size, ulimit -v); the container's memory limit matters only as far as the heap's is derived from it"
}
