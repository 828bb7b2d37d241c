package why

import (
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

// unreadyTroubles are the times in which a container ran and was not ready
// because of a probe: the last one, also when it is over.
func (h *inquiry) unreadyTroubles(name string) []trouble {
	run := h.Last(name)
	if run == nil || run.Started == nil || h.endsAgain(name, run) {
		return nil
	}
	for _, r := range slices.Backward(h.Runs(name)) {
		if t := h.unreadySpell(r, r == run); t != nil {
			return t
		}
	}
	return h.startingTrouble(run)
}

// startTells is how often a startup probe fails before that tells of more than a start.
const startTells = 3

// startingTrouble is that of a container which has not started by its startup probe, whose threshold may be far: only what
// shows that it will not, since one that takes its time is well.
func (h *inquiry) startingTrouble(run *history.Run) []trouble {
	if run.Exit != nil || run.Kill != nil || h.spec(run.Container).StartupProbe == nil {
		return nil
	}
	p := newProbing(h, run, fact.Startup, nil)
	if len(p.failed) < startTells || len(p.before) > 0 {
		return nil
	}
	switch p.explain().Cause {
	case answer.CauseUnknown, answer.AppSlowStart, answer.AppNotListening, answer.None:
		return nil
	}
	since := p.failed[0].When()
	text := fmt.Sprintf("container %s runs, and its startup probe has not succeeded for %s", run.Container, prose.Span(max(h.Now.Sub(since), 0)))
	return []trouble{{
		answer.Symptom{Kind: answer.NotReady, Container: run.Container, Count: 1, First: since, Last: h.Now, Text: text},
		func() answer.Verdict {
			v := p.explain()
			v.SayThen(fmt.Sprintf("So container %s counts as not started, and gets no traffic.", run.Container))
			_, v.LastWords = p.log()
			return v
		},
	}}
}

// endsAgain says whether a run is one of a container that ends by itself again and again,
// and has not lasted longer yet than such a run does: that it is not ready follows from
// that, whatever its probe finds meanwhile.
func (h *inquiry) endsAgain(name string, run *history.Run) bool {
	runs := h.Runs(name)
	if len(runs) < 2 || run.Exit != nil || wasReady(run) {
		return false
	}
	before := runs[len(runs)-2]
	if before.Exit == nil || wasReady(before) {
		return false
	}
	e := newEnding(h, before)
	return !e.killed() && e.order() == unordered && e.lasted() > 0 && h.Now.Sub(run.Started.When()) < max(10*time.Second, 2*e.lasted())
}

// followsRestart reports whether a lack of readiness only follows from a restart of the container that is among the
// troubles: the run is no older than the one before became, and like that one in whether it has been ready, or has just
// begun.
func (h *inquiry) followsRestart(s answer.Symptom, all []trouble) bool {
	runs, run := h.Runs(s.Container), h.Last(s.Container)
	restarted := slices.ContainsFunc(all, func(t trouble) bool { return t.Kind == answer.Restarted && t.Container == s.Container })
	if s.Kind != answer.NotReady || !restarted || len(runs) < 2 || !h.isRunning(run) {
		return false
	}
	before, ago := runs[len(runs)-2], h.Now.Sub(run.Started.When())
	if before.Exit == nil {
		return false
	}
	young := ago <= max(readyAgain, 2*readyAfter(before))
	return young || wasReady(run) == wasReady(before) && ago <= newEnding(h, before).lasted()
}

func wasReady(run *history.Run) bool {
	return slices.ContainsFunc(run.Marks, func(m *fact.Fact) bool { return fact.Of[fact.Marked](m).Ready })
}

// wasReadyBefore says whether a run was ready at some time before a fact.
func wasReadyBefore(run *history.Run, f *fact.Fact) bool {
	return slices.ContainsFunc(run.Marks, func(m *fact.Fact) bool { return m.ID < f.ID && fact.Of[fact.Marked](m).Ready })
}

// unreadySpell is the last time in which a run was not ready.
func (h *inquiry) unreadySpell(run *history.Run, newest bool) []trouble {
	var began, over, good *fact.Fact
	for m, b := range each[fact.Marked](run.Marks) {
		switch {
		case !b.Ready && (run.Exit == nil || m.ID < run.Exit.ID):
			began, over = m, nil
		case b.Ready:
			good = m
			if began != nil {
				over = m
			}
		}
	}
	still := over == nil && newest && run.Exit == nil
	if began == nil || over == nil && !still {
		return nil // most runs of many: no more is looked at of them
	}
	kind := prose.Whether(good == nil && len(lastFailures(run, fact.Startup)) > 0, fact.Startup, fact.Readiness)
	decisive := h.Attempts(began.Because)
	if over != nil && len(decisive) == 0 {
		decisive = failuresBetween(run, kind, began, over)
	}
	if still && good == nil {
		decisive = nil // what failed since keeps it from being ready as well, and the first attempts may only have been early
	}
	p := newProbing(h, run, kind, decisive)
	if !still && !(over != nil && countsAfterwards(began, over, run, p) && (run.Exit == nil || over.Seen.Sub(began.Seen) >= briefly)) { // or it went by in a run that ended later for another reason
		return nil
	}
	if still && p.mode == exitCode && h.onItsWay(run) {
		return nil // what matters is why the run before it ended
	}
	s := answer.Symptom{Kind: answer.NotReady, Container: run.Container, Count: 1, First: began.Seen, Last: h.Now}
	s.Text = fmt.Sprintf("container %s runs, and has not been ready for %s", run.Container, prose.Span(max(h.Now.Sub(began.Seen), 0)))
	if over != nil {
		s.Last, s.AtStart = over.Seen, newest && run.Exit == nil && h.ready() && !wasReadyBefore(run, began)
		s.Text = fmt.Sprintf("container %s was not ready for %s, until %s", run.Container, prose.Span(over.Seen.Sub(began.Seen)), over.Seen.Format(time.TimeOnly))
	}
	return []trouble{{s, func() answer.Verdict { return h.explainUnready(p, began) }}}
}

// onItsWay says whether a run is younger than an earlier one was when it became ready: a command that
// still fails says of it no more than that it starts.
func (h *inquiry) onItsWay(run *history.Run) bool {
	var longest time.Duration
	for _, r := range h.Runs(run.Container) {
		if r.Exit != nil {
			longest = max(longest, readyAfter(r))
		}
	}
	return h.Now.Sub(run.Started.When()) <= longest
}

func failuresBetween(run *history.Run, kind fact.ProbeKind, from, to *fact.Fact) []fact.ID {
	var all []fact.ID
	for _, f := range run.Probes {
		if b := fact.Of[fact.Probed](f); b.Probe == kind && bad(b) && f.ID > from.ID && f.ID < to.ID {
			all = append(all, f.ID)
		}
	}
	return all
}

// countsAfterwards says whether a time without readiness that is over deserves a
// word: one that followed readiness, or in which the application itself said no
// as often as its threshold, or in which it waited long for something else. A container
// that refused connections until it was up only started.
func countsAfterwards(began, over *fact.Fact, run *history.Run, p *probing) bool {
	if wasReadyBefore(run, began) {
		return len(p.failed) > 0
	}
	if over.Seen.Sub(began.Seen) >= briefly && allSeen(probeWaits)(p) != nil {
		return true
	}
	said := failuresBetween(run, p.kind, began, over)
	return p.spec != nil && len(said) >= int(p.spec.FailureThreshold) && (p.mode == answered || p.mode == exitCode || p.mode == silent)
}

// briefly is how long a container may have been unready without a word: as it started, or
// once the run that it was in has ended, since the end is what matters then.
const briefly = time.Minute

func (h *inquiry) explainUnready(p *probing, began *fact.Fact) answer.Verdict {
	if name, ok := p.namedPort(); ok && len(p.failed) == 0 && p.spec.Exec == nil && p.portOfSpec() == 0 {
		f := p.portNotDeclared(name)
		f.chain = links(p.run.Started, began)
		return f.verdict(p.run.Container, nil)
	}
	if len(p.failed) == 0 && h.Beside != "" {
		return undecided(p.run.Container, fmt.Sprintf("Container %s runs and is not ready.", p.run.Container), links(p.run.Started, began), nil,
			fmt.Sprintf("Its %s probe is made by %s, and no attempt was seen to fail; how the attempts ended is not known here.", kindWord(p.kind), h.Beside), h.describeFix())
	}
	if len(p.failed) == 0 {
		f := finding{cause: answer.None, rule: "no-symptom", weight: fair, chain: links(p.run.Started, began), text: fmt.Sprintf("Container %s has just started, and its %s probe has not been asked yet.", p.run.Container, kindWord(p.kind))}
		if p.spec != nil && p.spec.InitialDelaySeconds > 0 {
			f.text = fmt.Sprintf("Container %s is not ready until its %s probe succeeds, and that is first made %d s after the start (initialDelaySeconds).", p.run.Container, kindWord(p.kind), p.spec.InitialDelaySeconds)
		}
		return f.verdict(p.run.Container, nil)
	}
	v := p.explain()
	if v.Cause == answer.CauseUnknown {
		v = h.comesUpAgain(p, v)
	}
	v.Chain = inOrder(append(v.Chain, link(began)))
	v.SayThen(fmt.Sprintf("So container %s gets no traffic.", p.run.Container))
	_, v.LastWords = p.log()
	return v
}

// comesUpAgain explains what is left open of a container that has just been started again, and
// refuses connections until it is up, by why it had ended.
func (h *inquiry) comesUpAgain(p *probing, v answer.Verdict) answer.Verdict {
	runs := h.Runs(p.run.Container)
	i := p.place(runs)
	if i < 1 {
		return v
	}
	before := runs[i-1]
	if before.Exit == nil || p.run.Started == nil || p.run.Exit != nil || p.mode != refused || wasReady(p.run) {
		return v
	}
	if e := newEnding(h, before); e.killed() || h.Now.Sub(p.run.Started.When()) > max(readyAgain, 2*readyAfter(before)) {
		return v
	}
	crash := explainExit(h, before)
	if crash.Cause == answer.CauseUnknown {
		return v
	}
	crash.Probe = p.kind
	crash.SayThen(fmt.Sprintf("It was started again %s ago, and has not come up yet: so %s failed: %s.", prose.Span(max(h.Now.Sub(p.run.Started.When()), 0)), p.what(), p.how()))
	crash.Chain = append(crash.Chain, append(links(p.run.Started), p.chain()...)...)
	return crash
}

// readyAgain is how long a container may take to come up again, if it did not take longer
// before.
const readyAgain = 10 * time.Second

// readyAfter is how long a run took until it was ready; 0 where it never was.
func readyAfter(run *history.Run) time.Duration {
	for _, m := range run.Marks {
		if fact.Of[fact.Marked](m).Ready && run.Started != nil {
			return m.When().Sub(run.Started.When())
		}
	}
	return 0
}

// readyTroubles are those of the pod's readiness: gates, and containers that keep
// others out of service.
func (h *inquiry) readyTroubles(status v1.PodStatus, found []trouble) []trouble {
	ready := conditionOf(status.Conditions, v1.PodReady)
	if ready == nil || status.Phase != v1.PodRunning {
		return nil
	}
	since := ready.LastTransitionTime.Time
	s := answer.Symptom{Kind: answer.NotReady, Count: 1, First: since, Last: h.Now, Text: "the pod is not ready, and gets no traffic"}
	moments := ready.Status == v1.ConditionTrue
	if moments {
		s.Text = "the pod is ready for moments only"
	}
	condition := h.ConditionFact(v1.PodReady)
	if ready.Reason == "ReadinessGatesNotReady" {
		return []trouble{{s, func() answer.Verdict { return h.gate(ready, condition).verdict("", nil) }}}
	}
	var fine, guilty []string
	for _, c := range status.ContainerStatuses {
		if c.Ready && (!moments || !h.readyForAMoment(c.Name)) {
			fine = append(fine, c.Name)
		} else {
			guilty = append(guilty, c.Name)
		}
	}
	for _, c := range status.InitContainerStatuses {
		if !c.Ready && h.isSidecar(c.Name) {
			guilty = append(guilty, c.Name)
		}
	}
	toldAlready := slices.ContainsFunc(found, func(t trouble) bool { return t.Kind == answer.NotReady && slices.Contains(guilty, t.Container) })
	if len(fine) == 0 || len(guilty) == 0 || toldAlready && h.Container == "" {
		return nil
	}
	return []trouble{{s, func() answer.Verdict {
		f := concluded(answer.SiblingNotReady, certain, condition).recorded().
			says("The pod is out of service because of container %s; %s fine.", strings.Join(guilty, ", "), areFine(fine))
		f.container = guilty[0]
		switch {
		case moments:
			f.text = fmt.Sprintf("The pod is in service only for the moments in which container %s runs before it ends again; %s fine.", strings.Join(guilty, ", "), areFine(fine))
		case h.isSidecar(guilty[0]):
			f.cause = answer.MeshSidecarNotReady
			f.text = fmt.Sprintf("The pod is out of service because the mesh's sidecar %s does not run; %s fine.", guilty[0], areFine(fine))
		}
		for _, t := range found {
			if slices.Contains(guilty, t.Container) {
				why := t.explain()
				f.chain = append(f.chain, why.Chain...)
				f.notes = append(f.notes, answer.Note{Cause: why.Cause, Text: why.Text, Facts: idsOf(why.Chain)})
				f.fix(why.Fixes...)
			}
		}
		return f.verdict(guilty[0], nil)
	}}}
}

// aMoment is how long a container that ends by itself may have run for its readiness to be
// none.
const aMoment = 10 * time.Second

// readyForAMoment says whether a container counts as ready only because it was started again,
// and has not run longer yet than it did before it ended by itself the last time.
func (h *inquiry) readyForAMoment(name string) bool {
	runs := h.Runs(name)
	if len(runs) < 3 {
		return false
	}
	now, before := runs[len(runs)-1], runs[len(runs)-2]
	if now.Exit != nil || now.Started == nil || before.Exit == nil {
		return false
	}
	e := newEnding(h, before)
	return !e.killed() && e.order() == unordered && e.lasted() > 0 && e.lasted() < aMoment && h.Now.Sub(now.Started.When()) <= e.lasted()+time.Second
}

func areFine(names []string) string {
	return prose.Whether(len(names) == 1, "container "+names[0]+" is", "containers "+strings.Join(names, ", ")+" are")
}

func conditionOf(all []v1.PodCondition, kind v1.PodConditionType) *v1.PodCondition {
	for i := range all {
		if all[i].Type == kind {
			return &all[i]
		}
	}
	return nil
}

func (h *inquiry) gate(ready *v1.PodCondition, decided *fact.Fact) finding {
	return finding{
		cause: answer.ReadinessGate, certainty: answer.Recorded, weight: certain, chain: append(links(decided), h.firstLinks(decided)...),
		text:  fmt.Sprintf("All containers are ready; the pod waits for a readiness gate that nobody has set: %s", strings.TrimSuffix(ready.Message, ".")+"."),
		fixes: []answer.Fix{h.specFix("start the controller that sets this condition; or, if there is none, remove the gate from spec.readinessGates"), h.inspect("see which gates it has", h.kubectl("get pod %s -o jsonpath='{.spec.readinessGates}'", h.Pod.Name))},
	}
}
