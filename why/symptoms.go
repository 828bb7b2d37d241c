package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
)

// trouble is a symptom together with how to explain it.
type trouble struct {
	answer.Symptom
	explain func() answer.Verdict
}

// troubles lists what needs an explanation, worst first: what is so now, and
// what happened as far back as the history goes.
//
// What the pod suffered from until it was deleted stays to be explained when it is gone.
func (h *inquiry) troubles() []trouble {
	alive := h
	if before, at, deleted := h.UntilDeletion(); deleted {
		then := *h
		then.History, then.Now, then.good = before, at, nil
		alive = &then
	}
	all := alive.living()
	if alive != h {
		all = slices.DeleteFunc(all, func(t trouble) bool { return t.explain().Cause == answer.None })
	}
	all = append(all, h.endOfPod()...)
	slices.SortStableFunc(all, func(a, b trouble) int { return cmp.Compare(answer.Urgency(a.Kind), answer.Urgency(b.Kind)) })
	if status, _ := alive.Status(h.Policy); len(all) > 0 && status.Phase == v1.PodSucceeded { // what is done comes first
		done := func(t trouble) bool { return t.Kind == answer.Completed }
		all = append(slices.DeleteFunc(slices.Clone(all), func(t trouble) bool { return !done(t) }), slices.DeleteFunc(all, done)...)
	}
	return append(all, h.away()...)
}

// living are the troubles of the pod while it was wanted.
func (h *inquiry) living() []trouble {
	status, _ := h.Status(h.Policy)
	all := h.podTroubles(status)
	for _, name := range h.Containers() {
		if !h.IsEphemeral(name) {
			all = append(all, h.containerTroubles(name, status)...)
		}
	}
	return append(all, h.readyTroubles(status, all)...)
}

// podTroubles are those of the pod as a whole: eviction, refusal, set-up.
func (h *inquiry) podTroubles(status v1.PodStatus) []trouble {
	var all []trouble
	add := func(kind answer.SymptomKind, at time.Time, text string, find func() finding) {
		all = append(all, trouble{answer.Symptom{Kind: kind, First: at, Last: at, Count: 1, Text: text}, func() answer.Verdict { return find().verdict("", nil) }})
	}
	if f, _, ok := fact.Latest[fact.Evict](h.Facts); ok {
		add(answer.Evicted, f.Seen, "the pod was evicted from its node", h.evictionFinding)
	}
	if f, b, ok := fact.Latest[fact.Refused](h.Facts); ok {
		add(answer.Failed, f.Seen, "the node refused the pod", func() finding { return h.refusal(f, b) })
	}
	all = append(all, h.shutdownTrouble(status)...)
	if reason, message := fact.EndedFor(status); reason == "Preempting" && h.Beside != "" {
		add(answer.Failed, h.LastSeen(), "the pod was ended for one of higher priority", func() finding {
			return *concluded(answer.Preempted, certain, h.ConditionFact(v1.DisruptionTarget)).recorded().fix(h.describeFix()).
				says("The pod had to go for one of higher priority: %s.", strings.TrimSuffix(prose.Brief(message, kept), "."))
		})
	}
	if status.Phase == v1.PodFailed && status.Reason == "DeadlineExceeded" {
		add(answer.Failed, h.LastSeen(), "the pod failed: it was active for too long", h.deadlineFinding)
	}
	if failed := h.SetUpFailures(); len(failed) > 0 {
		last := failed[len(failed)-1]
		all = append(all, trouble{
			answer.Symptom{Kind: answer.NotStarting, First: failed[0].Seen, Last: last.Seen, Count: len(failed), Text: "the pod cannot be set up"},
			func() answer.Verdict { return h.explainSetUp(last) },
		})
	}
	return all
}

func (h *inquiry) containerTroubles(name string, status v1.PodStatus) []trouble {
	runs := h.Runs(name)
	if len(runs) == 0 {
		return nil
	}
	all := h.startTrouble(name, runs)
	ends := slices.DeleteFunc(slices.Clone(runs), func(r *history.Run) bool { return r.Exit == nil || r.Failed != nil })
	if t := h.hookTrouble(name); t != nil {
		return append(all, t...)
	}
	if h.IsInit(name) {
		return append(all, h.initTroubles(name, ends, status)...)
	}
	all = append(all, h.endTroubles(name, ends, status)...)
	if t := h.sidecarTrouble(name, status); t != nil {
		return append(all, t...)
	}
	return append(all, h.unreadyTroubles(name)...)
}

