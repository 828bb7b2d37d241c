package why

import (
	"encoding/json"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// check holds an answer to what every answer must be.
func check(t *testing.T, a answer.Answer) {
	t.Helper()
	if len(a.Symptoms) == 0 || len(a.Symptoms) != len(a.Verdicts) {
		t.Fatalf("%d symptoms, %d verdicts", len(a.Symptoms), len(a.Verdicts))
	}
	for i, v := range a.Verdicts {
		if v.Symptom != a.Symptoms[i].ID || v.Text == "" || !slices.Contains(answer.Causes, v.Cause) {
			t.Errorf("verdict %d: %+v", i, v)
		}
		if v.Text != strings.TrimSpace(v.Parts.String()+" "+v.Missing) {
			t.Errorf("%q is not made of its parts: %+v", v.Text, v.Parts)
		}
		if (v.Cause == answer.CauseUnknown) != (v.Certainty == answer.Unknown) && v.Cause != answer.None { // that nothing is wrong may be open, too
			t.Errorf("cause %s is %s", v.Cause, v.Certainty)
		}
		if v.Certainty == answer.Inferred && v.Rule == "" {
			t.Errorf("%s is inferred by no rule", v.Cause)
		}
		if v.Rule != "" && !slices.ContainsFunc(rulesTold(t), func(r ruleText) bool {
			return r.name == v.Rule && (r.causes == nil || slices.Contains(r.causes, v.Cause))
		}) &&
			(v.Cause != answer.InitFailed || v.Rule == "") {
			t.Errorf("rule %s is not said to find %s", v.Rule, v.Cause)
		}
		if v.Certainty == answer.Recorded && len(v.Chain) == 0 {
			t.Errorf("%s is recorded by no fact", v.Cause)
		}
		if !slices.IsSortedFunc(v.Chain, func(x, y answer.Link) int { return x.At.Compare(y.At) }) {
			t.Errorf("the chain of %s is not in order", v.Cause)
		}
		for _, n := range append(slices.Clone(v.Contributing), v.RuledOut...) {
			if n.Text == "" || !slices.Contains(answer.Causes, n.Cause) {
				t.Errorf("note of %s: %+v", v.Cause, n)
			}
		}
	}
	if _, err := json.Marshal(a); err != nil {
		t.Error(err)
	}
	if a.Text(answer.Style{}) == "" || a.Text(answer.Style{Wide: true}) == "" {
		t.Error("no text")
	}
}

func asJSON(t *testing.T, a answer.Answer) string {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Whatever happens, in whatever order and whatever is missing of it, there is an
// answer that keeps the rules, and the same history gives the same one.
func TestAnyHistory(t *testing.T) {
	code := 1
	bodies := []fact.Body{
		good(fact.Liveness, time.Millisecond), connectionRefused(fact.Liveness), noAnswer(fact.Liveness), status(fact.Liveness, 503, "x"), status(fact.Readiness, 404, ""),
		good(fact.Readiness, time.Second), connectionRefused(fact.Readiness), command(fact.Liveness, 1), command(fact.Startup, 127),
		fact.Probed{Probe: fact.Liveness, Verdict: fact.Unknown},
		fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure},
		fact.Probed{Probe: fact.Readiness, Verdict: fact.Failure, Evidence: &fact.Evidence{Handler: fact.Exec, ExitCode: &code}},
		fact.Exited{},
		fact.Exited{ExitCode: 1},
		fact.Exited{ExitCode: 137, RuntimeReason: "OOMKilled"},
		fact.Exited{ExitCode: 137, OOMKnown: true, MainOOMKilled: true, OOMKills: 1},
		fact.Exited{ExitCode: 139, Signal: 11},
		fact.Exited{Vanished: true, ExitCode: 137},
		oomOfMain, oomOfChild, at("/kubepods", oomOfChild),
		fact.OOMKilled{},
		fact.Looked{},
		fact.Looked{Error: "gone"},
		fact.Looked{PID: 100, State: "S", Over: time.Second, Listeners: []fact.Listener{{Address: "junk"}, {Address: "[::]:8080", Backlog: 1}}},
		fact.Sampled{},
		fact.Sampled{Periods: 100, ThrottledPeriods: 100, PIDs: 4, MemoryLimit: 10, MemoryCurrent: 10},
		fact.StartFailed{Reason: "CreateContainerError"},
		fact.ImageFailed{},
		fact.HookRan{Hook: fact.PostStart, Error: "no"},
		fact.SandboxLost{},
		fact.SetUpFailed{Stage: "volumes"},
		fact.EvictionNeeded{Signal: "memory.available"},
		fact.DeletionSeen{},
		fact.DeletionSeen{Gone: true},
		fact.ConditionsSeen{},
		fact.Foreign{Name: "Newer"},
		fact.Checkpoint{},
		fact.Refused{Reason: "OutOfcpu"},
		fact.Lost{Source: "kmsg"},
	}
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		s := tell(t, with("side")(web(func(c *v1.Container) { c.ReadinessProbe = httpProbe(8080) })))
		s.junk = true
		for range r.Intn(40) {
			b := bodies[r.Intn(len(bodies))]
			container := []string{"app", "side", "nosuch"}[r.Intn(3)]
			switch b.(type) {
			case fact.SetUpFailed, fact.EvictionNeeded, fact.DeletionSeen, fact.ConditionsSeen, fact.Checkpoint, fact.Refused, fact.SandboxLost, fact.Lost:
				s.see("", 0, b)
			default:
				s.in(container, b)
			}
			s.wait(time.Duration(r.Intn(15)) * time.Second)
		}
		a := s.ask()
		check(t, a)
		s.rests(a)
		if again := s.ask(); asJSON(t, a) != asJSON(t, again) {
			t.Fatalf("seed %d: two answers", seed)
		}
		// With the beginning lost, or any part of it.
		from := r.Intn(len(s.facts))
		to := from + r.Intn(len(s.facts)-from)
		check(t, Explain(history.New(s.key, s.facts[from:to], s.node, s.facts), Options{Now: s.now}))
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, a.Text(answer.Style{Wide: true}))
		}
	}
}
