package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// NoteErrors adds notes to the answer about a Ready pod without a symptom: the gravest and newest errors of its
// logs since it was Ready, and warnings about an object of the cluster that go on. None of them shows that it fails.
func NoteErrors(a *answer.Answer, pod *v1.Pod, logs []Log) {
	if len(a.Symptoms) != 1 || a.Symptoms[0].Kind != answer.Healthy || a.Verdicts[0].Cause != answer.None {
		return
	}
	h := inquiryOf(a, pod)
	for _, log := range logs {
		l := h.logOf(log)
		var all []complainedNow
		for _, g := range l.story.Groups(logline.Warning, l.at) {
			c := h.complaint(l, g)
			if g.Severity == logline.Warning {
				if c.another = c.another || namesObject.MatchString(c.text); !c.another || g.Count < leastErrors || !c.goesOn(h.Now) {
					continue
				}
			}
			if !c.harmless() && !g.Until.IsZero() && !g.Until.Before(l.ready) && !c.saysRecovered() {
				all = append(all, c)
			}
		}
		slices.SortStableFunc(all, func(a, b complainedNow) int {
			return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.Last, a.Last))
		})
		for _, c := range all[:min(len(all), mostNoted)] {
			what := prose.Whether(c.Severity == logline.Warning, "a warning", "an error")
			note := answer.Note{Cause: answer.AppUnhealthy, Text: fmt.Sprintf("container %s logged %s (%s): %s", l.Container, what, c.howOften(h.Now), quoteAs(answer.RoleNoted, c.text, kept))}
			v := &a.Verdicts[0]
			v.Contributing = append(v.Contributing, note)
			if c.Severity > logline.Warning && h.Now.Sub(c.Until) <= seldom && slices.ContainsFunc(pod.Spec.Containers, hasProbe) {
				v.Certainty, v.Rule = answer.Unknown, ""
				a.Symptoms[0].Text = "the pod is Ready, and its log has errors"
				v.Say(answer.Parts{Subject: subject(""), What: "Kubernetes reports no problem, but the log has errors. They may concern single requests."})
			}
			if i := v.Step(answer.StepReadLog); i >= 0 {
				v.Fixes = slices.Delete(v.Fixes, i, i+1)
			}
			if !slices.ContainsFunc(v.Fixes, h.readLog(c).SameCommand) {
				v.Fixes = append(v.Fixes, h.readLog(c))
			}
		}
	}
}

// mostTelling returns the trouble that explains the others: a container's own error with a known cause comes before an
// error that names no place outside the pod. The others become contributing notes.
func (h *inquiry) mostTelling(all []trouble) (trouble, bool) {
	switch len(all) {
	case 0:
		return trouble{}, false
	case 1:
		return all[0], true
	}
	best, verdicts := 0, make([]answer.Verdict, len(all))
	for i, t := range all {
		verdicts[i] = t.explain()
	}
	known := func(v answer.Verdict) bool { return v.Cause != answer.AppUnhealthy && v.Cause != answer.DependencyDown }
	if i := slices.IndexFunc(verdicts, known); i > 0 && !h.leadsOutside(verdicts[0].Repeats[0]) {
		best = i
	}
	v := verdicts[best]
	for i, other := range verdicts {
		if r := other.Repeats[0]; i != best {
			v.Contributing = append(v.Contributing, answer.Note{Cause: other.Cause, Text: fmt.Sprintf("container %s also logs an error (%s): %s", r.Container, prose.Times(r.Count), quoteAs(answer.RoleNoted, r.Text, kept))})
		}
	}
	t := all[best]
	t.explain = func() answer.Verdict { return v }
	return t, true
}

// leadsOutside reports whether an error names a place that is not the pod itself.
func (h *inquiry) leadsOutside(r answer.Repeat) bool {
	n, ok := h.askedFor(r.Container, r.Text)
	host := hostIn(n.place)
	return ok && host != "" && !loopback(host) && !h.ownAddress(host)
}

