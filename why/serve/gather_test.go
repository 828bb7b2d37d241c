package serve

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
)

// Of many pods those are looked at that were there, its own namespace's first.
func TestPresent(t *testing.T) {
	moment := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	asked := fact.Pod{Namespace: "shop", Name: "web", UID: "web"}
	span := func(namespace, name string, from, until time.Duration) journal.PodSpan {
		return journal.PodSpan{Pod: fact.Pod{Namespace: namespace, Name: name, UID: types.UID(name)}, First: moment.Add(from), Last: moment.Add(until)}
	}
	spans := []journal.PodSpan{
		{First: moment.Add(-time.Hour), Last: moment.Add(time.Hour)}, // the node itself
		{Pod: asked, First: moment.Add(-time.Hour), Last: moment.Add(time.Hour)},
		span("apps", "gone", -time.Hour, -time.Minute),
		span("apps", "later", time.Minute, time.Hour),
		span("shop", "gone-too", -time.Hour, -time.Minute),
	}
	for i := range 2 * mostPods {
		spans = append(spans, span("apps", fmt.Sprint("app-", i), -time.Hour, time.Hour))
	}
	spans = append(spans, span("shop", "db", -time.Second, time.Second))
	chosen := present(spans, asked, moment)
	if len(chosen) != mostPods || !chosen["db"] {
		t.Errorf("%d pods, the one of the same namespace among them: %v", len(chosen), chosen["db"])
	}
	for _, uid := range []types.UID{"", "web", "gone", "later", "gone-too"} {
		if chosen[uid] {
			t.Errorf("%q is among them", uid)
		}
	}
	if chosen = present(spans[:5], asked, moment); len(chosen) != 0 {
		t.Error(chosen)
	}
}
