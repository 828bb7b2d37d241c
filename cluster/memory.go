package cluster

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

// The collector's targets, in per cent of the live heap. A start makes far more
// garbage than it keeps, and is quicker when it is collected rarely; afterwards
// the heap hardly grows, and a low target keeps the process small for a cost that
// idle CPU use does not show.
const (
	startingGCPercent = 400
	steadyGCPercent   = 50
)

// settleAfter is how long after readiness the caches are full and the garbage of
// the start can be given back to the system.
const settleAfter = 10 * time.Second

// relaxCollector lets the heap grow while the control plane starts. A GOGC set by
// the operator is left alone, here and in settle.
func relaxCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(startingGCPercent)
	}
}

// settle brings the collector to its steady state and returns memory to the
// system, once. It then waits for ctx.
func settle(ctx context.Context) error {
	select {
	case <-time.After(settleAfter):
	case <-ctx.Done():
		return nil
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(steadyGCPercent)
	}
	debug.FreeOSMemory()
	<-ctx.Done()
	return nil
}
