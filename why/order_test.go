package why

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// sight is what an agent sees that only watches beside a kubelet.
type sight struct {
	name    string
	status  bool // the pod's status is seen in the end
	signals bool // signals are traced
	// basis is how decisions are known; empty: they are not.
	basis fact.Basis
	// told: of attempts only those that failed are known; counts: and how many succeeded.
	told, counts bool
}

var sights = []sight{
	{name: "nothing but effects"},
	{name: "with the status", status: true},
	{name: "with signals", status: true, signals: true},
	{name: "with orders that were due", status: true, basis: fact.Matched},
	{name: "with orders of which kubelet told", status: true, basis: fact.Told},
	{name: "with all that kubelet tells", status: true, basis: fact.Told, told: true},
	{name: "and its counters", status: true, basis: fact.Told, told: true, counts: true},
}

// watch gives the facts of a node as somebody would have them who only watched it: what
// was decided is not in them, or is somebody else's.
func (s sight) watch(facts, node []fact.Fact, shown map[fact.ID]v1.PodStatus) (seen, around []fact.Fact) {
	kills := map[fact.ID]bool{}
	dropped := map[fact.ID]bool{}
	good, failures := map[string]int64{}, int64(0)
	for _, f := range facts {
		number := f.ID
		_, checkpoint := f.Body.(fact.Checkpoint)
		if b, ok := f.Body.(fact.Refused); ok { // the status tells it
			b.Room = 0
			f.Body = b
		}
		decided := fact.IsDecided(f.Body)
		decision, _ := f.Body.(fact.Decided)
		_, kill := f.Body.(fact.Kill)
		kills[f.ID], dropped[f.ID] = kill, checkpoint || decided && s.basis == ""
		stopped := slices.ContainsFunc(f.Because, func(id fact.ID) bool { return kills[id] })
		f.Because = slices.DeleteFunc(slices.Clone(f.Because), func(id fact.ID) bool { return dropped[id] })
		for i := range f.Because {
			f.Because[i] *= 4
		}
		f.ID = 4 * number
		switch {
		case dropped[number]:
		case s.told && f.Body.Kind() == fact.Probed{}.Kind():
			if b := fact.Of[fact.Probed](&f); bad(b) {
				b.By = fact.BySay
				f.Body = b
				seen = append(seen, f)
				failures++
				if s.counts {
					seen = append(seen, fact.Fact{
						ID: f.ID + 2, Seen: f.Seen, Pod: f.Pod, Container: f.Container, Attempt: f.Attempt,
						Body: fact.Counted{Probe: b.Probe, Successes: good[f.Container+string(b.Probe)], Failures: failures, NewFailures: 1},
					})
				}
			} else {
				good[f.Container+string(b.Probe)] += max(1, b.Count)
			}
		case decided:
			f.Body = fact.Act{By: "kubelet", Basis: s.basis, Body: decision}
			seen = append(seen, f)
		default:
			if stopped && s.signals {
				seen = append(seen, fact.Fact{
					ID: f.ID - 1, At: f.When(), Seen: f.Seen, Pod: f.Pod, Container: f.Container, Attempt: f.Attempt,
					Body: fact.Signalled{Signal: 15, PID: 1, Main: true, Origin: fact.FromNode, SenderCommand: "runc"},
				})
			}
			seen = append(seen, f)
		}
		if now, changed := shown[number]; s.status && changed {
			seen = append(seen, fact.Fact{ID: f.ID + 1, At: f.Seen, Seen: f.Seen, Pod: f.Pod, Body: fact.StatusSeen{Status: now}})
		}
	}
	start := fact.AgentStarted{Previous: fact.NoRunBefore, Beside: "kubelet"}
	if s.signals {
		start.Sources = []fact.Source{fact.SourceSignals}
	}
	around = append(around, fact.Fact{ID: 1, Seen: time.Unix(0, 0).UTC(), Body: start})
	for _, f := range node {
		if b, ok := f.Body.(fact.AgentStarted); ok {
			b.Beside, b.Sources = start.Beside, start.Sources
			f.Body = b
		}
		around = append(around, f)
	}
	return seen, around
}

