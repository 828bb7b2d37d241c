package health

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	_ "whylet.dev/whylet/test/fixedseed"
)

func candidate(name string, priority int32, usage, request int64) Candidate {
	return Candidate{Pod: fact.Pod{Namespace: "ns", Name: name}, Priority: priority, Measured: true, Usage: usage, Request: request}
}

// kubelet's documentation, node-pressure-eviction, "Pod selection for kubelet
// eviction", and eviction/helpers_test.go say who goes first.
func TestRank(t *testing.T) {
	unknown := candidate("unknown", 100, 0, 0)
	unknown.Measured = false
	critical := candidate("critical", 0, 1000, 0)
	critical.Critical = true
	cases := []struct {
		name  string
		short v1.ResourceName
		pods  []Candidate
		want  []string
	}{
		{
			"over its request goes before within it, whatever the priority", v1.ResourceMemory,
			[]Candidate{candidate("within-low", 0, 90, 100), candidate("over-high", 1000, 101, 100)},
			[]string{"over-high", "within-low"},
		},
		{
			"among those over their requests the lower priority goes first", v1.ResourceMemory,
			[]Candidate{candidate("high", 10, 500, 0), candidate("low", 1, 2, 0)},
			[]string{"low", "high"},
		},
		{
			"then the larger use beyond the request, not the larger use", v1.ResourceMemory,
			[]Candidate{candidate("large", 0, 1000, 990), candidate("small", 0, 100, 10)},
			[]string{"small", "large"},
		},
		{
			"exactly its request is not over it", v1.ResourceMemory,
			[]Candidate{candidate("exact", 0, 100, 100), candidate("over", 5, 101, 100)},
			[]string{"over", "exact"},
		},
		{
			"who could not be measured goes first", v1.ResourceEphemeralStorage,
			[]Candidate{candidate("hungry", 0, 1<<40, 0), unknown},
			[]string{"unknown", "hungry"},
		},
		{
			"processes: priority alone, then number", ResourcePIDs,
			[]Candidate{candidate("many", 5, 900, 0), candidate("few", 0, 1, 0), candidate("some", 0, 10, 0)},
			[]string{"some", "few", "many"},
		},
		{
			"critical pods never go", v1.ResourceMemory,
			[]Candidate{critical, candidate("other", 0, 1, 2)},
			[]string{"other"},
		},
		{
			"equals go by name", ResourceInodes,
			[]Candidate{candidate("b", 0, 5, 0), candidate("a", 0, 5, 0)},
			[]string{"a", "b"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, r := range Rank(c.short, c.pods) {
				got = append(got, r.Pod.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func drawCandidates(t *rapid.T) []Candidate {
	one := rapid.Custom(func(t *rapid.T) Candidate {
		c := candidate("", rapid.Int32Range(-2, 2).Draw(t, "priority"), rapid.Int64Range(0, 5).Draw(t, "usage"), rapid.Int64Range(0, 5).Draw(t, "request"))
		c.Pod.UID = types.UID(rapid.StringMatching("[a-z]{8}").Draw(t, "uid"))
		c.QoS = rapid.SampledFrom([]v1.PodQOSClass{v1.PodQOSBestEffort, v1.PodQOSBurstable, v1.PodQOSGuaranteed}).Draw(t, "qos")
		c.Measured = rapid.Bool().Draw(t, "measured")
		c.Critical = rapid.IntRange(0, 9).Draw(t, "critical") == 0
		return c
	})
	return rapid.SliceOfNDistinct(one, 0, 12, func(c Candidate) types.UID { return c.Pod.UID }).Draw(t, "candidates")
}

// The order is one and the same however the pods come; nobody is lost or added
// but the critical; and nobody who kept to his request goes before one who did not.
func TestRankIsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		short := rapid.SampledFrom([]v1.ResourceName{v1.ResourceMemory, v1.ResourceEphemeralStorage, ResourceInodes, ResourcePIDs}).Draw(t, "short")
		pods := drawCandidates(t)
		ranked := Rank(short, pods)
		if !slices.Equal(ranked, Rank(short, rapid.Permutation(pods).Draw(t, "shuffled"))) {
			t.Fatalf("the order depends on how the pods came: %v", ranked)
		}
		may := 0
		for _, c := range pods {
			if !c.Critical {
				may++
			}
		}
		if len(ranked) != may {
			t.Fatalf("%d of %d may go, %d are ranked", may, len(pods), len(ranked))
		}
		for i := 1; i < len(ranked); i++ {
			if a, b := ranked[i-1], ranked[i]; wronglyBefore(short, a, b) {
				t.Fatalf("%+v goes before %+v", a, b)
			}
		}
		if kept := Ranking(ranked); len(kept) > maxRanked || (len(ranked) > 0 && kept[0].Pod != ranked[0].Pod) {
			t.Fatalf("kept %v of %v", kept, ranked)
		}
	})
}

// wronglyBefore says in other words than the code under test that a must not go before b.
func wronglyBefore(short v1.ResourceName, a, b Candidate) bool {
	if short == ResourcePIDs {
		return a.Priority > b.Priority || (a.Priority == b.Priority && a.Measured && b.Measured && a.Usage < b.Usage)
	}
	if a.Measured != b.Measured {
		return a.Measured
	}
	if aOver, bOver := a.Usage > a.Request, b.Usage > b.Request; aOver != bOver {
		return bOver
	}
	return a.Priority > b.Priority || (a.Priority == b.Priority && a.Usage-a.Request < b.Usage-b.Request)
}

// What is proposed fits, and takes from nobody what he asked for.
func TestFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asks := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Ask {
			a := Ask{Request: rapid.Int64Range(0, 100).Draw(t, "request"), Unlimited: rapid.Bool().Draw(t, "unlimited")}
			a.Limit = a.Request + rapid.Int64Range(-10, 600).Draw(t, "above")
			return a
		}), 0, 8).Draw(t, "asks")
		const allocatable = 400
		var requests, most, sum int64
		for _, a := range asks {
			requests, most = requests+a.Request, most+a.Request+a.above(allocatable)
		}
		fit := Fit(asks, allocatable)
		if needed := most > allocatable && requests <= allocatable; needed != (fit != nil) {
			t.Fatalf("%v of %+v", fit, asks)
		}
		for i, f := range fit {
			sum += f
			if f < asks[i].Request || f > asks[i].Request+asks[i].above(allocatable) {
				t.Fatalf("%d for %+v", f, asks[i])
			}
		}
		if sum > allocatable {
			t.Fatalf("%v are more than %d", fit, allocatable)
		}
	})
}

