package history

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
)

var dawn = time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)

// at is a fact that was seen some seconds after dawn, with the same number.
func at(second int, container string, attempt int32, b fact.Body) fact.Fact {
	t := dawn.Add(time.Duration(second) * time.Second)
	return fact.Fact{ID: fact.ID(second), At: t, Seen: t, Container: container, Attempt: attempt, Body: b}
}

func seen(pod *v1.Pod) fact.SpecSeen { return fact.SpecSeen{Object: pod, Source: fact.FromAPI} }

func TestRunsAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var facts []fact.Fact
		for i := range rapid.IntRange(0, 20).Draw(t, "facts") {
			facts = append(facts, at(i+1, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "container"), rapid.Int32Range(0, 5).Draw(t, "attempt"), fact.Started{}))
		}
		ordered := New(fact.Pod{}, facts, nil, nil)
		shuffled := New(fact.Pod{}, rapid.Permutation(facts).Draw(t, "order"), nil, nil)
		for _, name := range []string{"a", "b"} {
			var attempts []int32
			for _, r := range shuffled.Runs(name) {
				attempts = append(attempts, r.Attempt)
			}
			if !slices.IsSorted(attempts) || len(slices.Compact(attempts)) != len(attempts) {
				t.Fatalf("runs of %s: %v", name, attempts)
			}
			if a, b := ordered.Last(name), shuffled.Last(name); (a == nil) != (b == nil) || a != nil && (a.Attempt != b.Attempt || a.Started.ID != b.Started.ID) {
				t.Fatalf("the last run of %s depends on the order in which facts come: %v, %v", name, a, b)
			}
		}
	})
}

// The same decision of a kubelet is seen in several ways; the surest is kept, whenever it
// comes.
func TestSurestKillIsKept(t *testing.T) {
	kill := func(second int, basis fact.Basis, why fact.KillReason) fact.Fact {
		return at(second, "web", 0, fact.Act{By: "kubelet", Basis: basis, Body: fact.Kill{Reason: why}})
	}
	for name, facts := range map[string][]fact.Fact{
		"told first": {kill(1, fact.Told, fact.KillLiveness), kill(2, fact.Deduced, fact.KillDeletion)},
		"told last":  {kill(1, fact.Deduced, fact.KillDeletion), kill(2, fact.Told, fact.KillLiveness)},
	} {
		h := New(fact.Pod{}, facts, nil, nil)
		if k := fact.Of[fact.Kill](h.Last("web").Kill); k.Reason != fact.KillLiveness || h.Basis(h.Last("web").Kill.ID) != fact.Told {
			t.Errorf("%s: %v, %v", name, k.Reason, h.Basis(h.Last("web").Kill.ID))
		}
		if h.Beside != "kubelet" {
			t.Errorf("%s: decided by %q", name, h.Beside)
		}
	}
}

func TestRan(t *testing.T) {
	started := func(second int, last int, sources ...fact.Source) fact.Fact {
		b := fact.AgentStarted{Sources: sources}
		if last > 0 {
			b.LastSeen = dawn.Add(time.Duration(last) * time.Second)
		}
		return at(second, "", 0, b)
	}
	for _, c := range []struct {
		name string
		node []fact.Fact
		want bool
	}{
		{"no agent is known", nil, false},
		{"all the time", []fact.Fact{started(1, 0, fact.SourceSignals)}, true},
		{"without the source", []fact.Fact{started(1, 0, fact.SourceConnector)}, false},
		{"begun meanwhile", []fact.Fact{started(1, 0, fact.SourceSignals), started(15, 14, fact.SourceSignals)}, false},
		{"ended meanwhile", []fact.Fact{started(1, 0, fact.SourceSignals), started(30, 15, fact.SourceSignals)}, false},
		{"another one later", []fact.Fact{started(1, 0, fact.SourceSignals), started(30, 25)}, true},
	} {
		h := New(fact.Pod{}, nil, c.node, nil)
		if got := h.Ran(fact.SourceSignals, dawn.Add(10*time.Second), dawn.Add(20*time.Second)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// The longest of the pod's and its probes' grace periods bounds how long an ordered end
// can take.
func TestGrace(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "web", LivenessProbe: &v1.Probe{TerminationGracePeriodSeconds: ptr.To[int64](90)}, ReadinessProbe: &v1.Probe{},
	}}}}
	if got := New(fact.Pod{}, nil, nil, nil).Grace(); got != 30*time.Second {
		t.Errorf("without a spec: %s", got)
	}
	if got := New(fact.Pod{}, []fact.Fact{at(1, "", 0, seen(pod))}, nil, nil).Grace(); got != 90*time.Second {
		t.Errorf("a probe's own: %s", got)
	}
}

func TestUntilDeletion(t *testing.T) {
	facts := []fact.Fact{
		at(1, "", 0, seen(&v1.Pod{})), at(2, "web", 0, fact.Started{}),
		at(3, "", 0, fact.DeletionSeen{}), at(4, "web", 0, fact.Exited{}),
	}
	h := New(fact.Pod{}, facts, nil, nil)
	before, when, ok := h.UntilDeletion()
	if !ok || !when.Equal(facts[2].Seen) || before.Last("web").Exit != nil || before.LastSeen() != facts[1].Seen {
		t.Errorf("%v %v %v", before.Last("web"), when, ok)
	}
	if _, _, ok := before.UntilDeletion(); ok {
		t.Error("what was before the deletion has one")
	}
	if h.Last("web").Exit == nil {
		t.Error("the whole history lost its end")
	}
}

