package node

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// What others set beside the node's own conditions is none of its business, and
// the echo of its own write is no news.
func TestOverwrittenStatus(t *testing.T) {
	with := func(kind v1.PodConditionType, status v1.ConditionStatus) v1.PodStatus {
		return v1.PodStatus{Conditions: []v1.PodCondition{{Type: kind, Status: status}}}
	}
	own := with(v1.PodReady, v1.ConditionTrue)
	for _, c := range []struct {
		name string
		seen v1.PodStatus
		want bool
	}{
		{"the same", with(v1.PodReady, v1.ConditionTrue), false},
		{"called unready", with(v1.PodReady, v1.ConditionFalse), true},
		{"not written yet", v1.PodStatus{}, false},
		{"a gate of somebody else", with("example.com/gate", v1.ConditionFalse), false},
	} {
		if got := overwritten(own, c.seen); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	p, key := newPublisher(nil, nil, nil), fact.Pod{UID: "u"}
	if !p.news(key, "1") {
		t.Error("before any write, everything is news")
	}
	p.confirmed(key, own, &v1.Pod{})
	p.version[key] = "10"
	for version, want := range map[string]bool{"9": false, "10": false, "11": true, "101": true} {
		if got := p.news(key, version); got != want {
			t.Errorf("version %s: %v", version, got)
		}
	}
}
