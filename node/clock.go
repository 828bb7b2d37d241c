package node

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
)

// clock stamps facts: wall time, time since boot, and the boot's id.
type clock struct {
	boot string
}

func newClock() (clock, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return clock{}, fmt.Errorf("read the kernel's boot id: %w", err)
	}
	return clock{boot: strings.TrimSpace(string(data))}, nil
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