// shown are the statuses that the node gives the pod, by the fact that changes it.
func shown(facts []fact.Fact) map[fact.ID]v1.PodStatus {
	all := map[fact.ID]v1.PodStatus{}
	state, last := health.New(health.Policy{}), v1.PodStatus{}
	for _, f := range facts {
		state, _ = health.Step(state, f)
		if now := health.Status(state); !reflect.DeepEqual(now, last) {
			all[f.ID], last = now, now
		}
	}
	return all
}

// watched asks the same of those who only watched, and holds their answers to what is
// known: each may know less, and none may say what is wrong.
func (s *tale) watched(truth answer.Answer) {
	s.t.Helper()
	statuses := shown(s.facts)
	for i, sight := range sights {
		if s.junk && i%4 != 0 {
			continue // an answer is all that is asked for, and the first and the last differ most
		}
		facts, node := sight.watch(s.facts, s.node, statuses)
		a := Explain(history.New(s.key, facts, node, s.near), Options{Now: s.now})
		check(s.t, a)
		if s.junk {
			continue // what happens in it cannot: there is no truth to compare with
		}
		if said := selfDecided.FindString(a.Text(answer.Style{Wide: true})); said != "" {
			s.t.Errorf("%s: it says %q of what kubelet decided:\n%s", sight.name, said, a.Text(answer.Style{Wide: true}))
		}
		for _, v := range a.Verdicts {
			if v.Cause != answer.CauseUnknown && !mayBe(v, truth, sight.basis == fact.Matched) {
				s.t.Errorf("%s: it says %s (%s), which is wrong: %s\nit is %s", sight.name, v.Cause, v.Certainty, v.Text, truth.Text(answer.Style{}))
			}
		}
	}
}

// selfDecided is how an answer speaks of the decisions of a node's own.
var selfDecided = regexp.MustCompile(`[Tt]he\s+node\s+(ended|ends|killed|ordered|evict|refused|start|did\s+not|saw|decided)\S*`)

// mayBe says whether a verdict holds by the answer of one who knows more. A pod that is ready and begins
// to fail looks well to who sees no attempts.
func mayBe(v answer.Verdict, truth answer.Answer, guessed bool) bool {
	if v.Cause == answer.None && truth.Symptoms[0].Kind == answer.Healthy {
		return true
	}
	return slices.ContainsFunc(truth.Verdicts, func(true answer.Verdict) bool {
		if true.Cause == v.Cause || slices.Contains(oomCauses, true.Cause) && slices.Contains(oomCauses, v.Cause) {
			return v.Certainty != answer.Recorded || true.Certainty == answer.Recorded && !(guessed && restsOnEnd(v))
		}
		return slices.ContainsFunc(true.Contributing, func(n answer.Note) bool { return n.Cause == v.Cause })
	})
}

func restsOnEnd(v answer.Verdict) bool {
	return slices.ContainsFunc(v.Chain, func(l answer.Link) bool { return l.Kind == fact.Kill{}.Kind() || l.Kind == fact.Evict{}.Kind() })
}

