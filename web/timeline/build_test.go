package timeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	_ "whylet.dev/whylet/test/fixedseed"
	"whylet.dev/whylet/why/answer"
)

var (
	pod    = fact.Pod{Namespace: "shop", Name: "web-1", UID: "u"}
	outset = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
)

// at is a fact of the pod's container some seconds after its beginning.
func at(id fact.ID, seconds float64, body fact.Body, because ...fact.ID) fact.Fact {
	t := outset.Add(time.Duration(seconds * float64(time.Second)))
	return fact.Fact{ID: id, At: t, Seen: t, Mono: t.Sub(outset), Boot: "b", Pod: pod, Container: "app", Because: because, Body: body}
}

func lane(t *testing.T, d Document, id string) Lane {
	t.Helper()
	for _, l := range d.Pods[0].Lanes {
		if l.ID == id {
			return l
		}
	}
	t.Fatalf("there is no lane %s", id)
	return Lane{}
}

func build(facts ...fact.Fact) Document {
	a := answer.Answer{AsOf: outset.Add(time.Hour)}
	return Build(Input{Answer: a, Pods: []PodInput{{Pod: pod, Node: "vm", Facts: facts}}})
}

// A run ends where it ended, what goes on goes on until it was asked, and a back-off
// that is told twice is one.
func TestRuns(t *testing.T) {
	until := outset.Add(30 * time.Second)
	second := at(6, 31, fact.Started{ContainerID: "2"})
	second.Attempt = 1
	d := build(
		at(1, 0, fact.Started{ContainerID: "1"}),
		at(2, 10, fact.Exited{ContainerID: "1", ExitCode: 3}),
		at(3, 10, fact.BackOff{What: "container", Until: until}, 2),
		at(4, 20, fact.BackOff{What: "container", Until: until}, 2),
		at(5, 31, fact.Start{}, 2),
		second,
	)
	runs := lane(t, d, "app/runs")
	var got []Shape
	for _, m := range runs.Marks {
		got = append(got, m.Shape)
	}
	want := []Shape{Bar, Hatched, Cross, Bar, Diamond}
	if len(got) != len(want) {
		t.Fatalf("%v, wanted %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, wanted %v", got, want)
		}
	}
	first, wait, last := runs.Marks[0], runs.Marks[1], runs.Marks[3]
	if first.Open || first.Until-first.At != 10_000 || wait.Until != until.UnixMilli() || len(wait.Facts) != 2 || !last.Open || last.Until != d.AsOf {
		t.Errorf("%+v\n%+v\n%+v", first, wait, last)
	}
}

// A timeout is the spec's, from the spec on; memory is drawn against the limit that
// was set then.
func TestLimits(t *testing.T) {
	spec := func(seconds int32) fact.SpecSeen {
		return fact.SpecSeen{Source: "api", Object: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "app", LivenessProbe: &v1.Probe{TimeoutSeconds: seconds},
		}}}}}
	}
	first, second := at(1, 0, spec(0)), at(3, 20, spec(5))
	first.Container, second.Container = "", ""
	d := build(first, at(2, 10, fact.Probed{Probe: fact.Liveness, Verdict: fact.Success, Took: 20 * time.Millisecond}), second)
	limits := lane(t, d, "app/liveness").Limits
	if len(limits) != 2 || limits[0].Value != 1000 || limits[0].Until != limits[1].From || limits[1].Value != 5000 {
		t.Errorf("%+v", limits)
	}
}

// What kubelet decided is drawn as what it is, and said to be kubelet's.
func TestActs(t *testing.T) {
	d := build(at(1, 0, fact.Started{ContainerID: "1"}), at(2, 5, fact.Act{By: "kubelet", Basis: fact.Told, Body: fact.Kill{Reason: fact.KillLiveness}}, 1))
	marks := lane(t, d, "app/runs").Marks
	if m := marks[len(marks)-1]; m.Shape != Diamond || m.Tone != Bad {
		t.Errorf("%+v", m)
	}
	if r := d.Pods[0].Facts[2]; !strings.Contains(r.Text, "kubelet decided it: told") || !strings.Contains(string(r.Fact), `"kind":"Act"`) {
		t.Errorf("%s %s", r.Text, r.Fact)
	}
}

// An eviction says in which order the pods of the node would have gone.
func TestEvicted(t *testing.T) {
	f := at(2, 5, fact.Evict{Message: "The node was low on resource: memory.", Ranking: []fact.Ranked{{Pod: pod, QoS: "BestEffort", Usage: 7}, {Pod: fact.Pod{Namespace: "shop", Name: "db-0"}}}}, 1)
	f.Container = ""
	marks := lane(t, build(at(1, 0, fact.Started{ContainerID: "1"}), f), "life").Marks
	if m := marks[0]; !strings.Contains(m.Text, "1. shop/web-1 (BestEffort") || !strings.Contains(m.Text, "2. shop/db-0") {
		t.Errorf("%+v", m)
	}
}

