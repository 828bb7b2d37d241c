package why

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// Options say what is asked.
type Options struct {
	// Now is when it is asked, in UTC; the answer's AsOf.
	Now time.Time
	// Since leaves out symptoms that were over before; zero: none.
	Since time.Time
	// Container asks about one container; empty: all.
	Container string
	// Alone is set when the cluster has no other node: what this one did not see of
	// other pods did not happen.
	Alone bool
	// Within is the only namespace whose pods may be named; empty: every one. Who gathers
	// the history sees to it.
	Within string
	// Causes is set where only the causes matter: what else contributed is not looked for.
	Causes bool
	// Policy is the node's, for a history without a checkpoint.
	Policy health.Policy
	// Journal says what the history covers.
	Journal answer.Coverage
	// Knowledge is what applications print; nil: the base that comes with the program.
	Knowledge *knowledge.Base
}

// inquiry is a history that is being asked about.
type inquiry struct {
	*history.History
	Options
	good map[attempts][]*fact.Fact
	// stories are the logs that were read for this answer, by their text.
	stories map[string]*logline.Story
}

// read reads the lines of a log, once for all that an answer asks of them.
func (h *inquiry) read(lines []string) *logline.Story {
	text := strings.Join(lines, "\n")
	story := h.stories[text]
	if story == nil || story.Len() != len(lines) {
		story = words.Read(lines)
		if h.stories == nil {
			h.stories = map[string]*logline.Story{}
		}
		h.stories[text] = story
	}
	return story
}

// Explain answers why a pod is as it is. Each symptom has one verdict; a pod
// without symptoms is Healthy.
func Explain(known *history.History, o Options) answer.Answer {
	o.Knowledge = cmp.Or(o.Knowledge, knowledge.Embedded())
	h := &inquiry{History: known, Options: o}
	a := answer.New(answer.Subject{Kind: "Pod", Namespace: h.Pod.Namespace, Name: h.Pod.Name, UID: h.Pod.UID}, o.Now, o.Journal)
	a.Journal.Gaps = append(a.Journal.Gaps, h.gaps()...)
	all := h.troubles()
	for _, t := range all {
		if !o.wants(t.Symptom) {
			continue
		}
		v := t.explain()
		if v.Cause == answer.CauseUnknown && h.followsRestart(t.Symptom, all) {
			continue
		}
		h.soften(&v)
		h.fitting(&v)
		v.Text = strings.TrimSpace(v.Text + " " + v.Missing)
		a.Put(t.Symptom, v)
	}
	a.Listening, a.Reaches, a.Changes = h.listening(), h.reaches(), h.changes()
	a.Complaints, a.Warnings = h.complaints()
	if len(a.Symptoms) == 0 {
		t := h.wellness(o.Container)
		v := t.explain()
		h.nameNode(&v)
		v.Text = strings.TrimSpace(v.Text + " " + v.Missing)
		if t.Kind == answer.Healthy && v.Cause != answer.None && !t.BelowThreshold {
			t.Text = "it is Ready, but has a problem that no probe shows"
		}
		a.Put(t.Symptom, v)
	}
	h.nameDecider(&a)
	h.byAPI(&a)
	return a.Redacted()
}

func (o Options) wants(s answer.Symptom) bool {
	return (o.Container == "" || s.Container == "" || s.Container == o.Container) &&
		(o.Since.IsZero() || s.Last.IsZero() || !s.Last.Before(o.Since))
}

// gaps are the times in which the node could not see something.
func (h *inquiry) gaps() []answer.Gap {
	var gaps []answer.Gap
	for _, set := range [][]fact.Fact{h.Facts, h.Node} {
		for _, b := range every[fact.Lost](set) {
			gaps = append(gaps, answer.Gap{From: b.From, To: b.Until, Reason: string(b.Source) + ": " + prose.Brief(b.Reason, kept)})
		}
	}
	for _, f := range fact.All[fact.ClockStepped](h.Node) {
		if by := fact.Of[fact.ClockStepped](f).By; len(h.Facts) > 0 && f.ID > h.Facts[0].ID {
			way := map[bool]string{true: "on", false: "back"}[by > 0]
			gaps = append(gaps, answer.Gap{From: f.Seen.Add(-max(by, 0)), To: f.Seen.Add(max(-by, 0)), Reason: fmt.Sprintf("the node's clock was set %s by %s: times on either side do not compare", way, prose.Span(by.Abs()))})
		}
	}
	gaps = append(gaps, h.stalls()...)
	for f, b := range every[fact.AgentStarted](h.Node) {
		if b.Previous != fact.NoRunBefore && len(h.Facts) > 0 && h.Facts[0].Seen.Before(b.LastSeen) {
			gaps = append(gaps, answer.Gap{From: b.LastSeen, To: f.Seen, Reason: "the node's agent did not run (" + string(b.Previous) + ")"})
		}
	}
	return gaps
}