// endTroubles are the ends of a container: as a part of the pod's own end, or
// followed by another start.
func (h *inquiry) endTroubles(name string, ends []*history.Run, status v1.PodStatus) []trouble {
	var all []trouble
	if n := len(ends); n > 0 && final(status.Phase) && status.Reason == "" {
		last := ends[n-1]
		if all = h.finalTrouble(name, last, status); all != nil {
			ends = ends[:n-1]
		}
	}
	ends = slices.DeleteFunc(slices.Clone(ends), h.endsWithPod)
	if len(ends) == 0 {
		return all
	}
	last, count := ends[len(ends)-1], len(ends)+int(ends[0].Attempt) // the status counts those that are not kept
	text := fmt.Sprintf("container %s was restarted %s", name, prose.Times(count))
	if r := h.Last(name); r == last && !final(status.Phase) {
		text = fmt.Sprintf("container %s ended, and will be started again", name)
		if _, _, gone := fact.Latest[fact.ObjectGone](h.Facts); gone {
			text = fmt.Sprintf("container %s ended", name)
		} else if h.staysEnded(name, last) {
			text = fmt.Sprintf("container %s ended, and nothing starts it again", name)
		}
		switch {
		case count == 2:
			text = fmt.Sprintf("container %s ended twice", name)
		case count > 2:
			text = fmt.Sprintf("container %s ends again and again (%s)", name, prose.Times(count))
		}
	}
	return append(all, trouble{
		answer.Symptom{Kind: answer.Restarted, Container: name, Count: count, First: ends[0].Exit.When(), Last: last.Exit.When(), Text: text},
		func() answer.Verdict { return h.explainEnds(ends) },
	})
}

// staysEnded says whether a run that ended well is the last of its container, by the policy of
// its pod.
func (h *inquiry) staysEnded(name string, last *history.Run) bool {
	if h.Object == nil || fact.Of[fact.Exited](last.Exit).ExitCode != 0 {
		return false
	}
	own := slices.ContainsFunc(h.Object.Spec.Containers, func(c v1.Container) bool {
		return c.Name == name && (c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0)
	})
	policy := h.Object.Spec.RestartPolicy
	return !own && (policy == v1.RestartPolicyNever || policy == v1.RestartPolicyOnFailure)
}

func final(p v1.PodPhase) bool { return p == v1.PodFailed || p == v1.PodSucceeded }

// endsWithPod says whether a run was ended because the whole pod had to go.
func (h *inquiry) endsWithPod(r *history.Run) bool {
	if r.Kill == nil || !newEnding(h, r).killed() {
		return false
	}
	switch fact.Of[fact.Kill](r.Kill).Reason {
	case fact.KillDeletion, fact.KillEviction, fact.KillDeadline, fact.KillPreempted, fact.KillPodDone, fact.KillShutdown:
		return true
	}
	return false
}

// finalTrouble is the end of a container in a pod that ended with it.
func (h *inquiry) finalTrouble(name string, last *history.Run, status v1.PodStatus) []trouble {
	at := last.Exit.When()
	code := fact.Of[fact.Exited](last.Exit).ExitCode
	if h.endsWithPod(last) {
		return nil
	}
	was := newEnding(h, last).order()
	if code == 0 && was == unordered && status.Phase == v1.PodSucceeded {
		return []trouble{{
			answer.Symptom{Kind: answer.Completed, Container: name, Count: 1, First: at, Last: at, Text: fmt.Sprintf("container %s is done", name)},
			func() answer.Verdict { return h.explainDone(last) },
		}}
	}
	if code == 0 && (was == unordered || was == orderUnknown && status.Phase != v1.PodSucceeded) {
		return nil
	}
	s := answer.Symptom{Kind: answer.Failed, Container: name, Count: 1, First: at, Last: at, Text: fmt.Sprintf("container %s failed, and nothing starts it again", name)}
	if code == 0 { // it took its stop signal well, and Kubernetes calls that success
		s.Kind, s.Text = answer.Completed, fmt.Sprintf("the node ended container %s, and nothing starts it again", name)
	}
	if code == 0 && was == orderUnknown {
		s.Text = fmt.Sprintf("container %s ended, and nothing starts it again", name)
	}
	return []trouble{{s, func() answer.Verdict {
		v := explainExit(h, last)
		v.Contributing = append(v.Contributing, answer.Note{Cause: answer.RestartPolicy, Text: fmt.Sprintf("restartPolicy %s starts nothing again here", h.podSpec().RestartPolicy), Facts: []fact.ID{last.Exit.ID}})
		return v
	}}}
}

