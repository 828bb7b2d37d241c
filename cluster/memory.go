package cluster

import (
	"context"
	"runtime/debug"
	"time"
)

// settleAfter is how long after readiness the caches are full and the garbage of
// the start can be given back to the system.
const settleAfter = 10 * time.Second

// settle returns memory to the system and brings the timers to their steady state, once,
// and then waits for ctx. How often the collector runs is the program's choice.
func settle(ctx context.Context) error {
	select {
	case <-time.After(settleAfter):
	case <-ctx.Done():
		return nil
	}
	debug.FreeOSMemory()
	slacken(calmSlack)
	<-ctx.Done()
	return nil
}