// A readiness gate is drawn from when it is asked for, until who should set it does.
func TestGates(t *testing.T) {
	spec := at(1, 0, fact.SpecSeen{Source: "api", Object: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Spec: v1.PodSpec{
		ReadinessGates: []v1.PodReadinessGate{{ConditionType: "example.com/gate"}},
	}}})
	scheduled := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue}
	others := at(2, 1, fact.ConditionsSeen{Conditions: []v1.PodCondition{scheduled}})
	set := at(3, 9, fact.ConditionsSeen{Conditions: []v1.PodCondition{scheduled, {Type: "example.com/gate", Status: v1.ConditionTrue}}})
	spec.Container, others.Container, set.Container = "", "", ""
	d := build(spec, others, set)
	marks := lane(t, d, "gate/example.com/gate").Marks
	if len(marks) != 2 || marks[0].Label != "not set" || marks[0].Until != marks[1].At || marks[1].Label != "True" || marks[1].Tone != Good {
		t.Errorf("%+v", marks)
	}
	if text := d.Pods[0].Facts[3].Text; !strings.HasSuffix(text, ": example.com/gate=True") {
		t.Error(text)
	}
}

// A page of many pods is as large as one of a few: each brings less, and what the answer
// tells of and nobody brought is named.
func TestManyPods(t *testing.T) {
	a := answer.Answer{Subject: answer.Subject{Kind: "Deployment", Namespace: "shop", Name: "web"}, AsOf: outset.Add(time.Hour)}
	in := Input{}
	for n := range 24 {
		of := fact.Pod{Namespace: "shop", Name: fmt.Sprintf("web-%d", n), UID: types.UID(fmt.Sprint(n))}
		var facts []fact.Fact
		for id := range fact.ID(3 * mostMarks) {
			f := at(id+1, float64(id), fact.Probed{Probe: fact.Liveness, Verdict: fact.Success, Took: time.Millisecond})
			f.Pod = of
			facts = append(facts, f)
		}
		a.Put(answer.Symptom{Kind: answer.Restarted, Pod: of.Name}, answer.Verdict{})
		in.Pods = append(in.Pods, PodInput{Pod: of, Facts: facts})
	}
	a.Put(answer.Symptom{Kind: answer.NotReady, Pod: "web-24", Text: "pod web-24: it is not ready"}, answer.Verdict{})
	in.Answer = a
	d := Build(in)
	facts, marks := 0, 0
	for _, p := range d.Pods {
		facts += len(p.Facts)
		marks = max(marks, len(p.Lanes[0].Marks))
	}
	if facts > mostFacts || facts < mostFacts/2 || marks > mostMarks/3 {
		t.Errorf("%d facts, and up to %d marks a lane", facts, marks)
	}
	if want := []Other{{"shop", "web-24", answer.NotReady, "it is not ready"}}; !slices.Equal(d.Others, want) {
		t.Errorf("%+v, wanted %+v", d.Others, want)
	}
}

// A step of the clock says which way it went, on the lane of the machine.
func TestClockStepped(t *testing.T) {
	back, forward := at(1, 1, fact.ClockStepped{By: -3 * time.Second}), at(2, 9, fact.ClockStepped{By: time.Hour})
	back.Pod, back.Container, forward.Pod, forward.Container = fact.Pod{}, "", fact.Pod{}, ""
	d := build(back, forward)
	marks := lane(t, d, "node/machine").Marks
	if len(marks) != 2 || marks[0].Shape != Flag || !strings.HasSuffix(d.Pods[0].Facts[1].Text, "set back by 3s") || !strings.HasSuffix(d.Pods[0].Facts[2].Text, "set forward by 1h0m0s") {
		t.Errorf("%+v %+v", marks, d.Pods[0].Facts)
	}
}

// Nobody looked between an agent's last sign of life and the next agent's start.
func TestNobodyLooked(t *testing.T) {
	f := at(1, 100, fact.AgentStarted{Previous: fact.RunKilled, LastSeen: outset.Add(40 * time.Second)})
	f.Pod, f.Container = fact.Pod{}, ""
	m := lane(t, build(f), "node/agent").Marks[0]
	if m.Shape != Absent || m.Until-m.At != 60_000 {
		t.Errorf("%+v", m)
	}
}

// However many facts: a lane stays small, nothing is lost from the count, and what the
// answer names keeps a mark of its own.
func TestThin(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(mostMarks, 20*mostMarks).Draw(r, "marks")
		step := rapid.Int64Range(1, 10_000).Draw(r, "ms")
		kept := rapid.IntRange(0, n-1).Draw(r, "kept")
		keep := map[fact.ID]bool{fact.ID(kept + 1): true}
		var marks []Mark
		for i := range n {
			marks = append(marks, Mark{At: int64(i) * step, Shape: []Shape{Tick, Cross}[i%7/6], Tone: Good, Facts: []fact.ID{fact.ID(i + 1)}})
		}
		some := thin(marks, keep, mostMarks)
		total, alone := int64(0), false
		for _, m := range some {
			total += max(m.Count, 1)
			alone = alone || len(m.Facts) == 1 && m.Facts[0] == fact.ID(kept+1)
		}
		if len(some) > mostMarks || total != int64(n) || !alone {
			r.Fatalf("%d marks of %d, %d counted, the answer's own is alone: %v", len(some), n, total, alone)
		}
	})
}

// No peak is lost of a curve that has more points than a screen.
func TestThinPoints(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), mostPoints, 5*mostPoints).Draw(r, "values")
		var points []Point
		most := 0.0
		for i, v := range values {
			points = append(points, Point{At: int64(i) * 1000, Value: v})
			most = max(most, v)
		}
		some := thinPoints(points, nil, mostPoints)
		found := 0.0
		for _, p := range some {
			found = max(found, p.Value)
		}
		if len(some) > mostPoints+1 || found != most {
			r.Fatalf("%d points, at most %v and not %v", len(some), found, most)
		}
	})
}
