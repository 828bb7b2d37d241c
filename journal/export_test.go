package journal

import "time"

// What the tests of folding and crashes need of the others.
var (
	Crash      = crash
	Seal       = (*Journal).commitAndSeal
	Keep       = (*Journal).keep
	SmallDisk  = smallDisk
	Fill       = fill
	Must       = must
	Collect    = collect
	IDs        = ids
	Checkpoint = checkpoint
	Choose     = choose
	TestDay    = Options{}.inTest().Clock
)

// TestClock is a clock that a test sets.
type TestClock struct{ testClock }

func (c *TestClock) Now() time.Time          { return c.now() }
func (c *TestClock) Advance(d time.Duration) { c.advance(d) }
func (c *TestClock) Set(d time.Duration)     { c.since.Store(int64(d)) }
