package node

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
)

// Beats come while the loop takes turns, and only then; of a loop that is stuck the next agent
// is told since when.
func TestProgress(t *testing.T) {
	l, _ := testLoop(t)
	dir := t.TempDir()
	beats := make(chan struct{}, 1000)
	p := progress{beats: l.beats, beat: func() { beats <- struct{}{} }, every: 5 * time.Millisecond, mark: stuckFile(dir)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go p.run(ctx)

	began := time.Now()
	eventually(t, "the mark of a loop that does not run", func() bool { text, _ := os.ReadFile(p.mark); return len(text) > 0 })
	if len(beats) > 0 {
		t.Error("a loop that does not run beats")
	}
	if at := takeStuck(dir); at.Before(began.Add(-time.Second)) || at.After(time.Now()) {
		t.Errorf("stuck since %v", at)
	}
	if at := takeStuck(dir); !at.IsZero() {
		t.Errorf("the mark was taken twice: %v", at)
	}
	if err := os.WriteFile(p.mark, []byte("2026-11-28T00:00:00Z"), 0o600); err != nil {
		t.Fatal(err)
	}

	go l.run(ctx)
	l.submit(fact.Fact{Body: fact.ClockStepped{}})
	for range 3 {
		select {
		case <-beats:
		case <-time.After(10 * time.Second):
			t.Fatal("a loop that runs does not beat")
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "stuck")); err == nil {
		t.Error("the mark is left of a loop that runs again")
	}
}

func TestNoStuckMark(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"", "soon", "2999-01-01T00:00:00Z"} {
		if err := os.WriteFile(stuckFile(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if at := takeStuck(dir); !at.IsZero() {
			t.Errorf("%q is read as %v", text, at)
		}
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}
