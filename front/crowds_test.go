package front

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/common"
)

// told is what an agent says of a pod.
func told(namespace, workload string, n int, ill bool) link.Pod {
	p := link.Pod{Pod: fact.Pod{Namespace: namespace, Name: fmt.Sprintf("%s-5d4f8c7b9d-%05d", workload, n), UID: types.UID(fmt.Sprintf("0b9c7a1e-3f52-4d6b-9a70-%012d", n))}, Kind: "Deployment", Workload: workload, Revision: "5d4f8c7b9d"}
	if workload == "" {
		p.Kind, p.Revision = "", ""
	}
	if ill {
		a := answer.New(answer.Subject{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}, time.Now(), answer.Coverage{})
		a.Put(answer.Symptom{Kind: answer.NotReady}, answer.Verdict{Cause: answer.AppExitError})
		p.Answer, _ = json.Marshal(a)
	}
	return p
}

// hubOf knows nodes whose agents are there, and asks nobody for them.
func hubOf(nodes int) *Hub {
	h := New(Options{})
	h.at = time.Now().Add(time.Hour)
	for n := range nodes {
		name := fmt.Sprintf("node-%04d", n)
		h.nodes[name] = &nodeState{name: name, session: &session{}, pods: map[uidOf]*podState{}}
	}
	return h
}

// Whatever pods come, change and go, and whichever agents are away: those to compare are the
// pods that are there, each once, and what a question was given does not change under it.
func TestCrowdsAreThePodsThatDoWell(t *testing.T) {
	type place struct {
		maker common.Maker
		node  string
	}
	count := func(s common.Scene) map[place]int {
		all := map[place]int{}
		for _, c := range s.Crowds {
			for _, on := range c.On {
				all[place{c.Maker, on.Node.Value()}] += on.Pods
			}
		}
		return all
	}
	rapid.Check(t, func(t *rapid.T) {
		h := hubOf(4)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			node := fmt.Sprintf("node-%04d", rapid.IntRange(0, 3).Draw(t, "node"))
			n := rapid.IntRange(0, 12).Draw(t, "pod")
			p := told("shop", rapid.SampledFrom([]string{"web", "api", ""}).Draw(t, "workload"), n, rapid.Bool().Draw(t, "ill"))
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				h.went(node, p.UID)
			case 1:
				h.nodes[node].session = nil
			case 2:
				h.nodes[node].session = &session{}
			default:
				h.put(node, p, true)
			}
			single := []types.UID{told("shop", "", n, false).UID}
			before, err := h.Fellows(t.Context(), single)
			if err != nil {
				t.Fatal(err)
			}
			was, compared, want := count(before), map[common.Maker]bool{}, map[place]int{}
			for _, p := range before.Pods {
				compared[p.Maker.Workload()] = true
			}
			for uid, p := range h.pods {
				if maker := p.maker.Value(); maker.Name != "" && p.answer == nil && uid != single[0] && compared[maker.Workload()] && h.nodes[p.node].session != nil {
					want[place{maker, p.node}]++
				}
			}
			if !maps.Equal(was, want) {
				t.Fatalf("%v, not %v", was, want)
			}
			for i := range 13 {
				h.put("node-0003", told("shop", "web", i+100, false), true)
				defer h.went("node-0003", told("shop", "", i+100, false).UID)
			}
			if now := count(before); !maps.Equal(was, now) {
				t.Fatalf("it was %v, and is %v", was, now)
			}
			for i := range 13 {
				h.went("node-0003", told("shop", "", i+100, false).UID)
			}
		}
	})
}

// What a thousand nodes of fifty pods cost, one pod of each of which is not well: to find
// those to compare with one, and to remember a pod.
func BenchmarkFellows(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	h, r, made := hubOf(1000), rand.New(rand.NewPCG(1, 2)), 0
	for node := range h.nodes {
		for i := range 50 {
			made++
			p := told(fmt.Sprintf("team-%02d", r.IntN(50)), fmt.Sprintf("web-%02d", r.IntN(20)), made, i == 0)
			h.put(node, p, true)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
		s, err := h.Fellows(b.Context(), nil)
		if err != nil || len(s.Pods) != 1000 {
			b.Fatal(len(s.Pods), err)
		}
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(made), "B/pod")
	runtime.KeepAlive(h)
}
