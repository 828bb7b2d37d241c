package runtime

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
)

const (
	// firstDelay and maxDelay bound the pause before containerd is started again;
	// it doubles with each failure and starts over after a run of steadyRun.
	firstDelay = 100 * time.Millisecond
	maxDelay   = 30 * time.Second
	steadyRun  = time.Minute

	// A containerd that leaves three questions in a row without an answer, each
	// for ten seconds, hangs, and is killed: the node can do nothing without it.
	checkEvery   = 10 * time.Second
	checkTimeout = 10 * time.Second
	checkMisses  = 3
)

// supervise starts containerd again whenever it ends, until Stop.
func (r *Runtime) supervise(proc *process) {
	defer close(r.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-r.stop
		cancel()
	}()
	delay := firstDelay
	for {
		began := time.Now()
		err := r.watch(ctx, proc)
		if ctx.Err() != nil {
			return
		}
		proc.close()
		if time.Since(began) >= steadyRun {
			delay = firstDelay
		}
		r.event(Event{Kind: Exited, PID: proc.pid, Err: err, Delay: delay})
		for proc = nil; proc == nil; {
			if !sleep(ctx, delay) {
				return
			}
			delay = min(2*delay, maxDelay)
			proc, err = r.spawnReady(ctx)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				r.event(Event{Kind: StartFailed, Err: err, Delay: delay})
			}
		}
	}
}

// watch returns when proc has ended, and how; it ends it when it hangs.
func (r *Runtime) watch(ctx context.Context, proc *process) error {
	conn, err := dial(r.Endpoint())
	if err != nil {
		return err
	}
	defer conn.Close()
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for misses := 0; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-proc.exited:
			return proc.err
		case <-tick.C:
		}
		limitLog(r.config.paths().log)
		limitLog(filepath.Join(r.config.paths().run, "shims.log"))
		if err := checkOnce(ctx, conn); err == nil {
			misses = 0
			continue
		} else if misses++; misses == checkMisses {
			if kill := proc.signal(unix.SIGKILL); kill != nil {
				return fmt.Errorf("it hangs (%w) and cannot be killed: %w", err, kill)
			}
			select {
			case <-proc.exited:
			case <-ctx.Done(): // it waits for a disk that hangs
				return ctx.Err()
			}
			return fmt.Errorf("killed, because it did not answer for %s: %w", checkMisses*checkTimeout, err)
		}
	}
}

func checkOnce(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return answers(ctx, conn)
}

// sleep waits for d; false: ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
