package common

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
)

// A thousand nodes with fifty pods each, one of which is not well, of a thousand workloads:
// all that one question compares at most.
func BenchmarkFindInACluster(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	s, crowds := Scene{Traits: map[string]Traits{}}, map[Maker]map[string]int{}
	for n := range 1000 {
		node := fmt.Sprintf("node-%d", n)
		s.Traits[node] = Traits{
			"zone": fmt.Sprint(n % 3), "instance type": fmt.Sprint(n % 5), "node pool": fmt.Sprint(n % 10), "kernel": "6.1", "kubelet": "v1.36.3",
		}
		for i := range 50 {
			w := r.IntN(1000)
			p := Pod{
				UID: types.UID(fmt.Sprint(node, i)), Node: node, Namespace: fmt.Sprintf("team-%d", w%50),
				Maker: Maker{fmt.Sprintf("team-%d", w%50), "Deployment", fmt.Sprintf("web-%d", w), "5d4f"},
			}
			if i == 0 {
				p.Faults = []Fault{{Cause: answer.MemoryLimit}}
				s.Pods = append(s.Pods, p)
				continue
			}
			if crowds[p.Maker] == nil {
				crowds[p.Maker] = map[string]int{}
			}
			crowds[p.Maker][p.Node]++
		}
	}
	for maker, on := range crowds {
		c := Crowd{Maker: maker}
		for _, node := range slices.Sorted(maps.Keys(on)) {
			c.On = append(c.On, Share{NodeOf(node), on[node]})
		}
		s.Crowds = append(s.Crowds, c)
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			Find(s)
		}
	})
	s.Asked = map[types.UID]bool{s.Pods[0].UID: true}
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			Find(s)
		}
	})
}
