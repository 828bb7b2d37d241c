package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// busy keeps the machine at about a load: so many processes want a processor at any
// time, now a third fewer and now a third more, as on a machine that many share. They
// end with the function that it gives back, or with this program.
func busy(load int) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	most := load + load/3
	var all []*exec.Cmd
	started := make(chan error)
	ended := make(chan error)
	go func() {
		// Who is to end with its parent ends with the thread that started it, so this one
		// stays where it is.
		runtime.LockOSThread()
		for range most {
			cmd := exec.Command("sh", "-c", "while :; do :; done")
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if err := cmd.Start(); err != nil {
				started <- errors.Join(fmt.Errorf("keep the machine busy: %w", err), end(all))
				return
			}
			all = append(all, cmd)
		}
		close(started)
		sway(ctx, all, load)
		ended <- end(all)
	}()
	if err := <-started; err != nil {
		cancel()
		return nil, err
	}
	return func() error { cancel(); return <-ended }, nil
}

// sway lets another number of the processes run every few seconds.
func sway(ctx context.Context, all []*exec.Cmd, load int) {
	for ctx.Err() == nil {
		running := load - load/3 + rand.N(len(all)-load+load/3+1)
		for i, cmd := range all {
			signal := syscall.SIGCONT
			if i >= running {
				signal = syscall.SIGSTOP
			}
			_ = cmd.Process.Signal(signal) // one that somebody killed is missed by nobody
		}
		select {
		case <-time.After(2*time.Second + rand.N(6*time.Second)):
		case <-ctx.Done():
		}
	}
}

func end(all []*exec.Cmd) error {
	var errs []error
	for _, cmd := range all {
		errs = append(errs, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	}
	return errors.Join(errs...)
}
