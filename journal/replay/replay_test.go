package replay

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/fold"
	_ "whylet.dev/whylet/test/fixedseed"
)

var key = fact.Pod{Namespace: "shop", Name: "web", UID: "00000000-0000-4000-8000-000000000001"}

// node writes into a journal as the node's loop does: an observation and what
// follows from it in one Append. It answers decisions as a runtime would.
type node struct {
	t     *rapid.T
	j     *fold.Journal
	state health.State
	now   time.Time
	runs  int32
	ready bool
	alive bool
}

func (n *node) observe(container string, attempt int32, body fact.Observed) {
	f := fact.Fact{ID: n.j.Next(1), At: n.now, Seen: n.now, Mono: n.now.Sub(time.Unix(0, 0)), Boot: "b007", Pod: key, Container: container, Attempt: attempt, Body: body}
	var decisions []fact.Decision
	n.state, decisions = health.Step(n.state, f)
	if _, tick := body.(fact.TimePassed); tick && len(decisions) == 0 {
		return
	}
	written := []fact.Fact{f}
	for _, d := range decisions {
		written = append(written, d.Fact(n.j.Next(1), f))
	}
	if err := n.j.Append(written...); err != nil {
		n.t.Fatal(err)
	}
	for _, d := range decisions {
		n.act(d)
	}
}

func (n *node) act(d fact.Decision) {
	switch b := d.Body().(type) {
	case fact.SetUp:
		n.observe("", 0, fact.SetUpDone{SandboxID: "s1", IPs: []string{"10.0.0.7"}, Attempt: b.Attempt})
	case fact.Start:
		n.runs = d.Attempt()
		id := fmt.Sprintf("containerd://%d", n.runs)
		n.observe(d.Container(), d.Attempt(), fact.Created{ContainerID: id})
		n.alive = true
		n.observe(d.Container(), d.Attempt(), fact.Started{ContainerID: id})
	case fact.Kill:
		n.exit(137)
	case fact.Marked:
		n.ready = b.Ready
	}
}

func (n *node) exit(code int32) {
	if n.alive {
		n.alive = false
		n.observe("app", n.runs, fact.Exited{ContainerID: fmt.Sprintf("containerd://%d", n.runs), ExitCode: code})
	}
}

func (n *node) probe(kind fact.ProbeKind, verdict fact.Verdict) {
	if n.alive {
		n.observe("app", n.runs, fact.Probed{Probe: kind, Verdict: verdict, Took: time.Millisecond, Message: string(verdict)})
	}
}

func web(t *rapid.T) *v1.Pod {
	probe := func(name string, successes int32) *v1.Probe {
		return &v1.Probe{
			ProbeHandler:   v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80)}},
			TimeoutSeconds: 1, PeriodSeconds: 1, SuccessThreshold: successes, FailureThreshold: rapid.Int32Range(1, 4).Draw(t, name),
		}
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: key.UID},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways,
			Containers: []v1.Container{{
				Name: "app", Image: "web:1",
				LivenessProbe:  probe("liveness failures", 1),
				ReadinessProbe: probe("readiness failures", rapid.Int32Range(1, 20).Draw(t, "readiness successes")),
			}},
		},
	}
}

// live has a pod go through a random life.
func live(t *rapid.T, n *node) {
	n.observe("", 0, fact.SpecSeen{Object: web(t), Source: "api"})
	n.observe("", 0, fact.Admitted{})
	kinds := []fact.ProbeKind{fact.Liveness, fact.Readiness, fact.Readiness}
	for range rapid.IntRange(1, 25).Draw(t, "episodes") {
		switch rapid.IntRange(0, 6).Draw(t, "what") {
		case 0:
			n.exit(1)
		case 1, 2:
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			for range rapid.IntRange(1, 5).Draw(t, "failures") {
				n.now = n.now.Add(time.Second)
				n.probe(kind, fact.Failure)
			}
		case 3:
			n.now = n.now.Add(time.Duration(rapid.IntRange(1, 700).Draw(t, "seconds")) * time.Second)
			n.observe("", 0, fact.TimePassed{})
		default:
			for range rapid.IntRange(1, 120).Draw(t, "successes") {
				n.now = n.now.Add(time.Second)
				n.probe(rapid.SampledFrom(kinds).Draw(t, "kind"), fact.Success)
			}
		}
	}
}