// logComplains is the rule of what the log of a Ready pod repeats.
const logComplains = "log-complains"

// degraded returns the trouble of a running container whose log repeats an error; ok is false if it repeats none.
func (h *inquiry) degraded(l logOf) (t trouble, ok bool) {
	l.ready = h.readySince()
	all := h.complainsNow(l)
	if len(all) == 0 {
		return h.answersBadly(l)
	}
	g := all[0]
	said := cmp.Or(l.story.ReasonAt(g.Last), g.text)
	c := answer.Complaint{Container: l.Container, Text: said, Another: g.another}
	f := finding{cause: answer.AppUnhealthy, rule: logComplains, weight: fair, container: l.Container}
	switch m, known := h.Knowledge.Meaning(said); {
	case known && m.Role.Server == knowledge.Denied:
		f.cause = answer.SecurityRefused
	case knowledge.WorkerKilled.In(said) && !h.spec(l.Container).Resources.Limits.Memory().IsZero():
		f.cause = answer.MemoryLimitChild
	case knowledge.NoSpace.In(said) && !g.another:
		f.cause = answer.DiskFull
	case knowledge.Refused.In(said) && !g.another && deniedAt(said) != "":
		f.cause = answer.SecurityRefused
	case g.another:
		f.cause = answer.DependencyDown
	}
	h.explained(&c)
	f.cause = cmp.Or(c.Cause, f.cause)
	if g.another {
		n, _ := h.askedFor(l.Container, l.story.Text(g.Last))
		n.place = cmp.Or(n.place, g.place)
		f.fixes = n.fixes(h)
		h.meant(&f, l.Container, said)
	} else {
		f.fixes = c.Fixes
	}
	if f.cause == answer.DiskFull && !slices.ContainsFunc(f.fixes, changes) {
		f.first(h.roomFix(l.Container, said))
	}
	f.text = fmt.Sprintf("Container %s runs and its pod is Ready, but its log repeats an error (%s): %s.", l.Container, g.howOften(h.Now), quoteAs(answer.RoleLog, said, quoted))
	switch {
	case g.endsThread():
		f.text = fmt.Sprintf("Container %s runs and its pod is Ready, but an error ended one of its threads (%s), and nothing restarts it: %s.", l.Container, g.howOften(h.Now), quoteAs(answer.RoleLog, said, quoted))
		if knowledge.NoMemory.In(said) {
			f.fix(h.specFix(h.moreHeap(l.Container, 0)))
		}
		f.fix(answer.Fix{Text: "restart the pod, which starts that thread again", Command: kubectl.Restart(h.Pod.Namespace, h.Object), Risk: answer.Restarts})
	case g.Count == 1:
		f.text = fmt.Sprintf("Container %s runs and its pod is Ready, but the last line of its log, %s ago, is an error: %s.", l.Container, prose.Span(max(h.Now.Sub(g.Until), 0)), quoteAs(answer.RoleLog, said, quoted))
	}
	if c.Means != "" {
		f.because = append(f.because, c.Means)
	}
	repeats := []answer.Repeat{g.repeat(said)}
	for _, other := range all[1:] {
		if len(repeats) == mostRepeats {
			break
		}
		if strings.Contains(said, other.text) || logline.Alike(said, other.text) {
			continue
		}
		repeats = append(repeats, other.repeat(other.text))
		f.because = append(f.because, fmt.Sprintf("It also logs (%s): %s.", other.howOften(h.Now), quoteAs(answer.RoleNoted, other.text, kept)))
	}
	if l.seen != nil {
		f.chain = links(l.seen)
	} else {
		f.chain = []answer.Link{{At: g.Until, Kind: "Log", Text: prose.Brief(said, kept)}}
	}
	f.fix(h.readLog(g))
	t.Symptom = answer.Symptom{Kind: answer.Degraded, Container: l.Container, Count: g.Count, First: g.From, Last: h.Now}
	t.Text = fmt.Sprintf("the pod is Ready, but container %s logs errors", l.Container)
	t.explain = func() answer.Verdict {
		v := f.verdict(l.Container, nil)
		h.decide(&v)
		v.Repeats = repeats
		return v
	}
	return t, true
}

