package cgroup

import "testing"

// BenchmarkPod makes and removes a pod's cgroup.
func BenchmarkPod(b *testing.B) {
	m := newManager(b)
	for b.Loop() {
		if _, err := m.Ensure(podOf("p", "100m", "1 64Mi")); err != nil {
			b.Fatal(err)
		}
		if err := m.Remove(b.Context(), "p"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEnsureAgain is what a container start asks.
func BenchmarkEnsureAgain(b *testing.B) {
	m := newManager(b)
	for b.Loop() {
		if _, err := m.Ensure(podOf("p", "100m", "1 64Mi")); err != nil {
			b.Fatal(err)
		}
	}
	if err := m.Remove(b.Context(), "p"); err != nil {
		b.Fatal(err)
	}
}