func TestEvictionMessage(t *testing.T) {
	amount := func(s string) *resource.Quantity { q := resource.MustParse(s); return &q }
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	got := EvictionMessage(
		Shortage{Resource: v1.ResourceMemory, Threshold: amount("100Mi"), Available: amount("52Ki")}, pod, nil,
		[]ContainerUse{{Name: "c", Usage: *amount("5Mi")}, {Name: "modest", Usage: *amount("5Mi"), Request: *amount("5Mi")}})
	const want = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Ki. " +
		"Container c was using 5Mi, request is 0, has larger consumption of memory. "
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	got = EvictionMessage(Shortage{Resource: ResourceInodes}, pod, &ContainerUse{Usage: *amount("3Mi"), Request: *amount("1Mi")}, nil)
	if want := "The node was low on resource: inodes. Pod p was using 3Mi, request is 1Mi, has larger consumption of inodes. "; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestCritical(t *testing.T) {
	system, high := int32(2000000000), int32(1999999999)
	for _, c := range []struct {
		name   string
		pod    v1.Pod
		static bool
		want   bool
	}{
		{"ordinary", v1.Pod{}, false, false},
		{"static", v1.Pod{}, true, true},
		{"mirror", v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1.MirrorPodAnnotationKey: ""}}}, false, true},
		{"system priority", v1.Pod{Spec: v1.PodSpec{Priority: &system}}, false, true},
		{"the highest that users can give", v1.Pod{Spec: v1.PodSpec{Priority: &high}}, false, false},
	} {
		if got := Critical(&c.pod, c.static); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// The order that chose the pod is kept with the decision, and a pod that takes
// its time to go has to go faster.
func TestEviction(t *testing.T) {
	ranked := candidate("web", 0, 3, 1)
	ranked.Pod.UID = "uid-1"
	ranking := Ranking([]Candidate{ranked})
	needed := fact.EvictionNeeded{Message: "The node was low on resource: memory. ", Signal: "memory.available", GraceSeconds: 1, Ranking: ranking}
	for _, deleted := range []bool{false, true} {
		w := newWorld(t, Policy{})
		w.behave["app"] = behaviour{ignores: true}
		w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
		if deleted {
			w.feed("", 0, fact.DeletionSeen{GraceSeconds: 3600})
		}
		var kept []fact.Ranked
		grace := int64(-1)
		for _, d := range w.feed("", 0, needed) {
			switch b := d.Body().(type) {
			case fact.Evict:
				kept = b.Ranking
			case fact.Kill:
				grace = b.GraceSeconds
			}
		}
		if !slices.Equal(kept, ranking) || grace != 1 {
			t.Errorf("deleted %v: kept %v, grace period %d", deleted, kept, grace)
		}
		if again := w.feed("", 0, needed); len(again) != 0 {
			t.Errorf("deleted %v: a second word led to %v", deleted, again)
		}
		w.advance(time.Minute)
		if s := Status(w.state); s.Phase != v1.PodFailed || s.Reason != "Evicted" || s.Message != needed.Message {
			t.Errorf("deleted %v: %s %s %q", deleted, s.Phase, s.Reason, s.Message)
		}
	}
}

// With a soft threshold a pod has its own time to end, up to a bound.
func TestGraceOfEviction(t *testing.T) {
	ptr := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		hard bool
		own  *int64
		want int64
	}{{false, ptr(30), 7}, {false, ptr(3), 3}, {false, nil, 7}, {true, ptr(30), 1}} {
		pod := MeasuredPod{Object: &v1.Pod{Spec: v1.PodSpec{TerminationGracePeriodSeconds: c.own}}, Candidate: Candidate{Pod: fact.Pod{UID: "u"}}}
		_, needed, ok := ChooseToEvict(Need{Hard: c.hard, SoftGrace: 7}, []MeasuredPod{pod})
		if !ok || needed.GraceSeconds != c.want || len(needed.Ranking) != 1 {
			t.Errorf("%+v: %+v", c, needed)
		}
	}
}

// A pod goes only where the ranking says that it is its turn.
func TestEvictionGoesByItsRanking(t *testing.T) {
	for _, first := range []types.UID{"uid-1", "another"} {
		w := newWorld(t, Policy{})
		w.meet(podOf(v1.RestartPolicyAlways, v1.Container{Name: "app"}))
		w.feed("", 0, fact.EvictionNeeded{Signal: "memory.available", GraceSeconds: 1, Ranking: []fact.Ranked{{Pod: fact.Pod{UID: first}}}})
		if evicted := w.count("Evict") > 0; evicted != (first == "uid-1") {
			t.Errorf("%s comes first: %v", first, evicted)
		}
	}
}
