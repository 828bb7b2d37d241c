package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// progress watches the loop: a node whose loop is stuck looks alive to everybody else.
type progress struct {
	// beats is taken by the loop between two turns.
	beats chan<- struct{}
	// beat is called every so often, each time after the loop has taken a beat.
	beat  func()
	every time.Duration
	// mark is the file that says since when the loop is stuck, for the next agent.
	mark string
}

// run watches until ctx ends.
func (p progress) run(ctx context.Context) {
	if p.every <= 0 {
		return
	}
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		if !p.once(ctx) {
			return
		}
		p.beat()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// once waits until the loop takes a beat; false when ctx ended before. It leaves the mark while
// that takes longer than two beats should.
func (p progress) once(ctx context.Context) bool {
	asked := time.Now()
	late := time.NewTimer(2 * p.every)
	defer late.Stop()
	for marked := false; ; {
		select {
		case p.beats <- struct{}{}:
			if marked {
				_ = os.Remove(p.mark)
			}
			return true
		case <-ctx.Done():
			return false
		case <-late.C:
			// Nothing can be written into the journal: that is the loop's work.
			marked = os.WriteFile(p.mark, []byte(asked.UTC().Format(time.RFC3339Nano)), 0o600) == nil
		}
	}
}

// stuckFile is where the mark is.
func stuckFile(dataDir string) string { return filepath.Join(dataDir, "stuck") }

// takeStuck returns since when the loop of an earlier agent was stuck when that ended, and
// removes the mark; zero where it was not.
func takeStuck(dataDir string) time.Time {
	text, err := os.ReadFile(stuckFile(dataDir))
	if err != nil {
		return time.Time{}
	}
	_ = os.Remove(stuckFile(dataDir))
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text)))
	if err != nil || at.After(time.Now()) {
		return time.Time{}
	}
	return at
}
