package sense

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
	n := NewNamespaces(func(context.Context, string) (map[string]string, error) { reads++; return says, fails }, slog.New(slog.DiscardHandler))
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

// A fact loses the lines of a log, and nothing else, where its namespace wants none kept. One without lines has no
// namespace read.
func TestNamespacesKeepFacts(t *testing.T) {
	reads := 0
	n := NewNamespaces(func(_ context.Context, name string) (map[string]string, error) {
		reads++
		return map[string]string{fact.LogLines: map[bool]string{true: "false"}[name == "bank"]}, nil
	}, slog.New(slog.DiscardHandler))
	of := func(space string, b fact.Body) fact.Fact {
		return n.Keep(fact.Fact{Pod: fact.Pod{Namespace: space}, Body: b})
	}
	if of("bank", fact.Probed{}); reads != 0 {
		t.Errorf("%d reads for a fact without lines", reads)
	}
	for space, lines := range map[string]int{"bank": 0, "shop": 1} {
		b, _ := of(space, fact.Exited{ExitCode: 3, LastLines: []string{"card 4111"}}).Body.(fact.Exited)
		l, _ := of(space, fact.Looked{PID: 3, Said: []string{"card 4111"}}).Body.(fact.Looked)
		if len(b.LastLines) != lines || b.ExitCode != 3 || len(l.Said) != lines || l.PID != 3 {
			t.Errorf("%s: %+v, %+v", space, b, l)
		}
	}
}
