package pods_test

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
	_ "whylet.dev/whylet/test/fixedseed"
)

// A request names a pod; of two of one name it is the one that was there then.
func TestNamed(t *testing.T) {
	known := pods.New()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for i, uid := range []types.UID{"old", "new"} {
		object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(i) * time.Hour))}}
		known.Take(fact.Fact{Pod: fact.Pod{Namespace: "ns", Name: "web-0", UID: uid}, Body: fact.SpecSeen{Object: object}})
	}
	for name, c := range map[string]struct {
		pod  string
		at   time.Time
		want types.UID
	}{
		"the first":     {"web-0", noon.Add(time.Minute), "old"},
		"the second":    {"web-0", noon.Add(2 * time.Hour), "new"},
		"neither yet":   {"web-0", noon.Add(-time.Minute), ""},
		"another's":     {"web-1", noon.Add(time.Hour), ""},
		"at its making": {"web-0", noon, "old"},
		"the newest":    {"web-0", time.Time{}, "new"},
	} {
		if got, _ := known.Named("ns", c.pod, c.at); got.Key.UID != c.want {
			t.Errorf("%s: %q, want %q", name, got.Key.UID, c.want)
		}
	}
}

// drawFact is a fact about one of two pods with two containers each.
func drawFact(t *rapid.T, n int) fact.Fact {
	f := fact.Fact{
		ID: fact.ID(n + 1), Pod: fact.Pod{UID: types.UID(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "pod"))},
		Container: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "container"), Attempt: int32(n),
	}
	id := "x://" + string(f.Pod.UID) + f.Container + strconv.Itoa(rapid.IntRange(1, 3).Draw(t, "run"))
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		f.Body = fact.SpecSeen{Object: &v1.Pod{}}
	case 1:
		f.Body = fact.Created{ContainerID: id}
	case 2:
		f.Body = fact.Started{ContainerID: id, PID: n + 1}
	case 3:
		f.Body = fact.Exited{ContainerID: id}
	case 4:
		f.Body = fact.Kill{}
	case 5:
		f.Body = fact.SetUpDone{SandboxID: id}
	case 6:
		f.Body = fact.ObjectGone{}
	}
	return f
}

// Each run that a pod shows is found by its id and its process, nothing else is, and
// what was answered once does not change any more.
func TestLookupsAgreeWithThePods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := pods.New()
		var before pods.Pod
		var kept map[string]pods.Container
		for n := range rapid.IntRange(1, 40).Draw(t, "facts") {
			known.Take(drawFact(t, n))
			if !reflect.DeepEqual(before.Containers, kept) {
				t.Fatalf("an answer changed: %v, was %v", before.Containers, kept)
			}
			before, _ = known.Get("a")
			kept = map[string]pods.Container{}
			for name, c := range before.Containers {
				kept[name] = c
			}
			if before.Containers == nil {
				kept = nil
			}
			agree(t, known)
		}
	})
}

func agree(t *rapid.T, known pods.Registry) {
	runs := map[string]pods.Container{}
	for _, p := range known.All() {
		for _, c := range p.Containers {
			if c.ID != "" {
				runs[c.ID] = c
			}
		}
	}
	for id, c := range runs {
		got, ok := known.ByID(id)
		if !ok || !got.Newest || got.Container != c {
			t.Fatalf("by id %s: %+v, want %+v", id, got, c)
		}
		if byCgroup, _ := known.ByCgroup("/kubepods/poda/" + pods.BareID(id)); byCgroup != got {
			t.Fatalf("by its cgroup %+v, want %+v", byCgroup, got)
		}
		if last, ok := known.ByID(c.Previous); c.Previous != "" && (!ok || last.ID != c.Previous) {
			t.Fatalf("the run before %s: %+v", id, last)
		}
		if got, ok := known.ByPID(c.PID); c.PID != 0 && (!ok || got.PID != c.PID) {
			t.Fatalf("by process %d: %+v", c.PID, got)
		}
	}
	for _, pod := range []string{"a", "b"} {
		for _, container := range []string{"x", "y"} {
			for n := 1; n <= 3; n++ {
				id := "x://" + pod + container + strconv.Itoa(n)
				if run, ok := known.ByID(id); ok && run.ID != id {
					t.Fatalf("%s leads to %+v", id, run)
				}
			}
		}
	}
}

// What a checkpoint keeps of a pod is the pod.
func TestRestore(t *testing.T) {
	key := fact.Pod{Namespace: "ns", Name: "p", UID: "u"}
	known := pods.New()
	kept := `{"object":{"metadata":{"name":"p"}},"source":"api","sandbox":{"id":"s"},"containers":{"c":{"id":"x://1","attempt":2,"pid":7,"running":true}},"asked":[]}`
	if err := known.Restore(key, []byte(kept)); err != nil {
		t.Fatal(err)
	}
	p, ok := known.Get("u")
	if !ok || p.Key != key || p.Object.Name != "p" || p.Source != "api" || p.Sandbox.ID != "s" {
		t.Errorf("%+v", p)
	}
	if run, ok := known.ByPID(7); !ok || run.Pod != key || run.Name != "c" || run.Attempt != 2 || !run.Running {
		t.Errorf("%+v", run)
	}
	if err := known.Restore(key, []byte("{")); err == nil {
		t.Error("half a checkpoint is none")
	}
	known.Forget("u")
	if _, ok := known.ByID("1"); ok || len(known.All()) > 0 {
		t.Error("it is known still")
	}
}

// A run that is told late does not take the place of the newest one, and is found by its id.
func TestAnEarlierRunToldLate(t *testing.T) {
	p := pods.New()
	key := fact.Pod{Namespace: "shop", Name: "web", UID: "u"}
	p.Take(fact.Fact{Pod: key, Body: fact.SpecSeen{}})
	p.Take(fact.Fact{Pod: key, Container: "app", Attempt: 2, Body: fact.Started{ContainerID: "c://2", PID: 22}})
	p.Take(fact.Fact{Pod: key, Container: "app", Attempt: 1, Body: fact.Started{ContainerID: "c://1"}})
	p.Take(fact.Fact{Pod: key, Container: "app", Attempt: 1, Body: fact.Exited{ContainerID: "c://1"}})
	pod, _ := p.Get("u")
	if c := pod.Containers["app"]; c.ID != "c://2" || !c.Running || c.PID != 22 || c.Previous != "c://1" {
		t.Errorf("%+v", c)
	}
	if run, ok := p.ByID("1"); !ok || run.Newest || run.Attempt != 1 {
		t.Errorf("%+v, %v", run, ok)
	}
}
