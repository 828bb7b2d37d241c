package shadow

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	_ "whylet.dev/whylet/test/fixedseed"
)

var (
	start = time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	key   = fact.Pod{Namespace: "shop", Name: "web", UID: "u"}
)

// tale plays facts in order: each at so many seconds, seen then.
type tale struct {
	state State
	acts  []Decision
	id    fact.ID
}

func (t *tale) at(seconds float64, container string, attempt int32, body fact.Body) *tale {
	t.id++
	when := start.Add(time.Duration(seconds * float64(time.Second)))
	f := fact.Fact{ID: t.id, At: when, Seen: when, Pod: key, Container: container, Attempt: attempt, Body: body}
	var acts []Decision
	t.state, acts = Step(t.state, f)
	t.acts = append(t.acts, acts...)
	return t
}

// kills are the acts that end a container.
func (t *tale) kills() []Decision {
	return slices.DeleteFunc(slices.Clone(t.acts), func(d Decision) bool { _, ok := d.Act.Body.(fact.Kill); return !ok })
}

func pod() *v1.Pod {
	grace := int64(5)
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u"}, Spec: v1.PodSpec{
		TerminationGracePeriodSeconds: &grace,
		Containers:                    []v1.Container{{Name: "app", LivenessProbe: &v1.Probe{PeriodSeconds: 10, TimeoutSeconds: 1, FailureThreshold: 3}}},
	}}
}

func begun() *tale {
	return (&tale{}).at(0, "", 0, fact.SpecSeen{Object: pod()}).at(1, "app", 0, fact.Started{ContainerID: "c://1", PID: 7})
}

func failing(t *tale, times ...float64) *tale {
	for _, s := range times {
		t.at(s, "app", 0, fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, By: fact.BySay})
	}
	return t
}

func only(t *testing.T, tale *tale) (Decision, fact.Kill) {
	t.Helper()
	kills := tale.kills()
	if len(kills) != 1 {
		t.Fatalf("%d kills: %+v", len(kills), kills)
	}
	b, _ := kills[0].Act.Body.(fact.Kill)
	return kills[0], b
}

const because = "Container app failed liveness probe, will be restarted"

func TestKubeletsOwnWordIsTold(t *testing.T) {
	story := failing(begun(), 10, 20, 30).at(30.1, "app", 0, fact.Said{Component: By, Source: "log", Reason: LogMessage, Message: because})
	d, b := only(t, story.at(30.5, "app", 0, fact.Exited{ContainerID: "c://1", ExitCode: 143}))
	if d.Act.Basis != fact.Told || b.Reason != fact.KillLiveness || b.GraceSeconds != 5 || !slices.Equal(d.Because, []fact.ID{3, 4, 5, 6}) {
		t.Errorf("%+v", d)
	}
}

// The event comes a second later than the end that it tells of, as its time says.
func TestALateWordComesBeforeItsEffect(t *testing.T) {
	story := failing(begun(), 10, 20, 30).at(30.5, "app", 0, fact.Exited{ContainerID: "c://1"})
	story.at(31, "app", 0, fact.Said{Component: By, Source: "event", Reason: SaidKilling, Message: because})
	kills := story.kills()
	if len(kills) != 2 || kills[0].Act.Basis != fact.Deduced || kills[1].Act.Basis != fact.Told || kills[1].At.After(start.Add(30500*time.Millisecond)) {
		t.Errorf("%+v", kills)
	}
}

func TestAWordOfARunThatAnotherFollowed(t *testing.T) {
	story := begun().at(5, "app", 0, fact.Exited{ContainerID: "c://1"}).at(6, "app", 1, fact.Started{ContainerID: "c://2"})
	d, _ := only(t, story.at(7, "app", 0, fact.Said{Component: By, Source: "event", Reason: SaidKilling, Message: because}))
	if d.Act.Basis != fact.Told || d.Attempt != 0 {
		t.Errorf("%+v", d)
	}
}

// Counters are read once a second at most, and a container may run again by then.
func TestCountsOfARunThatAnotherFollowed(t *testing.T) {
	story := begun().at(30, "app", 0, fact.Signalled{Signal: 15, Main: true, Origin: fact.FromNode}).at(30.2, "app", 0, fact.Exited{ContainerID: "c://1", ExitCode: 143}).at(30.6, "app", 1, fact.Started{ContainerID: "c://2"})
	d, b := only(t, story.at(31, "app", 0, fact.Counted{Probe: fact.Liveness, Failures: 3, NewFailures: 3, From: start}))
	if d.Act.Basis != fact.Matched || d.Attempt != 0 || b.Reason != fact.KillLiveness {
		t.Errorf("%+v", d)
	}
	if r := story.state.Runs["app"]; r.Attempt != 1 || r.Kill != "" {
		t.Errorf("%+v", r)
	}
}