// explainEnds explains the last of several ends, and says where earlier ones had
// other causes.
func (h *inquiry) explainEnds(ends []*history.Run) answer.Verdict {
	ends = ends[max(0, len(ends)-20):]
	last := ends[len(ends)-1]
	v := explainExit(h, last)
	open := v.Cause == answer.CauseUnknown || h.wordless(last, v)
	if h.Causes && !open {
		return v
	}
	var earlier []answer.Verdict
	asked := h.Causes
	h.Causes = true // of those no more is told
	for _, r := range ends[:len(ends)-1] {
		earlier = append(earlier, explainExit(h, r))
	}
	h.Causes = asked
	if open {
		v = h.asBefore(v, ends, earlier)
	}
	// An OOM kill whose table of processes was lost reads as the container's limit, where the next one shows what filled it.
	var other []answer.Note
	how, _ := h.endBy(last)
	for i, e := range slices.Backward(earlier) {
		if e.Cause == v.Cause || e.Cause == answer.CauseUnknown || slices.Contains(oomCauses, e.Cause) && slices.Contains(oomCauses, v.Cause) {
			continue
		}
		if like, ok := h.endBy(ends[i]); ok && like == how && h.wordless(ends[i], e) {
			continue // its log was not kept, and nothing says that it was another
		}
		n := slices.IndexFunc(other, func(n answer.Note) bool { return n.Cause == e.Cause })
		if n < 0 {
			n, other = len(other), append(other, answer.Note{Cause: e.Cause, Text: "an earlier end had another cause: " + prose.Brief(e.Text, 200)})
		}
		other[n].Facts = append(other[n].Facts, ends[i].Exit.ID)
	}
	v.Contributing = append(v.Contributing, other...)
	if note, ok := h.noise(last); ok && v.Cause != answer.CauseUnknown {
		v.RuledOut = append(v.RuledOut, note)
	}
	if now := h.Last(last.Container); v.Cause != answer.CauseUnknown && now != last && h.isRunning(now) {
		v.SayThen(fmt.Sprintf("It has been running again since %s%s.", now.Started.When().Format(time.TimeOnly), prose.Whether(isReady(now), ", and is ready", "")))
	}
	return v
}

// isRunning reports whether a run goes on and its pod is not being deleted.
func (h *inquiry) isRunning(r *history.Run) bool {
	_, _, deleted := h.Deletion()
	return !deleted && r != nil && r.Started != nil && r.Exit == nil
}

// isReady reports whether the newest fact about the readiness of a run says that it is ready.
func isReady(r *history.Run) bool {
	n := len(r.Marks)
	return n > 0 && fact.Of[fact.Marked](r.Marks[n-1]).Ready
}

// atStart is how short a run is of which nobody thinks that a probe ended it: as it is by default,
// one asks twice in it at most.
const atStart = 10 * time.Second

// noise are failed probe attempts that never reached their threshold: loud in
// events, and without any effect on the end. Of a run that ended as it started nobody takes
// them for more.
func (h *inquiry) noise(r *history.Run) (answer.Note, bool) {
	e := newEnding(h, r)
	if r.Kill != nil || e.order() != unordered {
		return answer.Note{}, false
	}
	n, well := answer.Note{Cause: answer.AppUnhealthy}, false
	for _, f := range r.Probes {
		if bad(fact.Of[fact.Probed](f)) {
			n.Facts = append(n.Facts, f.ID)
		} else {
			well = true
		}
	}
	if lasted := e.lasted(); len(n.Facts) == 0 || !well && lasted > 0 && lasted < atStart {
		return n, false
	}
	n.Text = fmt.Sprintf("%s failed meanwhile, and the node ended nothing for that", prose.Plural(len(n.Facts), "probe attempt"))
	n.Facts = n.Facts[:min(len(n.Facts), 5)]
	return n, true
}

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

// silence says that the log of a run has nothing, as far as that is known; "" where it has something, or was not read.
func (e ending) silence() string {
	switch {
	case !e.saidNothing() || e.unread():
		return ""
	case e.h.FromAPI:
		return "It logged nothing in that run."
	}
	return "The agent recorded no line of its log in that run." // or nobody could read it
}

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