// An end of which no order was seen is not taken for the container's own doing where an
// order need not have been seen, and is where there was no reason for one, or all signals
// were traced.
func TestOrder(t *testing.T) {
	started := func(sources ...fact.Source) fact.Fact {
		return fact.Fact{ID: 1, Seen: dawn.Add(-time.Hour), Body: fact.AgentStarted{Beside: "kubelet", Sources: sources}}
	}
	stopped := fact.Signalled{Signal: 15, Main: true, Origin: fact.FromNode, SenderCommand: "runc"}
	for _, c := range []struct {
		name  string
		node  []fact.Fact
		ran   time.Duration
		sees  []fact.Body
		exit  fact.Exited
		cause answer.Cause
		says  string
	}{
		{
			name: "no source that would show it", node: []fact.Fact{started()}, ran: time.Hour, cause: answer.CauseUnknown,
			says: "ended with exit code 0 after 60 min. It may be that the main process ended by itself with its work done. Whether somebody asked it to is not known here: signals are not traced on this node.",
		},
		{name: "before a probe could have failed as often as it takes", node: []fact.Fact{started()}, ran: time.Second, cause: answer.AppExitSuccess},
		{
			name: "the counters know of no failure", node: []fact.Fact{started()}, ran: time.Hour, exit: fact.Exited{ExitCode: 1},
			sees: []fact.Body{fact.Counted{Probe: fact.Liveness, Successes: 1800}}, cause: answer.AppExitError,
		},
		{name: "signals were traced", node: []fact.Fact{started("connector", "signals")}, ran: time.Hour, cause: answer.AppExitSuccess},
		{
			name: "signals were lost", node: []fact.Fact{started("signals"), {ID: 2, Body: fact.Lost{Source: "signals", Until: dawn.Add(time.Hour)}}}, ran: time.Hour, cause: answer.CauseUnknown,
			says: "signals were not traced all the time",
		},
		{
			name: "signals were lost later", node: []fact.Fact{started("signals"), {ID: 2, Body: fact.Lost{Source: "signals", Until: dawn.Add(3 * time.Hour)}}},
			ran: time.Hour, cause: answer.AppExitSuccess,
		},
		{
			name: "the agent began meanwhile", node: []fact.Fact{started("signals"), {ID: 2, Seen: dawn.Add(time.Hour - time.Second), Body: fact.AgentStarted{Beside: "kubelet", Sources: []fact.Source{"signals"}}}},
			ran: time.Hour, cause: answer.CauseUnknown, says: "signals were not traced all the time",
		},
		{
			name: "somebody had the runtime stop it", node: []fact.Fact{started("signals")}, ran: time.Hour, sees: []fact.Body{stopped}, exit: fact.Exited{ExitCode: 143}, cause: answer.CauseUnknown,
			says: "through the container runtime after 60 min, with SIGTERM; it ended with exit code 143. Whose order that was is not known: the word of kubelet was not heard.",
		},
		{
			name: "it is gone, and nobody saw it end", node: []fact.Fact{started("signals")}, ran: time.Hour, exit: fact.Exited{ExitCode: 137, Vanished: true}, cause: answer.CauseUnknown,
			says: "how it ended is not known. Whether somebody asked it to is not known here: nobody saw it end.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := web()
			pod.Namespace, pod.Name, pod.UID = "shop", "web-1", "u1"
			probe := pod.Spec.Containers[0].LivenessProbe
			probe.FailureThreshold, probe.PeriodSeconds, probe.TimeoutSeconds = 3, 2, 1
			key := fact.Pod{Namespace: "shop", Name: "web-1", UID: "u1"}
			var facts []fact.Fact
			see := func(at time.Time, attempt int32, b fact.Body) {
				f := fact.Fact{ID: fact.ID(len(facts) + 1), At: at, Seen: at, Pod: key, Body: b}
				if b.Kind() != (fact.SpecSeen{}).Kind() && b.Kind() != (fact.StatusSeen{}).Kind() {
					f.Container, f.Attempt = "app", attempt
				}
				facts = append(facts, f)
			}
			end := dawn.Add(c.ran)
			see(dawn.Add(-time.Second), 0, fact.SpecSeen{Object: pod})
			see(dawn, 0, fact.Started{PID: 100})
			c.exit.OOMKnown = true
			for _, b := range c.sees {
				see(end, 0, b)
			}
			see(end, 0, c.exit)
			see(end.Add(time.Second), 1, fact.Started{PID: 200})
			see(end.Add(time.Second), 0, fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}})
			a := Explain(history.New(key, facts, c.node, nil), Options{Now: end.Add(time.Minute)})
			check(t, a)
			if v := a.Verdicts[0]; v.Cause != c.cause || !strings.Contains(v.Text, c.says) {
				t.Errorf("%s: %s", v.Cause, v.Text)
			}
		})
	}
}
