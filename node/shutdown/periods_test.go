package shutdown

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		total, critical time.Duration
		want            []Period
		fails           bool
	}{
		{0, 0, nil, false},
		{30 * time.Second, 10 * time.Second, []Period{{0, 20 * time.Second}, {SystemCritical, 10 * time.Second}}, false},
		{30 * time.Second, 0, []Period{{0, 30 * time.Second}, {SystemCritical, 0}}, false},
		{10 * time.Second, 30 * time.Second, nil, true},
		{-time.Second, 0, nil, true},
		{time.Millisecond, 0, nil, true},
	} {
		got, err := Periods(c.total, c.critical)
		if !slices.Equal(got, c.want) || (err != nil) != c.fails {
			t.Errorf("%s of which %s: %v, %v", c.total, c.critical, got, err)
		}
	}
}

func TestParsePeriods(t *testing.T) {
	got, err := ParsePeriods("100000=30s, 0=1m,2000000000=0s")
	if err != nil || !slices.Equal(got, []Period{{0, time.Minute}, {100000, 30 * time.Second}, {2000000000, 0}}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "0", "0=", "0=soon", "0=-1s", "0=1ms", "0=1s,0=2s", "9999999999=1s", "0=1s,"} {
		if got, err := ParsePeriods(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func FuzzParsePeriods(f *testing.F) {
	f.Add("0=60s,100000=30s")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParsePeriods(text)
		if err != nil {
			return
		}
		if len(all) == 0 || len(all) > maxPeriods || !slices.IsSortedFunc(all, func(a, b Period) int { return int(int64(a.Priority) - int64(b.Priority)) }) {
			t.Errorf("%q: %v", text, all)
		}
	})
}

func podOf(name string, priority int32, grace int64) pods.Pod {
	object := &v1.Pod{Spec: v1.PodSpec{Priority: &priority, TerminationGracePeriodSeconds: &grace}}
	object.Namespace, object.Name, object.UID = "ns", name, "u-"+object.UID
	object.UID = "u-" + object.UID
	return pods.Pod{Key: fact.Pod{Namespace: "ns", Name: name, UID: "u"}, Object: object}
}

func TestGroups(t *testing.T) {
	periods := []Period{{0, time.Minute}, {1000, 30 * time.Second}, {SystemCritical, 10 * time.Second}}
	for priority, want := range map[int32]int{-5: 0, 0: 0, 999: 0, 1000: 1, 1001: 1, SystemCritical: 2, SystemCritical + 1000: 2} {
		for i, g := range groups(periods, []pods.Pod{podOf("p", priority, 30)}) {
			if (len(g.pods) == 1) != (i == want) {
				t.Errorf("a pod of priority %d is in group %d, not in %d", priority, i, want)
			}
		}
	}
	if got := periods[0].grace(podOf("p", 0, 5)); got != 5 {
		t.Errorf("a pod that asks for 5 s gets %d", got)
	}
	if got := periods[2].grace(podOf("p", 0, 500)); got != 10 {
		t.Errorf("a pod that asks for 500 s gets %d of 10", got)
	}
}

// Every pod is in one group, and in none of a higher priority than its own unless all are.
func TestGroupsHoldAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		priorities := rapid.SliceOfNDistinct(rapid.Int32(), 1, 8, rapid.ID[int32]).Draw(t, "periods")
		slices.Sort(priorities)
		var periods []Period
		for _, p := range priorities {
			periods = append(periods, Period{Priority: p})
		}
		var all []pods.Pod
		for i, p := range rapid.SliceOf(rapid.Int32()).Draw(t, "pods") {
			all = append(all, podOf(fmt.Sprint(i), p, 1))
		}
		count := 0
		for i, g := range groups(periods, all) {
			count += len(g.pods)
			for _, p := range g.pods {
				own := *p.Object.Spec.Priority
				if i > 0 && own < g.Priority || i+1 < len(periods) && own >= periods[i+1].Priority {
					t.Fatalf("priority %d is in the group from %d", own, g.Priority)
				}
			}
		}
		if count != len(all) {
			t.Fatalf("%d of %d pods have a group", count, len(all))
		}
	})
}