// answersBadly returns the trouble of a server that answers most requests with 5xx and logs no error. A proxy logs no more
// about failures of its backends.
func (h *inquiry) answersBadly(l logOf) (t trouble, ok bool) {
	g, served := complainedNow{log: l}, 0
	for i, at := range l.At { // without times nothing shows that a request is recent
		status := logline.Status(l.Lines[i])
		if status == 0 || at.Before(l.ready) || h.Now.Sub(at) > degradedWithin {
			continue
		}
		served++
		if status < 500 {
			continue
		}
		if g.Count++; g.Count == 1 {
			g.From = at
		}
		g.Until, g.text = at, l.Lines[i]
	}
	if g.Count < leastErrors || 2*g.Count < served {
		return t, false
	}
	f := finding{cause: answer.AppUnhealthy, rule: logComplains, weight: fair, container: l.Container, fixes: []answer.Fix{h.readLog(g)}}
	f.text = fmt.Sprintf("Container %s runs and its pod is Ready, but %d of the last %d requests were answered with 5xx: %s.", l.Container, g.Count, served, quoteAs(answer.RoleLog, g.text, quoted))
	if l.seen != nil {
		f.chain = links(l.seen)
	} else {
		f.chain = []answer.Link{{At: g.Until, Kind: "Log", Text: prose.Brief(g.text, kept)}}
	}
	t.Symptom = answer.Symptom{Kind: answer.Degraded, Container: l.Container, Count: g.Count, First: g.From, Last: h.Now, Text: fmt.Sprintf("the pod is Ready, but container %s answers with errors", l.Container)}
	t.explain = func() answer.Verdict {
		v := f.verdict(l.Container, nil)
		h.decide(&v)
		v.Repeats = []answer.Repeat{g.repeat(g.text)}
		return v
	}
	return t, true
}

// readLog is the step that shows the newest line of an error.
func (h *inquiry) readLog(g complainedNow) answer.Fix {
	minutes := 10
	if !g.Until.IsZero() {
		minutes += int(max(h.Now.Sub(g.Until), 0)/(10*time.Minute)) * 10
	}
	return h.inspect("read what it logs", h.kubectl("logs %s -c %s --since=%dm", h.Pod.Name, g.log.Container, minutes))
}

// readySince returns when the pod became Ready by its object; zero if it is not Ready or unknown.
func (h *inquiry) readySince() time.Time {
	if h.Object == nil || !readyNow(h.Object.Status) {
		return time.Time{}
	}
	return conditionOf(h.Object.Status.Conditions, v1.PodReady).LastTransitionTime.Time
}

// unanswered returns the trouble of a container with several unanswered connections to one address.
func (h *inquiry) unanswered(run *history.Run) (t trouble, ok bool) {
	first := map[string]*fact.Fact{}
	for _, f := range run.Looks {
		if h.Now.Sub(f.Seen) > lookedLately {
			continue
		}
		for _, d := range fact.Of[fact.Looked](f).Dialing {
			before := first[d.Remote]
			if before == nil && !d.Other {
				first[d.Remote] = f
			}
			if before == nil || d.Other || f.Seen.Sub(before.Seen) < leastHang {
				continue
			}
			at := d.Remote
			finding := finding{
				cause: answer.DependencyDown, rule: "dials-unanswered", weight: fair, container: run.Container, chain: links(before, f), fixes: needed{place: at, what: "no answer"}.fixes(h),
				text: fmt.Sprintf("Container %s runs and its pod is Ready, but its connections to %s get no answer.", run.Container, answer.MarkNeed(answer.Need{Place: at})),
			}
			t.Symptom = answer.Symptom{Kind: answer.Degraded, Container: run.Container, Count: 1, First: before.Seen, Last: h.Now, Text: fmt.Sprintf("the pod is Ready, but container %s gets no answer from %s", run.Container, at)}
			t.explain = func() answer.Verdict { return finding.verdict(run.Container, nil) }
			ok = true
		}
	}
	return t, ok
}