// TestLaw2ThroughTheJournal: what comes back from the journal, folded and all,
// replays to the same decisions, byte for byte.
func TestLaw2ThroughTheJournal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, end := begin(t)
		defer end()
		live(t, n)
		report, err := Facts(n.j.Query(journal.Query{}), health.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range report.Differences {
			t.Fatal(d)
		}
		if report.Pods != 1 || len(report.Partial) > 0 || report.Decisions == 0 {
			t.Fatalf("%+v", report)
		}
	})
}

func begin(t *rapid.T) (*node, func()) {
	dir, err := os.MkdirTemp("", "replay-")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	j, err := fold.Open(dir, journal.Options{Clock: func() time.Time { return now }}, fold.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &node{t: t, j: j, state: health.New(health.Policy{}), now: now}, func() {
		_ = j.Close()
		os.RemoveAll(dir)
	}
}

// TestWhatWasForgedIsFound: a decision that is changed, left out or added shows.
func TestWhatWasForgedIsFound(t *testing.T) {
	var facts []fact.Fact
	rapid.Check(t, func(t *rapid.T) {
		if facts != nil {
			return
		}
		n, end := begin(t)
		defer end()
		n.observe("", 0, fact.SpecSeen{Object: web(t), Source: "api"})
		n.observe("", 0, fact.Admitted{})
		n.exit(1)
		for f := range n.j.Query(journal.Query{}) {
			facts = append(facts, f)
		}
	})
	at := 0
	for i, f := range facts {
		if _, ok := f.Body.(fact.Start); ok {
			at = i
			break
		}
	}
	forge := func(change func([]fact.Fact) []fact.Fact) Report {
		report, err := Facts(func(yield func(fact.Fact, error) bool) {
			for _, f := range change(append([]fact.Fact(nil), facts...)) {
				if !yield(f, nil) {
					return
				}
			}
		}, health.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	if r := forge(func(fs []fact.Fact) []fact.Fact { return fs }); len(r.Differences) != 0 {
		t.Fatalf("as it was: %v", r.Differences)
	}
	for name, change := range map[string]func([]fact.Fact) []fact.Fact{
		"something else follows now": func(fs []fact.Fact) []fact.Fact { fs[at].Because = []fact.ID{1}; return fs },
		"did not then":               func(fs []fact.Fact) []fact.Fact { return append(fs[:at], fs[at+1:]...) },
		"does not now":               func(fs []fact.Fact) []fact.Fact { return append(fs, fs[at]) },
	} {
		r := forge(change)
		if len(r.Differences) != 1 || r.Differences[0].Pod != key {
			t.Errorf("%s: %+v", name, r)
			continue
		}
		if s := r.Differences[0].String(); !strings.Contains(s, name) && name != "did not then" {
			t.Errorf("%s: %s", name, s)
		}
	}
	resumed := forge(func(fs []fact.Fact) []fact.Fact { return cutBefore(t, fs, at) })
	if len(resumed.Resumed) != 1 || resumed.Resumed[0].Skipped != 2 || len(resumed.Partial) != 0 || len(resumed.Differences) != 0 || resumed.Observed == 0 {
		t.Errorf("from a checkpoint on: %+v", resumed)
	}
	if r := forge(func(fs []fact.Fact) []fact.Fact { return fs[1:] }); len(r.Partial) != 1 || len(r.Differences) != 0 {
		t.Errorf("without its beginning: %+v", r)
	}
}

// cutBefore leaves two facts of what came before a decision, as retention may, and
// the checkpoint of the state that the fact before it met.
func cutBefore(t *testing.T, facts []fact.Fact, decision int) []fact.Fact {
	t.Helper()
	state := health.New(health.Policy{})
	cause := decision
	for fact.IsDecided(facts[cause].Body) {
		cause--
	}
	for _, f := range facts[:cause] {
		if !fact.IsDecided(f.Body) {
			state, _ = health.Step(state, f)
		}
	}
	body, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	c := facts[cause]
	c.ID, c.Container, c.Attempt, c.Because, c.Body = facts[cause-1].ID, "", 0, nil, fact.Checkpoint{State: body}
	left := []fact.Fact{facts[1], facts[2], c}
	return append(left, facts[cause:]...)
}
