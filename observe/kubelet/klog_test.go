package kubelet

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whylet.dev/whylet/fact"
)

// now is some days after the records of the tests.
var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// Records as kubelet 1.36.3 wrote them.
const (
	failed  = `I1122 23:02:57.113407      44 prober.go:122] "Probe failed" probeType="Liveness" pod="shop/web-1" podUID="e47ffc9e" containerName="app" probeResult="failure" output="HTTP probe failed with statuscode: 500"`
	killing = `I1122 23:02:58.000001      44 kuberuntime_container.go:909] "Killing container with a grace period" pod="shop/web-1" podUID="e47ffc9e" containerName="app" containerID="containerd://abc" gracePeriod=30`
	because = `I1122 23:02:58.000000      44 kuberuntime_manager.go:1374] "Message for Container of pod" containerName="app" containerStatusID={"Type":"containerd","ID":"ab}c"} pod="shop/web-1" containerMessage="Container app failed liveness probe, will be restarted"`
	block   = "I1122 23:02:57.113407      44 prober.go:122] \"Probe failed\" probeType=\"Readiness\" pod=\"shop/web-1\" podUID=\"u\" containerName=\"app\" probeResult=\"failure\" output=<\n\tone\n\ttwo\n >"
)

func TestALineIsRead(t *testing.T) {
	for _, c := range []struct {
		text string
		want Line
	}{
		{failed, Line{At: time.Date(2026, 11, 22, 23, 2, 57, 113407000, time.UTC), Message: "Probe failed", Values: map[string]string{
			"probeType": "Liveness", "pod": "shop/web-1", "podUID": "e47ffc9e", "containerName": "app", "probeResult": "failure", "output": "HTTP probe failed with statuscode: 500",
		}}},
		{because, Line{At: time.Date(2026, 11, 22, 23, 2, 58, 0, time.UTC), Message: "Message for Container of pod", Values: map[string]string{
			"containerName": "app", "containerStatusID": `{"Type":"containerd","ID":"ab}c"}`, "pod": "shop/web-1", "containerMessage": "Container app failed liveness probe, will be restarted",
		}}},
		{block, Line{At: time.Date(2026, 11, 22, 23, 2, 57, 113407000, time.UTC), Message: "Probe failed", Values: map[string]string{
			"probeType": "Readiness", "pod": "shop/web-1", "podUID": "u", "containerName": "app", "probeResult": "failure", "output": "one\ntwo",
		}}},
		{`{"ts":1795388577113.4,"caller":"prober/prober.go:122","msg":"Probe failed","v":1,"pod":{"name":"web-1","namespace":"shop"},"podUID":"u"}`, Line{
			At: time.UnixMicro(1795388577113400).UTC(), Message: "Probe failed", Values: map[string]string{"caller": "prober/prober.go:122", "msg": "Probe failed", "v": "1", "pod": "shop/web-1", "podUID": "u", "ts": "1795388577113.4"},
		}},
	} {
		got, ok := ParseLine(c.text, now, time.UTC)
		if diff := cmp.Diff(c.want, got); !ok || diff != "" {
			t.Errorf("%s\n%v %s", c.text, ok, diff)
		}
	}
}

// The form has no year: on New Year's morning December was last year.
func TestTheYearIsTheNewestThatFits(t *testing.T) {
	l, ok := ParseLine(strings.Replace(failed, "I1122", "I1231", 1), time.Date(2027, 1, 1, 0, 5, 0, 0, time.UTC), time.UTC)
	if !ok || l.At.Year() != 2026 {
		t.Errorf("%v %v", ok, l.At)
	}
}

func TestWordsAreUnderstood(t *testing.T) {
	read := func(text string) (Word, bool, bool) {
		l, ok := ParseLine(text, now, time.UTC)
		if !ok {
			t.Fatalf("not a record: %s", text)
		}
		return Read(l)
	}
	if w, about, understood := read(failed); !about || !understood || w.Probe != fact.Liveness || w.Attempt(nil).Evidence.Status != 500 || w.UID != "e47ffc9e" {
		t.Errorf("%+v %v %v", w, about, understood)
	}
	if w, _, understood := read(killing); !understood || w.Said == nil || w.ContainerID != "containerd://abc" || w.Said.Values["gracePeriod"] != "30" {
		t.Errorf("%+v", w)
	}
	if w, _, understood := read(because); !understood || w.Said == nil || w.Said.Message != "Container app failed liveness probe, will be restarted" {
		t.Errorf("%+v", w)
	}
	if w, _, understood := read(`I1122 23:02:58.000000      44 eviction_manager.go:392] "Eviction manager: must evict pod(s) to reclaim" resourceName="memory"`); !understood || w.Reclaims != "memory" {
		t.Errorf("%+v", w)
	}
	for _, text := range []string{
		`I1122 23:02:58.000000      44 eviction_manager.go:410] "Eviction manager: pods ranked for eviction" pods=["shop/web-1","shop/db-0"]`,
		`I1122 23:02:58.000000      44 eviction_manager.go:410] "Eviction manager: pods ranked for eviction" pods=[shop/web-1 shop/db-0]`,
		`{"ts":1795388577113.4,"msg":"Eviction manager: pods ranked for eviction","v":0,"pods":[{"name":"web-1","namespace":"shop"},{"name":"db-0","namespace":"shop"}]}`,
	} {
		if w, about, understood := read(text); !about || !understood || len(w.Ranked) != 2 || w.Ranked[0].String() != "shop/web-1" || w.Ranked[1].String() != "shop/db-0" {
			t.Errorf("%s: %+v", text, w)
		}
	}
	if _, about, understood := read(`I1122 23:02:58.000000      44 new.go:1] "Something that nobody knows" pod="shop/web-1"`); !about || understood {
		t.Error("a new line is taken for understood")
	}
	if _, about, _ := read(`I1122 23:01:16.943033      44 server.go:545] "Kubelet version" kubeletVersion="v1.36.3"`); about {
		t.Error("taken for a word about a pod")
	}
}

func FuzzParseLine(f *testing.F) {
	for _, text := range []string{failed, killing, because, block, `{"ts":1,"msg":"x"}`, `I1122 23:02:58.000000 1 a.go:1] "m" k={[`, `E1122 23:02:58.000000 1 a.go:1] m`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, ok := ParseLine(text, now, time.UTC)
		if !ok {
			return
		}
		for key, v := range l.Values {
			if len(v) > mostValue {
				t.Errorf("%s has %d bytes", key, len(v))
			}
		}
		if w, about, understood := Read(l); about && understood && w.Probe != "" {
			w.Attempt(nil)
		}
	})
}