// Sidecars are init containers that stay: nothing waits for their end.
func TestIsInit(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "migrate"}, {Name: "proxy", RestartPolicy: ptr.To(v1.ContainerRestartPolicyAlways)}},
		Containers:     []v1.Container{{Name: "web"}},
		EphemeralContainers: []v1.EphemeralContainer{
			{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debug"}},
		},
	}}
	h := New(fact.Pod{}, []fact.Fact{at(1, "", 0, seen(pod)), at(2, "gone", 0, fact.Started{})}, nil, nil)
	for name, want := range map[string][2]bool{"migrate": {true, false}, "proxy": {}, "web": {}, "debug": {false, true}} {
		if got := [2]bool{h.IsInit(name), h.IsEphemeral(name)}; got != want {
			t.Errorf("%s: init, ephemeral: %v", name, got)
		}
		if h.Spec(name) == nil {
			t.Errorf("%s has no spec", name)
		}
	}
	if got := h.Containers(); !slices.Equal(got, []string{"migrate", "proxy", "web", "debug", "gone"}) {
		t.Errorf("containers: %v", got)
	}
}

func TestLimitRanged(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container web; memory limit for container worker",
	}}}
	h := New(fact.Pod{}, []fact.Fact{at(1, "", 0, seen(pod))}, nil, nil)
	if h.LimitRanged("web") || !h.LimitRanged("worker") || h.LimitRanged("other") {
		t.Errorf("web %v, worker %v, other %v", h.LimitRanged("web"), h.LimitRanged("worker"), h.LimitRanged("other"))
	}
}

// A spec that was seen twice was not changed, and one that changed after the second end
// had no part in it.
func TestSpecChanged(t *testing.T) {
	generation := func(n int64) fact.SpecSeen { return seen(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: n}}) }
	for _, c := range []struct {
		name  string
		facts []fact.Fact
		want  bool
	}{
		{"never", []fact.Fact{at(1, "", 0, generation(1))}, false},
		{"seen again", []fact.Fact{at(1, "", 0, generation(1)), at(5, "", 0, generation(1))}, false},
		{"between", []fact.Fact{at(1, "", 0, generation(1)), at(5, "", 0, generation(2))}, true},
		{"before both", []fact.Fact{at(1, "", 0, generation(1)), at(2, "", 0, generation(2))}, false},
		{"after both", []fact.Fact{at(1, "", 0, generation(1)), at(9, "", 0, generation(2))}, false},
	} {
		h := New(fact.Pod{}, append(c.facts, at(3, "web", 0, fact.Exited{}), at(8, "web", 1, fact.Exited{})), nil, nil)
		runs := h.Runs("web")
		if got := h.SpecChanged(runs[0], runs[1]); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// An event that is read when its pod has long been set up tells of no trouble that lasts.
func TestSetUpFailedLongAgo(t *testing.T) {
	at := time.Date(2026, 11, 23, 16, 24, 1, 0, time.UTC)
	failed := func(after time.Duration) fact.Fact {
		return fact.Fact{At: at.Add(after), Seen: at.Add(time.Hour), Body: fact.SetUpFailed{Stage: "volumes"}}
	}
	started := fact.Fact{At: at.Add(time.Minute), Seen: at.Add(time.Minute), Container: "app", Body: fact.Started{}}
	for want, facts := range [][]fact.Fact{{started, failed(0)}, {failed(0), started, failed(0), failed(2 * time.Minute)}} {
		if got := New(fact.Pod{}, facts, nil, nil).SetUpFailures(); len(got) != want {
			t.Errorf("%d failures, not %d", len(got), want)
		}
	}
}

// A run fails as it does now since it was last well, or since it last failed in another way.
func TestFailsSince(t *testing.T) {
	at := time.Date(2026, 11, 25, 5, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		statuses []int // of its readiness, one a second; 200 is good
		want     int   // which of them was the last of before; -1: none
	}{
		"always so":          {[]int{500, 500, 500}, -1},
		"well before":        {[]int{500, 200, 500, 500}, 1},
		"another way before": {[]int{502, 502, 500, 500}, 1},
		"only once so far":   {[]int{502, 502, 500}, -1},
		"now this, now that": {[]int{502, 500, 502, 500}, -1},
		"well now":           {[]int{500, 500, 200}, -1},
	} {
		run := &Run{}
		want := time.Time{}
		for i, status := range test.statuses {
			b := fact.Probed{Probe: fact.Readiness, Verdict: fact.Failure, Evidence: &fact.Evidence{Status: status}}
			if status == 200 {
				b.Verdict = fact.Success
			}
			f := &fact.Fact{ID: fact.ID(i + 1), At: at.Add(time.Duration(i) * time.Second), Body: b}
			run.Probes = append(run.Probes, f, &fact.Fact{At: f.At, Body: fact.Probed{Probe: fact.Liveness, Verdict: fact.Success}})
			if i == test.want {
				want = f.End()
			}
		}
		if got := run.FailsSince(); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
