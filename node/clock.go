package node

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/object"
)

// clock stamps facts: wall time, time since boot, and the boot's id.
type clock struct {
	boot string
}

func newClock() (clock, error) {
	boot := object.BootID("/")
	if boot == "" {
		return clock{}, errors.New("the kernel does not say its boot id (/proc/sys/kernel/random/boot_id)")
	}
	return clock{boot: boot}, nil
}

// stamp fills in when a fact was seen. CLOCK_BOOTTIME goes on during suspend,
// and no one can set it.
func (c clock) stamp(f *fact.Fact) {
	f.Seen = time.Now().UTC()
	f.Boot = c.boot
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) == nil {
		f.Mono = time.Duration(ts.Nano())
	}
}
