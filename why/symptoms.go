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
	explain func(symptom string) answer.Verdict
}

// troubles lists what needs an explanation, worst first: what is so now, and
// what happened as far back as the history goes.
//
// What the pod suffered from until it was deleted stays to be explained when it is gone.
func (h *inquiry) troubles() []trouble {
	alive := h
	if before, at, deleted := h.UntilDeletion(); deleted {
		then := *h
		then.History, then.now, then.good = before, at, nil
		alive = &then
	}
	all := alive.living()
	if alive != h {
		all = slices.DeleteFunc(all, func(t trouble) bool { return t.explain("").Cause == answer.None })
	}
	all = append(all, h.endOfPod()...)
	slices.SortStableFunc(all, func(a, b trouble) int { return cmp.Compare(answer.Urgency(a.Kind), answer.Urgency(b.Kind)) })
	if len(all) > 0 && alive.succeeded() {
		slices.SortStableFunc(all, func(a, b trouble) int { return cmp.Compare(done(a), done(b)) })
	}
	return append(all, h.away()...)
}

func (h *inquiry) succeeded() bool {
	status, _ := h.Status(h.policy)
	return status.Phase == v1.PodSucceeded
}

// living are the troubles of the pod while it was wanted.
func (h *inquiry) living() []trouble {
	var all []trouble
	status, _ := h.Status(h.policy)
	all = append(all, h.podTroubles(status)...)
	for _, name := range h.Containers() {
		if h.IsEphemeral(name) {
			continue
		}
		all = append(all, h.containerTroubles(name, status)...)
	}
	return append(all, h.readyTroubles(status, all)...)
}

func done(t trouble) int {
	if t.Kind == answer.Completed {
		return 0
	}
	return 1
}

// podTroubles are those of the pod as a whole: eviction, refusal, set-up.
func (h *inquiry) podTroubles(status v1.PodStatus) []trouble {
	var all []trouble
	if f, _, ok := fact.Latest[fact.Evict](h.Facts); ok {
		all = append(all, trouble{
			answer.Symptom{Kind: answer.Evicted, First: f.Seen, Last: f.Seen, Count: 1, Text: "the pod was evicted from its node"},
			func(id string) answer.Verdict { v := h.evictionFinding(); return v.verdict(id, "", nil) },
		})
	}
	if f, b, ok := fact.Latest[fact.Refused](h.Facts); ok {
		all = append(all, trouble{
			answer.Symptom{Kind: answer.Failed, First: f.Seen, Last: f.Seen, Count: 1, Text: "the node refused the pod"},
			func(id string) answer.Verdict { v := h.refusal(f, b); return v.verdict(id, "", nil) },
		})
	}
	if t, ok := h.shutdownTrouble(status); ok {
		all = append(all, t)
	}
	if reason, message := fact.EndedFor(status); reason == "Preempting" && h.Beside != "" {
		last := h.LastSeen()
		f := finding{cause: answer.Preempted, certainty: answer.Recorded, weight: certain, chain: links(h.ConditionFact(v1.DisruptionTarget)), fixes: []answer.Fix{h.describeFix()}}
		f.text = fmt.Sprintf("The pod had to go for one of higher priority: %s.", strings.TrimSuffix(prose.Brief(message, kept), "."))
		all = append(all, trouble{
			answer.Symptom{Kind: answer.Failed, First: last, Last: last, Count: 1, Text: "the pod was ended for one of higher priority"},
			func(id string) answer.Verdict { return f.verdict(id, "", nil) },
		})
	}
	if status.Phase == v1.PodFailed && status.Reason == "DeadlineExceeded" {
		v := h.deadlineFinding()
		last := h.LastSeen()
		all = append(all, trouble{
			answer.Symptom{Kind: answer.Failed, First: last, Last: last, Count: 1, Text: "the pod failed: it was active for too long"},
			func(id string) answer.Verdict { return v.verdict(id, "", nil) },
		})
	}
	if failed := h.SetUpFailures(); len(failed) > 0 {
		last := failed[len(failed)-1]
		all = append(all, trouble{
			answer.Symptom{Kind: answer.NotStarting, First: failed[0].Seen, Last: last.Seen, Count: len(failed), Text: "the pod cannot be set up"},
			func(id string) answer.Verdict { return h.explainSetUp(last, id) },
		})
	}
	return all
}

// containerTroubles are those of one container.
func (h *inquiry) containerTroubles(name string, status v1.PodStatus) []trouble {
	runs := h.Runs(name)
	if len(runs) == 0 {
		return nil
	}
	var all []trouble
	if t, ok := h.startTrouble(name, runs); ok {
		all = append(all, t)
	}
	var ends []*history.Run
	for _, r := range runs {
		if r.Exit != nil && r.Failed == nil {
			ends = append(ends, r)
		}
	}
	if t, ok := h.hookTrouble(name); ok {
		return append(all, t)
	}
	if h.IsInit(name) {
		return append(all, h.initTroubles(name, ends, status)...)
	}
	all = append(all, h.endTroubles(name, ends, status)...)
	if t, ok := h.sidecarTrouble(name, status); ok {
		return append(all, t)
	}
	return append(all, h.unreadyTroubles(name)...)
}

