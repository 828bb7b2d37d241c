package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// missedAfter is how long a node may be silent before the control plane calls it
// lost (its lease, leaseDurationSeconds, holds that long).
const missedAfter = 40 * time.Second

// Outage is a time in which a node could not be heard of, or could not look after
// its pods.
type Outage struct {
	From, Until time.Time // Until is zero while it goes on
	// What it was doing, as far as evidence says: stopped, suspended, starved,
	// killed, out of memory, rebooted, shut down, cut off from the API server.
	Text      string
	Certainty answer.Certainty
	Rule      string
	Chain     []answer.Link
	// Rebooted says that the machine itself was started again.
	Rebooted bool
	// Ended says that the agent ended; else it lived, and its API server or its CPU
	// was out of reach.
	Ended   bool
	planned bool // somebody asked for it
}

// Long says whether the control plane misses a node for it.
func (o Outage) Long(now time.Time) bool {
	return o.last(now).Sub(o.From) >= missedAfter
}

// last is when it was over, or now.
func (o Outage) last(now time.Time) time.Time { return prose.Whether(o.Until.IsZero(), now, o.Until) }

// Outages finds in the facts about a node when it was away and why, oldest first.
func Outages(node []fact.Fact) []Outage {
	var all []Outage
	for i := range node {
		f := &node[i]
		switch b := f.Body.(type) {
		case fact.AgentStalled:
			text, rule := stalledWords(b)
			all = append(all, Outage{From: b.From, Until: b.Until, Text: text, Certainty: answer.Inferred, Rule: rule, Chain: links(f)})
		case fact.AgentStarted:
			if o, ok := ended(node, f, b); ok {
				all = append(all, o)
			}
		case fact.Lost:
			if o, ok := silence(node[i+1:], f, b); ok {
				all = append(all, o)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Outage) int { return a.From.Compare(b.From) })
	return all
}

// stalledWords says from the kernel's counters why an agent that lived did nothing.
func stalledWords(b fact.AgentStalled) (text, rule string) {
	took := b.Until.Sub(b.From)
	switch {
	case b.Suspended > took/2:
		return fmt.Sprintf("the machine itself slept for %s of it (suspend, or a paused virtual machine)", prose.Span(b.Suspended)), "machine-suspended"
	case b.Continued:
		return "its agent was stopped by a signal (SIGSTOP), and went on when somebody sent SIGCONT", "agent-stopped"
	case b.MemoryStall > took/4:
		return fmt.Sprintf("its agent could not run: everything on the machine waited for memory for %s of it (%d pages came from disk for the agent alone)", prose.Span(b.MemoryStall), b.MajorFaults), "agent-starved-of-memory"
	case b.CPUWait > took/4:
		return fmt.Sprintf("its agent had no CPU: its main thread waited for one for %s of it", prose.Span(b.CPUWait)), "agent-starved-of-cpu"
	}
	return "its agent was frozen: it lived and did not run, without waiting for CPU or memory (a cgroup freezer, a debugger)", "agent-frozen"
}

// ended is the time between the end of one agent and the start of the next.
func ended(node []fact.Fact, f *fact.Fact, b fact.AgentStarted) (Outage, bool) {
	if b.Previous == fact.NoRunBefore || b.LastSeen.IsZero() {
		return Outage{}, false
	}
	o := Outage{From: b.LastSeen, Until: f.Seen, Certainty: answer.Recorded, Chain: links(f), Ended: true}
	switch b.Previous {
	case fact.RunClean:
		if stopped := controlPlaneEnded(node, f); stopped != nil {
			b := fact.Of[fact.AgentStopped](stopped)
			o.From, o.Text, o.Chain, o.Ended = b.Since, "its control plane had ended: "+prose.Brief(b.Reason, 2*kept), links(stopped, f), false
			break
		}
		o.Text, o.planned = "its agent was shut down (whylet down, or SIGTERM)", true
	case fact.RunRebooted:
		o.Text, o.Rebooted = "the machine was rebooted, or lost its power; all containers ended with it", true
	default:
		o.Text, o.Certainty, o.Rule = "its agent was killed (SIGKILL, or a crash), and nothing else is known of that: the kernel's log has no OOM kill of it", answer.Inferred, "agent-killed"
		if kill := agentOOM(node, f); kill != nil {
			k := fact.Of[fact.OOMKilled](kill)
			o.Text = fmt.Sprintf("its agent was OOM-killed: the kernel chose %s, which held %s", cmp.Or(process(k.Command, k.PID), "it"), prose.Size(k.AnonRSS))
			o.Certainty, o.Rule, o.Chain = answer.Recorded, "", links(kill, f)
		} else if !b.StuckSince.IsZero() {
			o.Text = fmt.Sprintf("its agent made no progress from %s on, and was ended for that by systemd (WatchdogSec) or by hand", prose.Clock(b.StuckSince))
			o.Rule = "agent-stuck"
		}
	}
	return o, true
}

// controlPlaneEnded is the end of the run before started, if it was for the sake of
// the node's control plane.
func controlPlaneEnded(node []fact.Fact, started *fact.Fact) (last *fact.Fact) {
	for f, b := range every[fact.AgentStopped](node) {
		if f.ID < started.ID {
			if last = nil; b.Reason != "" && !b.Since.IsZero() {
				last = f
			}
		}
	}
	return last
}

// agentOOM is the kernel's record about the agent that ran before started. It may
// have been read only by the next one.
func agentOOM(node []fact.Fact, started *fact.Fact) *fact.Fact {
	pid := 0
	for f, b := range every[fact.AgentStarted](node) {
		if f.ID < started.ID {
			pid = b.PID
		}
	}
	for f, b := range every[fact.OOMKilled](node) {
		if pid != 0 && b.PID == pid && f.Pod.UID == "" && !f.When().After(started.Seen) {
			return f
		}
	}
	return nil
}

// silence is a time without an answer of the API server. It is told twice, when it
// is noticed and when it is over; the second word counts.
func silence(later []fact.Fact, f *fact.Fact, b fact.Lost) (Outage, bool) {
	if b.Source != "api" {
		return Outage{}, false
	}
	o := Outage{From: b.From, Until: b.Until, Certainty: answer.Recorded, Chain: links(f)}
	for i := range later {
		again, ok := later[i].Body.(fact.Lost)
		if ok && again.Source == fact.SourceAPI && again.From.Equal(b.From) {
			return Outage{}, false
		}
		if stopped, ok := later[i].Body.(fact.AgentStopped); ok && stopped.Reason != "" && !stopped.Since.After(b.From) && o.Until.IsZero() {
			return Outage{}, false // the next start tells of it, and why
		}
		if _, restarted := later[i].Body.(fact.AgentStarted); restarted && o.Until.IsZero() {
			o.Until = later[i].Seen
		}
	}
	o.Text = "its agent ran, and the API server did not answer it"
	if b.Until.IsZero() {
		o.Text += ": " + prose.Brief(b.Reason, kept)
	}
	return o, true
}

// NodeMemory answers from a node's own memory what happened to the node itself:
// when it was away and why, and what was not lost. pods are facts of its pods in
// that time: their ends.
func NodeMemory(name string, node, pods []fact.Fact, o Options) answer.Answer {
	a := answer.New(answer.Subject{Kind: "Node", Name: name}, o.Now, o.Journal)
	for _, out := range slices.Backward(Outages(node)) {
		last := out.last(o.Now)
		if !o.Since.IsZero() && last.Before(o.Since) || len(a.Symptoms) >= maxOutages {
			continue
		}
		a.Put(out.symptom(o.Now, last), out.finding(o.Now, last, pods).verdict("", nil))
	}
	putRuntimeAway(&a, node, pods, o)
	putEvictions(&a, pods, o)
	if len(a.Symptoms) == 0 {
		f := finding{cause: answer.None, rule: "no-outage", weight: fair, text: "The node was never away, as far back as its memory goes."}
		a.Put(answer.Symptom{Kind: answer.Healthy, Count: 1, Text: "the node itself"}, f.verdict("", nil))
	}
	return a.Redacted()
}

// putRuntimeAway puts into an answer when the container runtime did not answer, newest first: the node is NotReady
// then, and its containers run on.
func putRuntimeAway(a *answer.Answer, node, pods []fact.Fact, o Options) {
	n := 0
	for f, b := range newest[fact.Lost](fact.All[fact.Lost](node)) {
		if b.Source != fact.SourceRuntime || b.From.IsZero() || b.Until.IsZero() || b.Until.Before(o.Since) || n >= maxOutages {
			continue
		}
		n++
		took := prose.Span(b.Until.Sub(b.From))
		a.Put(answer.Symptom{Kind: answer.UnknownNode, Count: 1, First: b.From, Last: b.Until, Text: "its container runtime was away for " + took}, concluded(answer.NodeLost, strong, f).recorded().
			says("The container runtime did not answer from %s to %s (%s): %s. %s", prose.Clock(b.From), prose.Clock(b.Until), took, strings.TrimSuffix(prose.Brief(b.Reason, kept), "."), survived(pods, b.From, b.Until)).
			fix(answer.Fix{Text: "see what the runtime logged before that time", Risk: answer.Inspect}).verdict("", nil))
	}
}

// maxOutages bounds how many are told of, newest first.
const maxOutages = 10

func (o Outage) symptom(now, last time.Time) answer.Symptom {
	text := "it was away for " + prose.Span(last.Sub(o.From))
	switch {
	case o.Until.IsZero():
		text = "it is cut off for " + prose.Span(now.Sub(o.From))
	case !o.Long(now):
		text += ", too short for the control plane to call it lost"
	}
	return answer.Symptom{Kind: answer.UnknownNode, Count: 1, First: o.From, Last: last, Text: text}
}

func (o Outage) finding(now, last time.Time, pods []fact.Fact) finding {
	f := finding{cause: answer.NodeLost, certainty: o.Certainty, rule: o.Rule, weight: strong, chain: o.Chain}
	if o.Ended && o.Rebooted {
		f.cause = answer.NodeRestarted
	}
	f.text = fmt.Sprintf("The node did not report from %s to %s (%s): %s.", prose.Clock(o.From), prose.Clock(last), prose.Span(last.Sub(o.From)), o.Text)
	if o.Until.IsZero() {
		f.text = fmt.Sprintf("The node has not reported since %s (%s): %s.", prose.Clock(o.From), prose.Span(now.Sub(o.From)), o.Text)
	}
	f.text += " " + survived(pods, o.From, last)
	f.fixes = []answer.Fix{{Text: "see what its agent said", Command: "tail -n 100 DATA-DIR/logs/whylet.log", Risk: answer.Inspect}}
	return f
}

// survived says what an outage did not take: containers that ran through it. An
// outage counts from the last sign of life, after which one may still have started.
func survived(pods []fact.Fact, from, until time.Time) string {
	var names []string
	running, ended := map[string]bool{}, map[string]bool{}
	for i := range pods {
		f := &pods[i]
		key := string(f.Pod.UID) + "/" + f.Container
		switch f.Body.(type) {
		case fact.Started:
			if f.When().Before(until) && !ended[key] {
				running[key] = true
			}
		case fact.Exited:
			switch at := f.When(); {
			case at.Before(from):
				delete(running, key)
			case !at.After(until) && running[key]:
				delete(running, key)
				ended[key] = true
				names = append(names, f.Pod.String()+"/"+f.Container)
			}
		}
	}
	switch {
	case len(names) > 0:
		slices.Sort(names)
		n := len(names)
		names = names[:min(n, 5)]
		return fmt.Sprintf("%s ended in that time (%s); %s kept running, and nothing was restarted because of it.",
			prose.Plural(n, "container"), strings.Join(names, ", "), prose.Plural(len(running), "other"))
	case len(running) == 1:
		return "Nothing was lost: its one container kept running, and the node took it over again."
	case len(running) > 0:
		return fmt.Sprintf("Nothing was lost: all %s kept running, and the node took them over again.", prose.Plural(len(running), "container"))
	}
	return "It is not known to have run any containers."
}

// recalled is how long an outage of its node is a symptom of a pod that came
// through it: as long as Kubernetes keeps its events. After that it is a gap in
// what was seen, and the node's own answer still tells of it.
const recalled = time.Hour

// away are the outages of the node that were long enough for the control plane to
// call the pod's state unknown. One that somebody asked for (whylet down) is none.
func (h *inquiry) away() []trouble {
	if len(h.Facts) == 0 {
		return nil
	}
	var all []trouble
	for _, o := range Outages(h.Node) {
		last := o.last(h.Now)
		if o.planned || !o.Long(h.Now) || h.Facts[0].Seen.After(o.From) || h.Now.Sub(last) > recalled || h.Over(o.From) {
			continue
		}
		s := o.symptom(h.Now, last)
		s.Text = "its node was away for " + prose.Span(last.Sub(o.From))
		f := o.finding(h.Now, last, h.Facts)
		f.text += " While a node does not report, the control plane calls it and its pods Unknown or not Ready."
		if node := h.podSpec().NodeName; node != "" {
			f.fixes = []answer.Fix{h.inspect("see what else the node remembers", kubectl.Command("", "why node/%s", node))}
		}
		all = append(all, trouble{s, func() answer.Verdict { return f.verdict("", nil) }})
	}
	return all
}

// stalls are the times in which the agent lived and saw nothing.
func (h *inquiry) stalls() []answer.Gap {
	var gaps []answer.Gap
	for _, b := range every[fact.AgentStalled](h.Node) {
		if len(h.Facts) > 0 && h.Facts[0].Seen.Before(b.Until) {
			text, _ := stalledWords(b)
			gaps = append(gaps, answer.Gap{From: b.From, To: b.Until, Reason: fmt.Sprintf("the node's agent did not run: %s", text)})
		}
	}
	return gaps
}