// wellness is the trouble of a pod that has none.
func (h *inquiry) wellness(container string) trouble {
	t := trouble{Symptom: answer.Symptom{Kind: answer.Healthy, Container: container, Text: prose.Whether(h.FromAPI, "it runs and is Ready", "it runs as it should")}}
	v, below := h.explainHealthy(container)
	if t.BelowThreshold = below; below {
		t.Text = "it is ready, but its probe failed lately"
	} else if v.Certainty == answer.Unknown && v.Cause == answer.None {
		t.Text = "it runs and is Ready"
	}
	t.explain = func() answer.Verdict { return v }
	status, known := h.Status(h.Policy)
	if v.Cause == answer.None && known && readyNow(status) {
		if bad, ok := h.failsAtWork(container); ok {
			return bad
		}
	}
	if known && !final(status.Phase) && !readyNow(status) {
		t.Kind, t.Text = answer.NotReady, "it is not ready yet"
		switch {
		case !h.FromAPI || len(fact.All[fact.Started](h.Facts)) > 0:
		case len(status.ContainerStatuses) == 0:
			t.Kind, t.Text = answer.Pending, "no status yet"
		default:
			t.Kind, t.Text = answer.NotStarting, "its containers have not been started yet"
		}
	}
	if !known {
		t.Text = "the journal does not know how it is"
		t.Kind = answer.UnknownNode
		t.explain = func() answer.Verdict {
			return undecided(container, "The beginning of this pod's history is not kept here, so its state is not known.", nil, nil, "")
		}
	}
	return t
}

// explainHealthy looks for what goes on unseen in a pod that looks well; below is set where that is a probe
// which fails, and has not failed as often as it takes.
func (h *inquiry) explainHealthy(container string) (v answer.Verdict, below bool) {
	var all []finding
	for run := range h.running(container) {
		all = append(all, h.unseen(run)...)
	}
	status, _ := h.Status(h.Policy)
	if f := h.resize(status.Conditions); f != nil && (container == "" || container == f.container) {
		all = append(all, *f)
	}
	slices.SortStableFunc(all, func(a, b finding) int { return int(b.weight) - int(a.weight) })
	if len(all) > 0 && all[0].weight >= fair {
		return all[0].verdict(container, all[1:]), false
	}
	f := finding{cause: answer.None, certainty: answer.Inferred, rule: "no-symptom", weight: fair, text: "Nothing is wrong: all containers run and are ready, and nothing was killed or evicted."}
	if !final(status.Phase) && !readyNow(status) {
		f.text = "It is not ready yet, and nothing that it needed has failed so far: it is still starting."
		if open, ok := h.stillCreated(container); ok {
			return open, false
		}
		f.fixes = []answer.Fix{h.describeFix()}
		return f.verdict(container, all), false
	}
	if ready, spell := h.ReadySince(); spell != nil {
		f.text = fmt.Sprintf("%s: it has been ready since %s.", prose.Whether(h.FromAPI, "Kubernetes reports no problem", "Nothing is wrong"), ready.Format(time.TimeOnly))
		f.chain = links(spell)
		if h.FromAPI {
			logs := h.kubectl("logs %s --all-containers --tail=100", h.Pod.Name)
			f.fixes = []answer.Fix{h.inspect("if requests to it still fail: read its log", logs).As(answer.StepReadLog, answer.Slots{answer.SlotCommand: logs})}
		}
		if run, kind, row, most := h.failsLately(container); run != nil && row[len(row)-1].When().After(ready) {
			p := newProbing(h, run, kind, nil)
			v := p.explain()
			if h.FromAPI && p.mode != impossible { // whether some succeeded in between, kubelet does not tell
				v = h.openBelow(p, ready)
			}
			then := map[fact.ProbeKind]string{fact.Readiness: "make it not ready", fact.Liveness: "end the container"}[kind]
			v.SayThen(fmt.Sprintf("It has been ready since %s all the same: %d in a row %s.", ready.Format(time.TimeOnly), most, then))
			_, v.LastWords = p.log()
			return v, true
		}
		h.failedMeanwhile(&f, container)
	}
	if readyNow(status) && !h.tested(container) {
		f.certainty, f.text = answer.Unknown, "Kubernetes reports no problem, but no probe tests this pod, and its log and connections were not read."
		logs := h.kubectl("logs %s --all-containers --tail=100", h.Pod.Name)
		f.fixes = []answer.Fix{h.inspect("read its log", logs).As(answer.StepReadLog, answer.Slots{answer.SlotCommand: logs})}
	}
	return f.verdict(container, all), false
}