// endTroubles are the ends of a container: as a part of the pod's own end, or
// followed by another start.
func (h *inquiry) endTroubles(name string, ends []*history.Run, status v1.PodStatus) []trouble {
	var all []trouble
	if n := len(ends); n > 0 && final(status.Phase) && status.Reason == "" {
		last := ends[n-1]
		if t, ok := h.finalTrouble(name, last, status); ok {
			all = append(all, t)
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
		func(id string) answer.Verdict { return h.explainEnds(ends, id) },
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
func (h *inquiry) finalTrouble(name string, last *history.Run, status v1.PodStatus) (trouble, bool) {
	at := last.Exit.When()
	code := fact.Of[fact.Exited](last.Exit).ExitCode
	if h.endsWithPod(last) {
		return trouble{}, false
	}
	was := newEnding(h, last).order()
	if code == 0 && was == unordered && status.Phase == v1.PodSucceeded {
		return trouble{
			answer.Symptom{Kind: answer.Completed, Container: name, Count: 1, First: at, Last: at, Text: fmt.Sprintf("container %s is done", name)},
			func(id string) answer.Verdict { return h.explainDone(last, id) },
		}, true
	}
	if code == 0 && (was == unordered || was == orderUnknown && status.Phase != v1.PodSucceeded) {
		return trouble{}, false
	}
	s := answer.Symptom{Kind: answer.Failed, Container: name, Count: 1, First: at, Last: at, Text: fmt.Sprintf("container %s failed, and nothing starts it again", name)}
	if code == 0 { // it took its stop signal well, and Kubernetes calls that success
		s.Kind, s.Text = answer.Completed, fmt.Sprintf("the node ended container %s, and nothing starts it again", name)
	}
	if code == 0 && was == orderUnknown {
		s.Text = fmt.Sprintf("container %s ended, and nothing starts it again", name)
	}
	return trouble{
		s,
		func(id string) answer.Verdict {
			v := explainExit(h, last, id)
			v.Contributing = append(v.Contributing, answer.Note{Cause: answer.RestartPolicy, Text: fmt.Sprintf("restartPolicy %s starts nothing again here", h.policyWord()), Facts: []fact.ID{last.Exit.ID}})
			return v
		},
	}, true
}

func (h *inquiry) policyWord() string {
	if h.Object == nil {
		return ""
	}
	return string(h.Object.Spec.RestartPolicy)
}

// explainEnds explains the last of several ends, and says where earlier ones had
// other causes.
func (h *inquiry) explainEnds(ends []*history.Run, id string) answer.Verdict {
	ends = ends[max(0, len(ends)-20):]
	last := ends[len(ends)-1]
	v := explainExit(h, last, id)
	open := v.Cause == answer.CauseUnknown || h.wordless(last, v)
	if h.causes && !open {
		return v
	}
	var earlier []answer.Verdict
	asked := h.causes
	h.causes = true // of those no more is told
	for _, r := range ends[:len(ends)-1] {
		earlier = append(earlier, explainExit(h, r, id))
	}
	h.causes = asked
	if open {
		v = h.asBefore(v, ends, earlier)
	}
	other := map[answer.Cause]*answer.Note{}
	var order []answer.Cause
	for i, e := range slices.Backward(earlier) {
		if e.Cause == v.Cause || e.Cause == answer.CauseUnknown || sameFamily(e.Cause, v.Cause) {
			continue
		}
		if other[e.Cause] == nil {
			other[e.Cause] = &answer.Note{Cause: e.Cause, Text: "an earlier end had another cause: " + prose.Brief(e.Text, 200)}
			order = append(order, e.Cause)
		}
		other[e.Cause].Facts = append(other[e.Cause].Facts, ends[i].Exit.ID)
	}
	for _, c := range order {
		v.Contributing = append(v.Contributing, *other[c])
	}
	if note, ok := h.noise(last); ok && v.Cause != answer.CauseUnknown {
		v.RuledOut = append(v.RuledOut, note)
	}
	return v
}

// sameFamily says whether two causes differ only in how much was seen: an OOM
// kill whose table of processes was lost reads as the container's limit, where the
// next one shows what filled it.
func sameFamily(a, b answer.Cause) bool {
	return slices.Contains(oomCauses, a) && slices.Contains(oomCauses, b)
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
	if len(n.Facts) > 5 {
		n.Facts = n.Facts[:5]
	}
	return n, true
}
