package cri_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/sense/containers"
)

// TestFindGarbage draws runtimes full of leftovers and checks what may go and what
// must stay, by rules that are slower and simpler than the code's.
func TestFindGarbage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := cri.Snapshot{Began: time.Unix(100_000, 0)}
		id := 0
		next := func() string { id++; return "id" + itoa(id) }
		for p := range rapid.IntRange(1, 3).Draw(rt, "pods") {
			pod := fact.Pod{UID: types.UID("u" + itoa(p))}
			for i := range rapid.IntRange(0, 3).Draw(rt, "sandboxes") {
				s.Sandboxes = append(s.Sandboxes, cri.SandboxView{
					ID: next(), Pod: pod, Attempt: uint32(i), Ready: rapid.Bool().Draw(rt, "ready"), CreatedAt: time.Unix(int64(i), 0),
				})
			}
			for i := range rapid.IntRange(0, 4).Draw(rt, "runs") {
				v := cri.ContainerView{
					ID: next(), Pod: pod, Name: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "name"), Attempt: int32(i),
					State:     rapid.SampledFrom([]containers.State{cri.Created, cri.Running, cri.Exited, cri.Unknown}).Draw(rt, "state"),
					CreatedAt: s.Began.Add(-time.Duration(rapid.SampledFrom([]int{1, 100}).Draw(rt, "age"))*time.Second + time.Duration(i)),
				}
				if len(s.Sandboxes) > 0 && rapid.Bool().Draw(rt, "in a sandbox") {
					v.Sandbox = s.Sandboxes[len(s.Sandboxes)-1].ID
				}
				s.Containers = append(s.Containers, v)
			}
		}
		wanted := func(uid types.UID) bool { return uid == "u0" }
		g := cri.FindGarbage(s, wanted)

		for _, v := range s.Containers {
			young := v.State == cri.Created && s.Began.Sub(v.CreatedAt) < time.Minute
			dead := v.State != cri.Running && !young
			newer := slices.ContainsFunc(s.Containers, func(o cri.ContainerView) bool {
				oYoung := o.State == cri.Created && s.Began.Sub(o.CreatedAt) < time.Minute
				return o.Pod == v.Pod && o.Name == v.Name && o.State != cri.Running && !oYoung && o.CreatedAt.After(v.CreatedAt)
			})
			want := dead && (newer || !wanted(v.Pod.UID))
			got := slices.ContainsFunc(g.Containers, func(o cri.ContainerView) bool { return o.ID == v.ID })
			if got != want {
				rt.Fatalf("container %+v: garbage %v, want %v", v, got, want)
			}
		}
		for _, v := range s.Sandboxes {
			used := slices.ContainsFunc(s.Containers, func(c cri.ContainerView) bool { return c.Sandbox == v.ID })
			newer := slices.ContainsFunc(s.Sandboxes, func(o cri.SandboxView) bool { return o.Pod == v.Pod && o.Attempt > v.Attempt })
			want := !v.Ready && !used && (newer || !wanted(v.Pod.UID))
			got := slices.ContainsFunc(g.Sandboxes, func(o cri.SandboxView) bool { return o.ID == v.ID })
			if got != want {
				rt.Fatalf("sandbox %+v: garbage %v, want %v", v, got, want)
			}
		}
	})
}
