package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"whylet.dev/whylet/fact"
)

// The annotation of a namespace is followed, read seldom, and outlives an API server that is away.
func TestNamespacesKeepLines(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	reads, says, fails := 0, map[string]string{}, error(nil)
	n := newNamespaces(func(context.Context, string) (map[string]string, error) { reads++; return says, fails }, slog.New(slog.DiscardHandler))
	n.now = func() time.Time { return now }
	resource := schema.GroupResource{Resource: "namespaces"}
	for _, step := range []struct {
		what     string
		says     map[string]string
		fails    error
		after    time.Duration
		keeps    bool
		readOnce bool
	}{
		{"nothing is said", nil, nil, 0, true, true},
		{"it is remembered", map[string]string{fact.LogLines: "false"}, nil, time.Minute, true, false},
		{"no lines", map[string]string{fact.LogLines: "false"}, nil, 10 * time.Minute, false, true},
		{"the API server is away", nil, errors.New("refused"), 10 * time.Minute, false, true},
		{"it is not asked at once again", nil, nil, time.Second, false, false},
		{"it is back", nil, nil, time.Minute, true, true},
		{"the namespace is gone", nil, apierrors.NewNotFound(resource, "shop"), 10 * time.Minute, true, true},
		{"a role of before", nil, apierrors.NewForbidden(resource, "shop", nil), 10 * time.Minute, true, true},
		{"no lines again", map[string]string{fact.LogLines: "false"}, nil, 10 * time.Minute, false, true},
		{"a role of before says nothing new", nil, apierrors.NewForbidden(resource, "shop", nil), 10 * time.Minute, false, true},
	} {
		now, reads, says, fails = now.Add(step.after), 0, step.says, step.fails
		if keeps := n.keeps("shop"); keeps != step.keeps || (reads == 1) != step.readOnce {
			t.Errorf("%s: keeps %t, %d reads", step.what, keeps, reads)
		}
	}
	fails = apierrors.NewNotFound(resource, "left")
	if n.keeps("left") {
		t.Error("lines of a namespace that is gone are kept")
	}
	if fails = nil; !n.keeps("another") {
		t.Error("one namespace that is gone keeps others from being read")
	}
	if fails = apierrors.NewForbidden(resource, "new", nil); !n.keeps("new") {
		t.Error("no lines are kept with a role of before")
	}
	fails = errors.New("refused")
	if now = now.Add(time.Hour); n.keeps("unknown") {
		t.Error("lines of a namespace that could not be read are kept")
	}
	fails, now = nil, now.Add(time.Hour)
	for i := range 3 * mostNamespaces {
		n.keeps(fmt.Sprint("many-", i))
	}
	if len(n.known) > mostNamespaces {
		t.Errorf("%d are remembered", len(n.known))
	}
}

// What is written has no lines where the namespace wants none.
func TestNamespaceWithoutLines(t *testing.T) {
	for keeps, want := range map[bool]int{true: 1, false: 0} {
		l, k := aLoop()
		l.keepsLines = func(string) bool { return keeps }
		l.take(spec())
		l.take(start(0, 1, "a"))
		l.take(about(0, 2, fact.Exited{ContainerID: "containerd://a", ExitCode: 1, LastLines: []string{"card 4111"}, LogEnd: &fact.LogEnd{Lines: []string{"card 4111"}}}))
		got := -1
		for _, f := range k.facts {
			if b, ok := f.Body.(fact.Exited); ok {
				got = len(b.LastLines)
				if (b.LogEnd != nil) != keeps {
					t.Errorf("kept %t: the end of its log is %+v", keeps, b.LogEnd)
				}
			}
		}
		if got != want {
			t.Errorf("kept %t: %d lines are written, want %d", keeps, got, want)
		}
	}
}
