package observe

import (
	"context"
	"fmt"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"whylet.dev/whylet/fact"
)

// The agent's memory, in bytes: MemoryLimit is what it is given to live in, and a little
// below it gives up detail rather than be killed. GoMemoryLimit is for the runtime's
// own bound, from which on it collects more often. GoGarbage is how much garbage may lie
// beside what is in use, in per cent: there is little to collect, and less often than
// once a minute where all is well.
const (
	MemoryLimit   = 96 << 20
	GoMemoryLimit = 72 << 20
	GoGarbage     = 50
	shedFrom      = 84 << 20
	shedUntil     = 64 << 20
)

// shedding says whether detail is given up for want of memory: looks into containers and
// samples of what they use, which most facts are in a storm. What ended, why, and how
// each attempt went is told as ever: left out, it would read as if it had not been. Safe
// for concurrent use.
type shedding struct {
	on      atomic.Bool
	dropped atomic.Int64
	since   time.Time // only its watcher touches it
}

// detail says whether answers get along without a fact.
func detail(body fact.Body) bool {
	switch body.(type) {
	case fact.Sampled, fact.Looked:
		return true
	}
	return false
}

// drops says whether a fact is given up.
func (s *shedding) drops(f fact.Fact) bool {
	if !s.on.Load() || !detail(f.Body) {
		return false
	}
	s.dropped.Add(1)
	return true
}

// look begins or ends it by how much memory is used, and tells of what was given up.
func (s *shedding) look(used uint64, now time.Time) (told fact.Lost, ok bool) {
	switch on := s.on.Load(); {
	case !on && used > shedFrom:
		s.since = now
		s.dropped.Store(0)
		s.on.Store(true)
	case on && used < shedUntil:
		s.on.Store(false)
		return fact.Lost{
			Source: fact.SourceDetail, From: s.since, Until: now, Count: s.dropped.Load(),
			Reason: fmt.Sprintf("the agent came near its memory limit of %d MiB, and left out looks into containers and samples", MemoryLimit>>20),
		}, true
	}
	return fact.Lost{}, false
}

// run looks until ctx ends.
func (s *shedding) run(ctx context.Context, emit func(fact.Fact)) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if told, ok := s.look(memoryUsed(), now.UTC()); ok {
				emit(fact.Fact{Body: told})
			}
		}
	}
}

// memoryUsed is what the Go runtime holds of the machine's memory, in bytes.
func memoryUsed() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
