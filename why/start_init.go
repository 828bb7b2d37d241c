package why

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
)

// initTroubles are those of a container that has to end before others start.
func (h *inquiry) initTroubles(name string, ends []*history.Run, status v1.PodStatus) []trouble {
	if run := h.Last(name); run.Started != nil && run.Exit == nil && !final(status.Phase) && !h.triesAgain(run, ends) {
		since := run.Started.When()
		text := fmt.Sprintf("the pod has waited for init container %s for %s", name, prose.Span(max(h.Now.Sub(since), 0)))
		return []trouble{{
			answer.Symptom{Kind: answer.NotStarting, Container: name, Count: 1, First: since, Last: h.Now, Text: text},
			func(id string) answer.Verdict { return h.initWaiting(run).verdict(id, name, nil) },
		}}
	}
	bad, last := 0, (*history.Run)(nil)
	for _, r := range ends {
		if last = r; fact.Of[fact.Exited](r.Exit).ExitCode != 0 {
			bad++
		}
	}
	if last == nil || fact.Of[fact.Exited](last.Exit).ExitCode == 0 {
		return nil // it came through in the end
	}
	return []trouble{{
		answer.Symptom{Kind: answer.NotStarting, Container: name, Count: bad, First: ends[0].Exit.When(), Last: last.Exit.When(), Text: fmt.Sprintf("init container %s failed %s, and the others wait for it", name, prose.Times(bad))},
		func(id string) answer.Verdict { return ofInit(explainExit(h, last, id), name) },
	}}
}

// triesAgain says whether an init container that runs has failed before and has
// not run for longer than then: it is about to fail once more, as far as anyone
// can tell.
func (h *inquiry) triesAgain(run *history.Run, ends []*history.Run) bool {
	var longest time.Duration
	for _, r := range ends {
		if e := newEnding(h, r); e.exit.ExitCode != 0 {
			longest = max(longest, e.lasted(), time.Second)
		}
	}
	return h.Now.Sub(run.Started.When()) <= 2*longest
}

// ofInit is the verdict on why an init container fails as that on the pod, which waits for it: why it ended
// stays in the text and among what contributed.
func ofInit(v answer.Verdict, container string) answer.Verdict {
	v.Contributing = append([]answer.Note{{Cause: v.Cause, Text: v.Text, Facts: idsOf(v.Chain)}}, v.Contributing...)
	v.Say(answer.Parts{
		Subject: subject(container), What: fmt.Sprintf("Init container %s fails, so the pod's containers never start.", container),
		Because: append(append([]string{v.Parts.What}, v.Parts.Because...), v.Parts.Then...),
	})
	v.Cause = answer.InitFailed
	if v.Certainty == answer.Unknown {
		v.Certainty, v.Rule = answer.Inferred, "init-ended"
	}
	return v
}

// initWaiting is the finding on an init container that goes on.
func (h *inquiry) initWaiting(run *history.Run) finding {
	f := finding{cause: answer.InitWaiting, weight: strong, rule: "init-still-runs", chain: links(run.Start, run.Started)}
	f.text = fmt.Sprintf("Init container %s has been running for %s and has not ended; the pod's containers start only after it.", run.Container, prose.Span(max(h.Now.Sub(run.Started.When()), time.Second)))
	f.notes = h.initNeeds(run)
	f.fixes = []answer.Fix{
		h.inspect("see what it waits for", h.kubectl("logs %s -c %s", h.Pod.Name, run.Container)),
		h.inside("and what runs in it", run.Container, "ps"),
	}
	if at, lines := run.Said(time.Time{}); at != nil {
		story := h.read(h.sinceWaits(lines))
		said := cmp.Or(story.Trouble(true), story.Reason())
		f.because, f.chain = []string{itsLog(said)}, links(run.Start, run.Started, at)
		h.meant(&f, run.Container, said)
	}
	return f
}

// sinceWaits are the lines of a log from where it only tells that its program waits; all where it does not.
func (h *inquiry) sinceWaits(lines []string) []string { return lines[h.read(lines).SinceWaits():] }