func TestASeenOrderThatWasDueIsMatched(t *testing.T) {
	story := failing(begun(), 10, 20, 30).at(30.1, "app", 0, fact.Signalled{Signal: 15, Main: true, Origin: fact.FromNode})
	if d, b := only(t, story.at(30.5, "app", 0, fact.Exited{ContainerID: "c://1"})); d.Act.Basis != fact.Matched || b.Reason != fact.KillLiveness {
		t.Errorf("%+v", d)
	}
}

// kubelet tells of failed attempts and not of good ones: a row that takes longer than its
// attempts is none.
func TestFailuresThatComeAndGo(t *testing.T) {
	exit := fact.Exited{ContainerID: "c://1", ExitCode: 1}
	counted := func(from, until float64, n int64) *tale {
		at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
		return begun().at(from, "app", 0, fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, By: fact.BySay, Count: n, Until: at(until)}).at(until+1, "app", 0, exit)
	}
	for name, story := range map[string]*tale{
		"one by one":  failing(begun(), 10, 40, 70, 100).at(101, "app", 0, exit),
		"in one fact": counted(10, 100, 4),
	} {
		if kills := story.kills(); len(kills) > 0 {
			t.Errorf("%s: %+v", name, kills)
		}
	}
	if kills := counted(10, 30, 3).kills(); len(kills) != 1 {
		t.Errorf("three in a row: %+v", kills)
	}
	if kills := failing(begun(), 10, 70, 80, 90).at(91, "app", 0, exit).kills(); len(kills) != 1 {
		t.Errorf("one, and then three in a row: %+v", kills)
	}
}

func TestWhatWasNotDueIsNoAct(t *testing.T) {
	for name, story := range map[string]*tale{
		"nothing seen":       begun(),
		"too few":            failing(begun(), 10, 20),
		"long ago":           failing(begun(), -200, -190, -180),
		"a success between":  failing(failing(begun(), 10, 20).at(25, "app", 0, fact.Probed{Probe: fact.Liveness, Verdict: fact.Success, By: fact.ByTap}), 29),
		"somebody's signal":  begun().at(30, "app", 0, fact.Signalled{Signal: 15, Main: true, Origin: fact.FromNode}),
		"readiness only":     begun().at(30, "app", 0, fact.Probed{Probe: fact.Readiness, Verdict: fact.Failure, Count: 9}),
		"another's own word": begun().at(30, "app", 0, fact.Said{Component: "somebody", Reason: SaidKilling, Message: because}),
	} {
		if kills := story.at(30.5, "app", 0, fact.Exited{ContainerID: "c://1", ExitCode: 137}).kills(); len(kills) > 0 {
			t.Errorf("%s: %+v", name, kills)
		}
	}
}

func TestTheEndOfAPodEndsItsContainers(t *testing.T) {
	d, b := only(t, begun().at(10, "", 0, fact.DeletionSeen{GraceSeconds: 5}).at(11, "app", 0, fact.Exited{ContainerID: "c://1"}))
	if d.Act.Basis != fact.Told || b.Reason != fact.KillDeletion || b.GraceSeconds != 5 {
		t.Errorf("%+v", d)
	}
	// What had ended before was not ended by it.
	if kills := begun().at(4, "app", 0, fact.Exited{ContainerID: "c://1"}).at(20, "", 0, fact.DeletionSeen{}).kills(); len(kills) > 0 {
		t.Errorf("%+v", kills)
	}
}

// kubelet logs its order of eviction before it evicts the first; the log may be read later
// than the status.
func TestTheOrderOfAnEviction(t *testing.T) {
	order := fact.EvictionNeeded{Signal: "memory.available", Ranking: []fact.Ranked{{Pod: key, Usage: 5}, {Pod: fact.Pod{Name: "next"}}}}
	evicted := fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory. "}}
	other := order
	other.Signal = "pid.available"
	for _, c := range []struct {
		name  string
		story *tale
		long  int
	}{
		{"before", begun().at(10, "", 0, order).at(11, "", 0, evicted), 2},
		{"after", begun().at(10, "", 0, evicted).at(11, "", 0, order), 2},
		{"of long ago", begun().at(10, "", 0, order).at(300, "", 0, evicted), 0},
		{"for something else", begun().at(10, "", 0, other).at(11, "", 0, evicted), 0},
	} {
		var last fact.Evict
		for _, d := range c.story.acts {
			if b, ok := d.Act.Body.(fact.Evict); ok {
				last = b
			}
		}
		if len(last.Ranking) != c.long || last.Reason != "Evicted" {
			t.Errorf("%s: %+v", c.name, last)
		}
	}
}

