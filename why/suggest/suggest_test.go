package suggest

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/history"
)

var dawn = time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)

// history is that of a container with a liveness probe and a limit, which did the
// given things at the given times after its start.
func past(bodies map[time.Duration]fact.Body) *history.History {
	c := v1.Container{Name: "app", LivenessProbe: &v1.Probe{TimeoutSeconds: 1, PeriodSeconds: 10, FailureThreshold: 3}}
	c.Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("64Mi")}
	pod := fact.Pod{Namespace: "shop", Name: "web-1", UID: "u1"}
	facts := []fact.Fact{
		{ID: 1, Seen: dawn, Pod: pod, Body: fact.SpecSeen{Object: &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{c}}}}},
		{ID: 2, Seen: dawn, At: dawn, Pod: pod, Container: "app", Body: fact.Started{PID: 7}},
	}
	for i := range time.Duration(100_000) {
		if b, ok := bodies[i*time.Second]; ok {
			at := dawn.Add(i * time.Second)
			facts = append(facts, fact.Fact{ID: fact.ID(i + 10), Seen: at, At: at, Pod: pod, Container: "app", Body: b})
		}
	}
	return history.New(pod, facts, nil, nil)
}

func (r *Result) of(field string) Suggestion {
	for _, s := range r.Suggestions {
		if s.Field == field {
			return s
		}
	}
	return Suggestion{}
}

func TestProbes(t *testing.T) {
	good := fact.Probed{Probe: fact.Liveness, Verdict: fact.Success, Took: 1200 * time.Millisecond, Count: 400, Until: dawn.Add(time.Hour), Latency: []int64{0, 0, 0, 300, 90, 0, 0, 0, 0, 5, 5}}
	no := fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure}
	late := fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Evidence: &fact.Evidence{Timeout: true}}
	for _, c := range []struct {
		name         string
		bodies       map[time.Duration]fact.Body
		field, value string
		says         string
		tooFew       bool
	}{
		{"twice the slowest", map[time.Duration]fact.Body{time.Hour: good}, "livenessProbe.timeoutSeconds", "3", "400 good answers", false},
		{"a late answer counts", map[time.Duration]fact.Body{
			time.Hour:     good,
			2 * time.Hour: fact.AskedAgain{Probe: fact.Liveness, Verdict: fact.Success, Took: 4 * time.Second},
		}, "livenessProbe.timeoutSeconds", "8", "after the timeout", false},
		{"what timed out is not known", map[time.Duration]fact.Body{time.Hour: good, 2 * time.Hour: late}, "livenessProbe.timeoutSeconds", "3", "it may be more", false},
		{"too few", map[time.Duration]fact.Body{time.Minute: fact.Probed{Probe: fact.Liveness, Verdict: fact.Success, Took: time.Millisecond}}, "livenessProbe.timeoutSeconds", "1", "the history is short", true},
		{"never a good answer", map[time.Duration]fact.Body{time.Minute: no}, "livenessProbe.timeoutSeconds", "", "never succeeded", true},
		{"failures that pass", map[time.Duration]fact.Body{
			time.Hour: good, 2 * time.Hour: no, 2*time.Hour + 10*time.Second: no, 2*time.Hour + 20*time.Second: no, 2*time.Hour + 30*time.Second: no, 3 * time.Hour: good,
		}, "livenessProbe.failureThreshold", "5", "4 times in a row", false},
		{"no failure", map[time.Duration]fact.Body{time.Hour: good}, "livenessProbe.failureThreshold", "3", "never failed", false},
		{"a long start", map[time.Duration]fact.Body{50 * time.Second: good}, "startupProbe.failureThreshold", "10", "50 s at most", true},
	} {
		r, err := For(past(c.bodies), why.Options{Now: dawn.Add(5 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		g := r.of(c.field)
		if g.Value != c.value || !strings.Contains(g.Why, c.says) || g.TooFew != c.tooFew {
			t.Errorf("%s: %+v", c.name, g)
		}
		if !strings.Contains(r.Text(), c.field) {
			t.Errorf("%s is not in the text:\n%s", c.field, r.Text())
		}
	}
}

func TestMemory(t *testing.T) {
	steady, leak := map[time.Duration]fact.Body{}, map[time.Duration]fact.Body{}
	for i := range time.Duration(26) {
		steady[i*time.Hour] = fact.Sampled{MemoryCurrent: 48 << 20, MemoryFile: 8 << 20}
		leak[i*time.Hour] = fact.Sampled{MemoryCurrent: int64(10+2*i) << 20}
	}
	small, tiny := map[time.Duration]fact.Body{}, map[time.Duration]fact.Body{}
	for i := range 48 {
		small[time.Duration(i)*time.Hour] = fact.Sampled{MemoryCurrent: 1 << 20}
	}
	for i := range 48 {
		tiny[time.Duration(i)*time.Minute] = fact.Sampled{MemoryCurrent: 1 << 20}
	}
	killed := map[time.Duration]fact.Body{time.Hour: fact.Sampled{MemoryCurrent: 63 << 20}, 2 * time.Hour: fact.OOMKilled{Limit: 64 << 20}}
	for _, c := range []struct {
		name, value, says string
		bodies            map[time.Duration]fact.Body
		tooFew            bool
	}{
		{"a quarter more, page cache apart", "50Mi", "40Mi", steady, false},
		{"a leak has no limit", "", "leak", leak, false},
		{"it was cut off", "128Mi", "only that it is more", killed, true},
		{"a short history", "", "nothing lower is proposed", map[time.Duration]fact.Body{time.Minute: fact.Sampled{MemoryCurrent: 10 << 20}}, true},
		{"one look", "", "nothing is proposed yet", map[time.Duration]fact.Body{time.Minute: fact.Sampled{MemoryCurrent: 60 << 20}}, true},
		{"nobody looked", "", "no look", nil, true},
		{"it was killed before anybody looked", "128Mi", "OOM-killed at 64Mi", map[time.Duration]fact.Body{time.Second: fact.OOMKilled{Limit: 64 << 20}}, true},
	} {
		r, err := For(past(c.bodies), why.Options{Now: dawn.Add(48 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		g := r.of("resources.limits.memory")
		if g.Value != c.value || !strings.Contains(g.Why, c.says) || g.TooFew != c.tooFew {
			t.Errorf("%s: %+v", c.name, g)
		}
	}
	unlimited := func(bodies map[time.Duration]fact.Body) Suggestion {
		h := past(bodies)
		h.Object.Spec.Containers[0].Resources.Limits = nil
		r, err := For(h, why.Options{Now: dawn.Add(48 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		return r.of("resources.limits.memory")
	}
	if g := unlimited(small); g.Value != "16Mi" || g.TooFew {
		t.Errorf("a container that needs little: %+v", g)
	}
	if g := unlimited(tiny); g.Value != "" || !strings.Contains(g.Why, "no limit is proposed yet") {
		t.Errorf("a container without a limit, watched for less than a day: %+v", g)
	}
	if _, err := For(history.New(fact.Pod{}, nil, nil, nil), why.Options{}); err == nil {
		t.Error("a pod without a spec")
	}
}
