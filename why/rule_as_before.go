package why

import (
	"slices"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// asBefore is the rule that explains an end of which too little was seen by earlier
// ends of the container: on a busy machine not every look comes in time.
const asBefore = "as-before"

// sameEnd is what makes two ends alike: the node ordered both for the same probe, and
// its attempts failed in the same way, or both were its own with one exit code.
type sameEnd struct {
	reason fact.KillReason
	mode   mode
	code   int32
}

func (h *inquiry) endBy(r *history.Run) (sameEnd, bool) {
	if e := newEnding(h, r); !e.killed() {
		return sameEnd{code: e.exit.ExitCode}, e.failed()
	}
	reason := fact.Of[fact.Kill](r.Kill).Reason
	kind, ok := probeOfKill[reason]
	if !ok {
		return sameEnd{}, false
	}
	return sameEnd{reason: reason, mode: newProbing(h, r, kind, r.Kill.Because).mode}, true
}

// wordless says whether a run ended with an error of its own, of which its exit code is all that
// is known: logs go through the runtime, and what is said while that does not run is lost.
func (h *inquiry) wordless(r *history.Run, v answer.Verdict) bool {
	return v.Rule == "own-exit" && newEnding(h, r).saidNothing()
}

func (e ending) saidNothing() bool { return e.exit.Message == "" && len(e.exit.LastLines) == 0 }

// loggedNothing says whether the log of the run was read, and is empty.
func (e ending) loggedNothing() bool { return e.saidNothing() && e.h.FromAPI && !e.unread() }

// asBefore explains the last of several ends, which v leaves open. Needs: earlier ends
// like it under the same spec, of which those that are explained have one cause. Against
// it: something about the last end that rules this cause out, or fits others only.
func (h *inquiry) asBefore(v answer.Verdict, ends []*history.Run, earlier []answer.Verdict) answer.Verdict {
	last := ends[len(ends)-1]
	how, ok := h.endBy(last)
	if !ok || how.code != 0 && !h.wordless(last, v) {
		return v
	}
	var known *answer.Verdict
	for i, r := range slices.Backward(ends[:len(ends)-1]) {
		e := &earlier[i]
		if h.SpecChanged(r, last) {
			break
		}
		if like, ok := h.endBy(r); !ok || like != how || e.Cause == answer.CauseUnknown || how.code != 0 && newEnding(h, r).saidNothing() {
			continue
		}
		if known != nil && e.Cause != known.Cause {
			return v
		}
		if known == nil {
			known = e
		}
	}
	if known == nil || known.Cause == v.Cause || len(v.Possible) > 0 && !slices.Contains(v.Possible, known.Cause) ||
		slices.ContainsFunc(v.RuledOut, func(n answer.Note) bool { return n.Cause == known.Cause }) {
		return v
	}
	v.Cause, v.Certainty, v.Rule, v.Container = known.Cause, answer.Inferred, asBefore, known.Container
	v.SayAs(*known)
	v.SayThen("That was seen at an earlier end. Of the last one less was seen; it went the same way.")
	v.Chain, v.Fixes, v.Missing = inOrder(append(slices.Clone(known.Chain), v.Chain...)), known.Fixes, ""
	v.RuledOut = append(v.RuledOut, slices.DeleteFunc(slices.Clone(known.RuledOut), func(n answer.Note) bool {
		return slices.ContainsFunc(v.RuledOut, func(have answer.Note) bool { return have.Cause == n.Cause })
	})...)
	return v
}