func TestAnEvictionIsTold(t *testing.T) {
	story := begun().at(10, "", 0, fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "}})
	found := false
	for _, d := range story.acts {
		if b, ok := d.Act.Body.(fact.Evict); ok {
			found = b.Signal == "memory.available" && d.Act.Basis == fact.Told
		}
	}
	if _, b := only(t, story); !found || b.Reason != fact.KillEviction {
		t.Errorf("%+v", story.acts)
	}
}

// A pod that takes its stop signal well is Succeeded, and kubelet leaves its word in a condition only.
func TestAnEvictionOfOneThatStopsWell(t *testing.T) {
	target := v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonTerminationByKubelet, Message: "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "}
	order := fact.EvictionNeeded{Signal: "memory.available", Ranking: []fact.Ranked{{Pod: key, Usage: 5}}}
	story := begun().at(9, "", 0, order).at(10, "app", 0, fact.Exited{ContainerID: "c://1"}).
		at(11, "", 0, fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodSucceeded, Conditions: []v1.PodCondition{target}}})
	var told []fact.Evict
	for _, d := range story.acts {
		if b, ok := d.Act.Body.(fact.Evict); ok {
			told = append(told, b)
		}
	}
	if len(told) != 1 || told[0].Signal != "memory.available" || told[0].Message != target.Message || len(told[0].Ranking) != 1 {
		t.Errorf("%+v", told)
	}
	if _, b := only(t, story); b.Reason != fact.KillEviction {
		t.Errorf("%+v", story.acts)
	}
}

// kubelet gives a pod that it never took in the same reason.
func TestARefusalIsNoEviction(t *testing.T) {
	story := begun().at(10, "", 0, fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", Message: "Pod was rejected: The node had condition: [DiskPressure]. "}})
	for _, d := range story.acts {
		switch d.Act.Body.(type) {
		case fact.Evict, fact.Kill:
			t.Errorf("%+v", d.Act)
		}
	}
}

func TestReadinessAndBackOffAreTold(t *testing.T) {
	ready := v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{Name: "app", Ready: true, ContainerID: "c://1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}}
	waiting := v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{Name: "app", RestartCount: 1, State: v1.ContainerState{
		Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 1m20s restarting failed container=app pod=web_shop(u)"},
	}}}}
	story := begun().at(2, "", 0, fact.StatusSeen{Status: ready}).at(3, "", 0, fact.StatusSeen{Status: ready}).at(9, "", 0, fact.StatusSeen{Status: waiting})
	var marks []fact.Marked
	var backs []fact.BackOff
	for _, d := range story.acts {
		switch b := d.Act.Body.(type) {
		case fact.Marked:
			marks = append(marks, b)
		case fact.BackOff:
			backs = append(backs, b)
		}
	}
	if len(marks) != 1 || !marks[0].Ready || len(backs) != 1 || backs[0].Delay != 80*time.Second || backs[0].What != "container" {
		t.Errorf("%+v %+v", marks, backs)
	}
}

// drawn is any fact about the pod, at any time: missing, late, doubled, out of order.
func drawn(t *rapid.T, id fact.ID) fact.Fact {
	bodies := []fact.Body{
		fact.SpecSeen{Object: pod()},
		fact.SpecSeen{},
		fact.Started{ContainerID: "c://1"},
		fact.Exited{ContainerID: "c://1", ExitCode: 137},
		fact.Exited{Vanished: true},
		fact.DeletionSeen{GraceSeconds: 5},
		fact.ObjectGone{},
		fact.SandboxLost{},
		fact.OOMKilled{},
		fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure},
		fact.Probed{Probe: fact.Liveness, Verdict: fact.Success},
		fact.Probed{Probe: fact.Startup, Verdict: fact.Failure, Count: 40},
		fact.Counted{Probe: fact.Liveness, Failures: 9, NewFailures: 3},
		fact.Counted{Probe: fact.Liveness, NewFailures: 1, NewSuccesses: 1},
		fact.Signalled{Signal: 15, Main: true, Origin: fact.FromNode},
		fact.Signalled{Signal: 9, Origin: fact.FromHost},
		fact.Said{Component: By, Reason: SaidKilling, Message: because},
		fact.Said{Component: By, Reason: LogKilling, Values: map[string]string{"gracePeriod": "x"}},
		fact.Said{Component: By, Reason: SaidKilling, Message: "Stopping container app"},
		fact.HookRan{Hook: fact.PostStart, Error: "no"},
		fact.StatusSeen{},
		fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted"}},
		fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{Name: "app", RestartCount: 2, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}}},
		fact.Act{By: By, Basis: fact.Told, Body: fact.Kill{}},
		fact.KubeletSeen{},
	}
	f := fact.Fact{ID: id, Pod: key, Body: rapid.SampledFrom(bodies).Draw(t, "body"), Attempt: rapid.Int32Range(0, 3).Draw(t, "attempt")}
	f.Seen = start.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "seen")) * time.Second)
	if rapid.Bool().Draw(t, "at is known") {
		f.At = start.Add(time.Duration(rapid.IntRange(-50, 200).Draw(t, "at")) * time.Second)
	}
	f.Container = rapid.SampledFrom([]string{"", "app", "app", "other"}).Draw(t, "container")
	return f
}