// failedMeanwhile says of a pod that is well how often its probes have failed since they first succeeded: people see
// a warning of each among its events.
func (h *inquiry) failedMeanwhile(f *finding, container string) {
	for run := range h.running(container) {
		for _, kind := range []fact.ProbeKind{fact.Readiness, fact.Liveness} {
			var failed []*fact.Fact
			up := false
			for f, b := range each[fact.Probed](run.Probes) {
				switch {
				case b.Probe != kind:
				case b.Verdict == fact.Failure && up:
					failed = append(failed, f)
				case b.Verdict == fact.Success:
					up = true
				}
			}
			if n := len(failed); n > 0 {
				f.text += fmt.Sprintf(" The %s probe of container %s failed %s since it first succeeded, last at %s, and succeeds again.", kindWord(kind), run.Container, prose.Times(n), failed[n-1].Seen.Format(time.TimeOnly))
				f.chain = append(links(failed[max(0, n-2):]...), f.chain...)
			}
		}
	}
}

// failsLately are the newest attempts of a probe that fails and has not failed as often as it takes,
// which is most: kubelet, and the API's status, come a moment after the last one. No run for none.
func (h *inquiry) failsLately(container string) (run *history.Run, kind fact.ProbeKind, row []*fact.Fact, most int) {
	for run := range h.running(container) {
		for _, kind := range []fact.ProbeKind{fact.Readiness, fact.Liveness} {
			spec := fact.ProbeOf(h.Spec(run.Container), kind)
			if row := lastFailures(run, kind); len(row) > 0 && spec != nil {
				return run, kind, row, int(max(1, spec.FailureThreshold))
			}
		}
	}
	return nil, "", nil, 0
}

// spec is that of a container, empty where it is not known.
func (h *inquiry) spec(container string) *v1.Container {
	return cmp.Or(h.Spec(container), &v1.Container{})
}

// podSpec is that of the pod, empty where it is not known.
func (h *inquiry) podSpec() *v1.PodSpec {
	if h.Object == nil {
		return &v1.PodSpec{}
	}
	return &h.Object.Spec
}

// running yields the newest runs that have not ended: of one container, or of all where it is empty.
func (h *inquiry) running(container string) iter.Seq[*history.Run] {
	return func(yield func(*history.Run) bool) {
		for _, name := range h.Containers() {
			if run := h.Last(name); run != nil && run.Exit == nil && (container == "" || container == name) && !yield(run) {
				return
			}
		}
	}
}

// ready reports whether the pod is Ready by its newest status.
func (h *inquiry) ready() bool {
	status, known := h.Status(h.Policy)
	return known && readyNow(status)
}

func readyNow(status v1.PodStatus) bool {
	c := conditionOf(status.Conditions, v1.PodReady)
	return c != nil && c.Status == v1.ConditionTrue
}

// unseen finds what no status shows: children that are OOM-killed while the
// container lives, probes that have never been made, page cache that looks like
// a leak.
func (h *inquiry) unseen(run *history.Run) []finding {
	var all []finding
	if n := len(run.OOMKills); n > 0 {
		f := finding{rule: "child-oom", weight: strong}
		last := oomRecord(fact.Of[fact.OOMKilled](run.OOMKills[n-1]))
		h.blameOOM(&f, run, run.OOMKills[n-1])
		f.chain = links(run.OOMKills[max(0, n-5):]...)
		f.text = fmt.Sprintf("Container %s looks healthy and is not: processes in it were OOM-killed %s while it kept running%s, %s.",
			run.Container, prose.Times(n), inBrackets("last ", process(last.Command, last.PID)), h.atLimit(run.Container, fact.OOMKilled(last)))
		f.container = run.Container
		if f.cause == answer.MemoryLimitChild {
			f.fix(h.memoryFixes(run, last)...)
		}
		all = append(all, f)
	}
	for _, kind := range []fact.ProbeKind{fact.Liveness, fact.Startup} {
		p := newProbing(h, run, kind, nil)
		if len(p.failed) > 0 && p.mode == impossible {
			if f := probeImpossible(p); f != nil {
				f.container = run.Container
				seen := *f
				seen.rule = "probe-command"
				seen.text, seen.because = "It looks well only because nobody can ask it.", append([]string{f.text}, f.because...)
				all = append(all, seen)
			}
		}
	}
	for _, f := range []*finding{h.cacheAtLimit(run), h.servesNobody(run), h.listenerEnded(run)} {
		if f != nil {
			all = append(all, *f)
		}
	}
	return all
}