// failsAtWork returns the trouble of a Ready pod whose logs or sockets show that it fails.
func (h *inquiry) failsAtWork(container string) (trouble, bool) {
	var all []trouble
	var runs []*history.Run
	for run := range h.running(container) {
		if name := run.Container; !h.IsEphemeral(name) && (!h.IsInit(name) || h.isSidecar(name)) {
			runs = append(runs, run)
		}
	}
	for _, run := range runs {
		name := run.Container
		if f, _ := run.Said(time.Time{}); f != nil && h.Now.Sub(f.Seen) <= lookedLately {
			look := fact.Of[fact.Looked](f)
			l := logOf{Log: Log{Container: name, Lines: look.Said}, story: h.read(look.Said), seen: f}
			if len(look.SaidAt) == len(look.Said) {
				l.at, l.At = look.SaidAt, look.SaidAt
			}
			if t, ok := h.degraded(l); ok {
				all = append(all, t)
			}
		}
	}
	if len(all) > 0 {
		return h.mostTelling(all)
	}
	for _, run := range runs {
		if t, ok := h.unanswered(run); ok {
			return t, true
		}
	}
	return trouble{}, false
}

// tested reports whether anything shows that a pod without symptoms works: a probe, or a recent inspection of each
// running container.
func (h *inquiry) tested(container string) bool {
	looked := false
	for run := range h.running(container) {
		if hasProbe(*h.spec(run.Container)) {
			return true // it would have a symptom otherwise
		}
		if at, _ := h.freshLook(run); at == nil {
			return false
		}
		looked = true
	}
	return looked
}

func hasProbe(c v1.Container) bool {
	return c.ReadinessProbe != nil || c.LivenessProbe != nil || c.StartupProbe != nil
}

// Log is the end of the log of a running container, oldest line first. At has the time of each line, or is nil.
type Log struct {
	Container string
	Lines     []string
	At        []time.Time
}

// Last are the last lines of a log, at most so many.
func (l Log) Last(most int) Log {
	from := max(0, len(l.Lines)-most)
	l.Lines, l.At = l.Lines[from:], l.At[min(from, len(l.At)):]
	return l
}

// inquiryOf asks about a pod of which nothing but its object and its logs is known.
func inquiryOf(a *answer.Answer, pod *v1.Pod) *inquiry {
	h := &inquiry{History: history.New(fact.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, nil, nil, nil), Options: Options{Now: a.AsOf, Knowledge: knowledge.Embedded()}}
	h.Object = pod
	return h
}

func (h *inquiry) logOf(log Log) logOf {
	l := logOf{Log: log, ready: h.readySince()}
	l.story, l.at = words.ReadLong(log.Lines, log.At)
	return l
}