// Whatever comes in whatever order: the same facts give the same acts byte for byte, also
// from a state that was kept as JSON; each act names what it rests on, and none that came
// later; and no act about a run follows a surer one about its end.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b State
		seen := map[fact.ID]bool{}
		surest := map[[2]any]fact.Basis{}
		for i := range rapid.IntRange(1, 40).Draw(t, "facts") {
			f := drawn(t, fact.ID(i+1))
			seen[f.ID] = true
			before, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			was := a
			var acts, again []Decision
			a, acts = Step(a, f)
			if after, err := json.Marshal(was); err != nil || string(after) != string(before) {
				t.Fatalf("the old state was changed: %v\n%s\n%s", err, before, after)
			}
			var kept State
			if err := json.Unmarshal(before, &kept); err != nil {
				t.Fatal(err)
			}
			b, again = Step(kept, f)
			if !reflect.DeepEqual(acts, again) {
				t.Fatalf("other acts from the state that was kept:\n%+v\n%+v", acts, again)
			}
			one, err := json.Marshal(a)
			two, err2 := json.Marshal(b)
			if err != nil || err2 != nil || string(one) != string(two) {
				t.Fatalf("%v %v other state:\n%s\n%s", err, err2, one, two)
			}
			for _, d := range acts {
				check(t, d, f, seen, surest)
			}
		}
	})
}

func check(t *rapid.T, d Decision, cause fact.Fact, seen map[fact.ID]bool, surest map[[2]any]fact.Basis) {
	if len(d.Because) == 0 || !slices.IsSorted(d.Because) || slices.ContainsFunc(d.Because, func(id fact.ID) bool { return !seen[id] }) {
		t.Fatalf("%+v rests on what nobody saw", d)
	}
	if _, err := json.Marshal(d.Fact(1000, cause)); err != nil {
		t.Fatal(err)
	}
	if _, kill := d.Act.Body.(fact.Kill); kill {
		run := [2]any{d.Container, d.Attempt}
		if was := surest[run]; was != "" && was != fact.Told && !better(d.Act.Basis, was) {
			t.Fatalf("%+v after one that was %s", d, was)
		}
		surest[run] = d.Act.Basis
	}
}

// What kubelet ends when the pod's sandbox was lost it ends for that, in whatever order it is
// told of both; but not long before or after.
func TestTheSandboxWasLost(t *testing.T) {
	const words = "Stopping container app"
	killing := fact.Said{Component: By, Source: "event", Reason: SaidKilling, Message: words}
	lost := fact.SandboxLost{Message: "kubelet says: Pod sandbox changed, it will be killed and re-created."}
	end := fact.Exited{ContainerID: "c://1", ExitCode: 137}
	for name, story := range map[string]*tale{
		"the loss first":      begun().at(30, "", 0, lost).at(30, "app", 0, killing).at(31, "app", 0, end),
		"the order first":     begun().at(30, "app", 0, killing).at(30, "", 0, lost).at(31, "app", 0, end),
		"when the next began": begun().at(31, "app", 0, end).at(32, "app", 1, fact.Started{ContainerID: "c://2", PID: 8}).at(30, "app", 0, killing).at(30, "", 0, lost),
		"and the loss first":  begun().at(31, "app", 0, end).at(32, "app", 1, fact.Started{ContainerID: "c://2", PID: 8}).at(30, "", 0, lost).at(30, "app", 0, killing),
	} {
		d, b := only(t, story)
		if d.Act.Basis != fact.Told || b.Reason != fact.KillSandbox || d.Attempt != 0 || len(d.Because) != 2 {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if kills := begun().at(30, "", 0, lost).at(60, "app", 0, killing).at(61, "app", 0, end).kills(); len(kills) != 0 {
		t.Errorf("%+v", kills)
	}
}