func letGoOn(pid int) answer.Fix {
	f := kubectl.OnNode("let the process go on", shell.Linef("kill -CONT %d", pid))
	f.Risk = answer.Safe
	return f
}

// lookedLately is how old a look may be that tells how a container is that nobody probes.
const lookedLately = time.Minute

// freshLook is the newest look into a run that goes on; nil where that failed, or is no longer of now.
func (h *inquiry) freshLook(run *history.Run) (at *fact.Fact, look fact.Looked) {
	if n := len(run.Looks); n > 0 {
		at, look = run.Looks[n-1], fact.Of[fact.Looked](run.Looks[n-1])
	}
	if at == nil || look.Error != "" || h.Now.Sub(at.When()) > lookedLately {
		return nil, look
	}
	return at, look
}

// servesNobody finds a container that looks well because no probe asks it: its main process
// or the one that holds a port is stopped, or connections wait to be accepted while all is
// idle.
func (h *inquiry) servesNobody(run *history.Run) *finding {
	at, look := h.freshLook(run)
	if at == nil {
		return nil
	}
	f := &finding{container: run.Container, weight: strong, chain: links(at)}
	waiting := 0
	var paused fact.Listener
	for _, l := range look.Listeners {
		if !l.Other {
			waiting += l.Backlog
		}
		if !l.Other && full(l) {
			paused = l
		}
		if !l.Other && stopped(l.State) && !stopped(look.State) {
			look.State, look.PID = l.State, l.PID
		}
	}
	f.fixes = []answer.Fix{h.logsFix(run)}
	switch {
	case stopped(look.State):
		f.cause, f.rule = answer.ProcessStopped, "process-stopped"
		f.text = fmt.Sprintf("Container %s looks healthy and does nothing: its process (pid %d) %s.", run.Container, look.PID, stateWords(look.State))
		f.fixes = []answer.Fix{letGoOn(look.PID)}
	case paused.Paused && waitedBefore(run, at):
		f.cause, f.rule = answer.AppOverloaded, "takes-no-more"
		f.text = fmt.Sprintf("Container %s looks healthy and takes no more connections: %s.", run.Container, fullWords(paused))
	case waiting > 0 && waitedBefore(run, at) && look.State == "S" && share(look) >= 0 && share(look) <= idleShare:
		f.cause, f.rule = answer.AppHang, "hang"
		f.text = fmt.Sprintf("Container %s looks healthy and hangs: %s to be accepted, and its main process %s.", run.Container, waitWords(waiting), idleWords(look))
	default:
		return nil
	}
	return f
}

// comesUp is how long what serves may take until it does: its main process may idle all the
// while, where others of the container work.
const comesUp = time.Minute

// waitedBefore says whether connections waited already in an earlier look, and the run is no
// longer at its start: who is about to serve them is no hang.
func waitedBefore(run *history.Run, at *fact.Fact) bool {
	if run.Started != nil && at.When().Sub(run.Started.When()) < comesUp {
		return false
	}
	return slices.ContainsFunc(run.Looks, func(f *fact.Fact) bool {
		ago := at.When().Sub(f.When())
		return ago >= leastHang && ago <= lookedLately && slices.ContainsFunc(fact.Of[fact.Looked](f).Listeners, func(l fact.Listener) bool { return !l.Other && l.Backlog > 0 })
	})
}

// leastHang is how long connections must have waited.
const leastHang = 3 * time.Second

// cacheAtLimit rules memory out where usage touches the limit with what the
// kernel gives back: page cache.
func (h *inquiry) cacheAtLimit(run *history.Run) *finding {
	for s, b := range newest[fact.Sampled](run.Samples) {
		if b.MemoryLimit == 0 || b.MemoryCurrent < b.MemoryLimit*9/10 {
			continue
		}
		if b.OOMKills > 0 || b.MemoryFile-b.MemoryShmem < b.MemoryCurrent/2 {
			return nil
		}
		f := concluded(answer.MemoryLimit, refuted, s).
			says("container %s uses %s of its %s, but %s of that is page cache, which the kernel gives back when memory is short; nothing was OOM-killed",
				run.Container, prose.Size(b.MemoryCurrent), prose.Size(b.MemoryLimit), prose.Size(b.MemoryFile-b.MemoryShmem))
		f.rule = "oom"
		return f
	}
	return nil
}
