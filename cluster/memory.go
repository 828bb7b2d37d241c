package cluster

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

// steadyGCPercent is the collector's target once the control plane runs, in per
// cent of the live heap. The heap hardly grows then, and the lower target keeps
// the process some 50 MiB smaller for a cost that does not show in CPU use at idle.
// A start is left to the default: more headroom makes it a little quicker, but
// what outlives the start then lies scattered over a heap three times as large,
// and the holes between cannot be given back.
const steadyGCPercent = 50

// settleAfter is how long after readiness the caches are full and the garbage of
// the start can be given back to the system.
const settleAfter = 10 * time.Second

// settle brings the collector and the timers to their steady state and returns memory
// to the system, once, and then waits for ctx. A GOGC set by the operator is left alone.
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
	slacken(calmSlack)
	<-ctx.Done()
	return nil
}
