package cgroup

import (
	"testing"

	"k8s.io/kubernetes/pkg/kubelet/cm"
	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

// A pod that is widened can do what it could before and what it shall, and
// nothing beyond both.
func TestWidestAllowsBothAndNoMore(t *testing.T) {
	limit := rapid.OneOf(rapid.Just[*int64](nil), rapid.Ptr(rapid.OneOf(rapid.Just(unlimited), rapid.Int64Range(1, 1<<40)), false))
	config := rapid.Custom(func(t *rapid.T) *cm.ResourceConfig {
		return &cm.ResourceConfig{
			Memory: limit.Draw(t, "memory"), CPUQuota: limit.Draw(t, "quota"),
			CPUShares: rapid.Ptr(rapid.Uint64Range(cm.MinShares, cm.MaxShares), false).Draw(t, "shares"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := config.Draw(t, "a"), config.Draw(t, "b")
		w := widest(a, b)
		for _, l := range [][3]*int64{{a.Memory, b.Memory, w.Memory}, {a.CPUQuota, b.CPUQuota, w.CPUQuota}} {
			if amountOf(l[2]) != max(amountOf(l[0]), amountOf(l[1])) {
				t.Fatalf("widest of %v and %v is %v", amountOf(l[0]), amountOf(l[1]), amountOf(l[2]))
			}
		}
		if *w.CPUShares != max(*a.CPUShares, *b.CPUShares) {
			t.Fatalf("shares %d of %d and %d", *w.CPUShares, *a.CPUShares, *b.CPUShares)
		}
	})
}

// amountOf orders limits: none is the largest.
func amountOf(l *int64) int64 {
	if l == nil || *l == unlimited {
		return 1 << 62
	}
	return *l
}
