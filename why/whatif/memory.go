package whatif

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/history"
)

// memory says what another memory limit would have meant to a run that had the
// given one: ok is false where it would have meant nothing.
func memory(h *history.History, run *history.Run, had, limit int64) (Restart, bool) {
	at, hit := hitLimit(h, run, had)
	if at == nil {
		return wouldHit(run, limit)
	}
	r := Restart{Container: run.Container, Attempt: run.Attempt, At: at.When(), Facts: []fact.ID{at.ID}}
	if limit <= hit {
		r.Outcome, r.Text = Remains, fmt.Sprintf("it reached %s, so it would have reached %s too", size(hit), size(limit))
		return r, true
	}
	r.Outcome = NotKnown
	r.Text = fmt.Sprintf("not then: it was killed at %s; how much more it would have taken is not recorded", size(hit))
	return r, true
}

// hitLimit is what shows that a run ended at its own memory limit, and the limit:
// the kernel's record, or the cgroup's count of its kills.
func hitLimit(h *history.History, run *history.Run, had int64) (*fact.Fact, int64) {
	if run.Exit == nil {
		return nil, 0
	}
	for _, f := range run.OOMKills {
		b, ok := f.Body.(fact.OOMKilled)
		if ok && h.OwnLimit(run.Container, b) && run.Exit.When().Sub(f.When()).Abs() <= 2*time.Second {
			return f, max(b.Limit, had)
		}
	}
	if b, ok := run.Exit.Body.(fact.Exited); ok && b.MainOOMKilled && len(run.OOMKills) == 0 && had > 0 {
		return run.Exit, had
	}
	return nil, 0
}

// wouldHit finds the first sample of a run that a lower limit would not have
// allowed: page cache does not count, since the kernel gives it back.
func wouldHit(run *history.Run, limit int64) (Restart, bool) {
	if limit <= 0 {
		return Restart{}, false
	}
	for _, f := range run.Samples {
		b, ok := f.Body.(fact.Sampled)
		if held := b.MemoryCurrent - max(b.MemoryFile-b.MemoryShmem, 0); ok && held > limit {
			return Restart{
				Container: run.Container, Attempt: run.Attempt, At: f.When(), Facts: []fact.ID{f.ID}, Outcome: Added,
				Text: fmt.Sprintf("it held %s without page cache then: it would have been OOM-killed at %s", size(held), size(limit)),
			}, true
		}
	}
	return Restart{}, false
}

func size(bytes int64) string {
	for _, u := range []struct {
		unit int64
		name string
	}{{1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}} {
		if bytes >= u.unit {
			if bytes%u.unit == 0 || bytes >= 10*u.unit {
				return fmt.Sprintf("%d%s", bytes/u.unit, u.name)
			}
			return fmt.Sprintf("%.1f%s", float64(bytes)/float64(u.unit), u.name)
		}
	}
	return resource.NewQuantity(bytes, resource.BinarySI).String()
}