// Degrade replaces the symptom of an answer about a Ready, Healthy pod by Degraded if one of the logs repeats an
// error, and adds the addresses that the errors name to the answer's Reaches. It reports whether it did.
func Degrade(a *answer.Answer, pod *v1.Pod, logs []Log) bool {
	h := inquiryOf(a, pod)
	if len(a.Symptoms) != 1 || a.Symptoms[0].Kind != answer.Healthy && a.Symptoms[0].Kind != answer.Degraded || a.Verdicts[0].Cause != answer.None && a.Symptoms[0].Kind == answer.Healthy {
		return false
	}
	var all []trouble
	for _, log := range logs {
		if t, ok := h.degraded(h.logOf(log)); ok {
			all = append(all, t)
		}
	}
	if t, ok := h.mostTelling(all); ok {
		v := t.explain()
		t.ID = a.Symptoms[0].ID
		v.Symptom = t.ID
		h.soften(&v)
		h.besideOnLoopback(&v, logs)
		v.Text = strings.TrimSpace(v.Text)
		a.Symptoms, a.Verdicts = []answer.Symptom{t.Symptom}, []answer.Verdict{v}
		for _, r := range v.Repeats {
			if logline.Status(r.Text) != 0 {
				continue // that a request failed tells nothing of why
			}
			if n, ok := h.askedFor(r.Container, r.Text); ok && n.place != "" && !slices.ContainsFunc(a.Reaches, func(known answer.Reach) bool { return known.Place == n.place }) {
				a.Reaches = append([]answer.Reach{{Container: r.Container, Place: n.place, How: answer.ReachSaid, Text: prose.Brief(r.Text, kept), Said: prose.Midst(r.Text, quoted)}}, a.Reaches...)
			}
			if !slices.ContainsFunc(a.Complaints, func(c answer.Complaint) bool { return c.Container == r.Container }) {
				c := answer.Complaint{Container: r.Container, Text: r.Text, Another: blames(r.Text)}
				if h.explained(&c); c.Cause == "" && v.Cause == answer.DiskFull && !c.Another {
					c.Cause = answer.DiskFull
				}
				a.Complaints = append(a.Complaints, c)
			}
		}
		return true
	}
	if v := &a.Verdicts[0]; !slices.ContainsFunc(pod.Spec.Containers, hasProbe) && v.Certainty == answer.Unknown && slices.ContainsFunc(logs, func(l Log) bool { return len(l.Lines) > 0 }) {
		what := prose.Whether(logsAreClean(pod, logs), "has no error", "repeats no error")
		v.Say(answer.Parts{Subject: subject(v.Container), What: "Kubernetes reports no problem and the log " + what + ", but no probe tests this pod."})
	}
	return false
}

// besideOnLoopback joins an address of the pod itself that refuses connections with the container beside that listens
// on the same port of the other loopback address, by its log: 127.0.0.1 and ::1 are two.
func (h *inquiry) besideOnLoopback(v *answer.Verdict, logs []Log) {
	n, ok := dependency(v.Repeats[0].Text)
	host, port, addressed := splitAddress(n.place)
	if !ok || !addressed || !loopback(host) {
		return
	}
	other := map[string]string{"127.0.0.1": "[::1]", "::1": "127.0.0.1", "[::1]": "127.0.0.1"}[host]
	if other == "" {
		return
	}
	at, listens := other+":"+port, regexp.MustCompile(regexp.QuoteMeta(other+":"+port)+`(?:\D|$)`)
	for _, log := range logs {
		if log.Container == v.Container || !slices.ContainsFunc(log.Lines, func(line string) bool { return listens.MatchString(line) && knowledge.OnLoopback.In(line) }) {
			continue
		}
		v.Cause = answer.AppListensElse
		v.SayBecause(fmt.Sprintf("By its log container %s of the same pod listens on %s alone, and nobody listens on %s.", log.Container, at, n.place))
		v.Fixes = append([]answer.Fix{h.specFix(fmt.Sprintf("have container %s ask %s, or have container %s listen on %s (or on all addresses)", v.Container, at, log.Container, host))}, v.Fixes...)
		return
	}
}

// logsAreClean reports whether the logs of all running containers were read and hold no error.
func logsAreClean(pod *v1.Pod, logs []Log) bool {
	for _, st := range pod.Status.ContainerStatuses {
		if st.State.Running != nil && !slices.ContainsFunc(logs, func(l Log) bool { return l.Container == st.Name }) {
			return false
		}
	}
	return !slices.ContainsFunc(logs, func(l Log) bool {
		story, at := words.ReadLong(l.Lines, l.At)
		return len(story.Groups(logline.Error, at)) > 0
	})
}