// initNeeds is what an init container waits for, where a look found that.
func (h *inquiry) initNeeds(r *history.Run) []answer.Note {
	for _, f := range slices.Backward(r.Looks) {
		if _, how := h.waitsFor(r.Container, f, h.sinceWaits(fact.Of[fact.Looked](f).Said)); how != "" {
			return []answer.Note{{Cause: answer.DependencyDown, Text: answer.Unmarked("it waits for " + how), Facts: []fact.ID{f.ID}}}
		}
	}
	return nil
}

// sidecarTrouble is that of a restartable init container that runs and has not
// started in the sense of its startup probe: the containers after it wait.
func (h *inquiry) sidecarTrouble(name string, status v1.PodStatus) []trouble {
	run := h.Last(name)
	waits := slices.ContainsFunc(status.InitContainerStatuses, func(c v1.ContainerStatus) bool {
		return c.Name == name && c.State.Running != nil && c.Started != nil && !*c.Started
	})
	if !waits || final(status.Phase) || run.Started == nil || run.Exit != nil || h.spec(name).StartupProbe == nil {
		return nil
	}
	since := run.Started.When()
	return []trouble{{
		answer.Symptom{Kind: answer.NotStarting, Container: name, Count: 1, First: since, Last: h.Now, Text: fmt.Sprintf("the pod has waited for sidecar %s to start for %s", name, prose.Span(max(h.Now.Sub(since), 0)))},
		func(id string) answer.Verdict {
			p := newProbing(h, run, fact.Startup, nil)
			if len(p.failed) == 0 && h.FromAPI {
				return undecided(id, name, fmt.Sprintf("Sidecar %s runs and does not count as started yet; the pod's containers start only after it.", name), links(run.Started), nil, "", h.describeFix())
			}
			if len(p.failed) == 0 {
				f := finding{cause: answer.InitWaiting, weight: strong, rule: "init-still-runs", chain: links(run.Start, run.Started)}
				f.text = fmt.Sprintf("Sidecar %s runs, and its startup probe has not succeeded yet; the pod's containers start only after it.", name)
				f.fixes = []answer.Fix{h.inspect("see what it does", h.kubectl("logs %s -c %s", h.Pod.Name, name))}
				return f.verdict(id, name, nil)
			}
			v := p.explain(id)
			v.SayThen(fmt.Sprintf("So sidecar %s counts as not started, and the pod's containers wait for it.", name))
			return v
		},
	}}
}

// patientWithHook is how long a postStart hook may run before that is worth a word.
const patientWithHook = 30 * time.Second

// hookTrouble is a container that runs and does not count as started, because its
// postStart hook has not ended.
func (h *inquiry) hookTrouble(name string) []trouble {
	run, spec := h.Last(name), h.spec(name)
	if run == nil || run.Started == nil || run.Exit != nil || run.Kill != nil || spec.Lifecycle == nil || spec.Lifecycle.PostStart == nil {
		return nil
	}
	since := run.Started.When()
	if h.Now.Sub(since) < patientWithHook || h.Beside != "" && wasReady(run) || slices.ContainsFunc(run.Hooks, func(f *fact.Fact) bool { return fact.Of[fact.HookRan](f).Hook == fact.PostStart }) {
		return nil
	}
	return []trouble{{
		answer.Symptom{Kind: answer.NotStarting, Container: name, Count: 1, First: since, Last: h.Now, Text: fmt.Sprintf("container %s runs, and does not count as started", name)},
		func(id string) answer.Verdict {
			return finding{
				cause: answer.HookFailed, rule: "hook-failed", weight: fair, chain: links(run.Started),
				text:  fmt.Sprintf("The postStart hook of container %s has not ended for %s: until it does, the container does not count as started and is not probed.", name, prose.Span(h.Now.Sub(since))),
				fixes: []answer.Fix{h.inside("see what runs in it", name, "ps"), h.specFix("have the postStart hook end, or do its work in the main process or an init container")},
			}.verdict(id, name, nil)
		},
	}}
}
