package observe

import (
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
)

// clock stamps facts: wall time, time since boot, and the boot's id.
type clock struct{ boot string }

func newClock() (clock, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if id := strings.TrimSpace(string(b)); err == nil && id != "" {
		return clock{boot: id}, nil
	}
	return clock{}, errors.Join(errors.New("the kernel does not say its boot id (/proc/sys/kernel/random/boot_id)"), err)
}

// stamp fills in when a fact was seen. CLOCK_BOOTTIME goes on during suspend, and no
// one can set it.
func (c clock) stamp(f *fact.Fact) {
	f.Seen, f.Boot = time.Now().UTC(), c.boot
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) == nil {
		f.Mono = time.Duration(ts.Nano())
	}
}
