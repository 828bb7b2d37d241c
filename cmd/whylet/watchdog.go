package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// watchdog tells systemd that the node makes progress (WatchdogSec= in systemd.service(5)).
// Without that systemd ends the process, which writes its goroutines into systemd's journal, and
// starts it again; containers run on meanwhile.
type watchdog struct {
	// every is how often systemd is to be told; 0: it does not want to know.
	every time.Duration
	log   *slog.Logger
	// began is closed with the first beat of the node.
	began chan struct{}
	once  sync.Once
}

// startPatience is how long a start may take until systemd ends it: it only counts after a
// start of this process under the same number (startAnew), which systemd does not see.
const startPatience = 15 * time.Minute

// newWatchdog makes the watchdog that systemd asked for in the environment.
func newWatchdog(log *slog.Logger) *watchdog {
	w := &watchdog{log: log, began: make(chan struct{})}
	within, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd's watchdog is not told of this node", "error", err)
	}
	// Three in each period: one that comes late on a busy machine ends nothing.
	w.every = within / 3
	return w
}

// beat says that the node makes progress.
func (w *watchdog) beat() {
	w.once.Do(func() { close(w.began) })
	w.tell()
}

func (w *watchdog) tell() {
	if _, err := daemon.SdNotify(false, daemon.SdNotifyWatchdog); err != nil {
		w.log.Warn("systemd's watchdog cannot be told that the node makes progress", "error", err)
	}
}

// whileStarting stands in for the node until its first beat.
func (w *watchdog) whileStarting(ctx context.Context) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	over := time.NewTimer(startPatience)
	defer over.Stop()
	for {
		w.tell()
		select {
		case <-tick.C:
		case <-w.began:
			return
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
