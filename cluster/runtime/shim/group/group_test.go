package group

import (
	"fmt"
	"testing"
)

// Sandboxes are of as many groups as there may be.
func TestOf(t *testing.T) {
	seen := map[string]int{}
	for i := range 1000 {
		seen[Of(fmt.Sprintf("sandbox %d", i))]++
	}
	if len(seen) != groups {
		t.Errorf("groups: %v", seen)
	}
	// A shim that runs across an upgrade is found only under the name that it has.
	if got := Of("4f5e"); got != "group-1" {
		t.Errorf("4f5e is of %s", got)
	}
	if got := Door("/run/w/containerd.sock", "k8s.io", "group-1"); got != "/run/w/k8s.io-group-1.door" {
		t.Errorf("the door is at %s", got)
	}
}
