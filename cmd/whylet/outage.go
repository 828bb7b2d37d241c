package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/cluster"
	"whylet.dev/whylet/node"
)

const (
	// roomAgain is how much must be free, in bytes, for a database that a full disk
	// ended to be started again: the next 64 MiB of its log, and as much for the rest.
	roomAgain = 128 << 20
	// roomPoll is how often a full disk is looked at.
	roomPoll = time.Second
)

// watchControl returns when the control plane has ended. When it did for want of
// room on the disk, the node goes on without it until there is some again; then
// the error is a *node.ControlPlaneEnded, and the process can be started anew.
func (s *stack) watchControl(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.cluster.Wait() }()
	select {
	case err := <-ended:
		return fmt.Errorf("control plane: %w", s.outlast(ctx, err))
	case <-ctx.Done():
		return nil
	}
}

// outlast waits for room on the disk, if the want of it is what ended the control
// plane. Other errors it hands back.
func (s *stack) outlast(ctx context.Context, err error) error {
	var lost *cluster.DatabaseError
	if !errors.As(err, &lost) || !lost.NoSpace() {
		return err
	}
	since := time.Now()
	s.log.Error("the control plane ended for want of disk space; containers run on, and it is started again when there is room", "error", err)
	if err := awaitRoom(ctx, s.dataDir, lost, s.report.step); err != nil {
		return err
	}
	s.log.Info("there is room on the disk again", "after", time.Since(since).Round(time.Second))
	return &node.ControlPlaneEnded{Since: since, Err: fmt.Errorf("the disk of %s was full: %w", s.dataDir, lost)}
}

// awaitRoom returns when the disk of dataDir has room for a database again.
func awaitRoom(ctx context.Context, dataDir string, lost *cluster.DatabaseError, step func(string)) error {
	tick := time.NewTicker(roomPoll)
	defer tick.Stop()
	for {
		free, err := freeDisk(dataDir)
		if err != nil {
			return err
		}
		if free >= roomAgain {
			return nil
		}
		step(fmt.Sprintf("waiting for room on the disk of %s: %s free, %s needed; the control plane ended (%v), containers run on, and all goes on by itself once there is room",
			dataDir, size(free), size(roomAgain), lost))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// startAnew replaces this process by one that starts as this one did, under the
// same process id: a control plane can run once in a process. Containers and
// containerd do not notice. A detached node that was not Ready yet is still
// listened to (reporting) and goes on with its report.
func startAnew(reporting bool) error {
	args := slices.Clone(os.Args)
	if i := slices.Index(args, "--"+detachedFlag); i >= 0 {
		if !reporting {
			args = slices.Delete(args, i, i+1)
		} else if _, err := unix.FcntlInt(reportFD, unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("keeping the report of the start: %w", err)
		}
	}
	// By this link it is the same program also when the file was replaced meanwhile.
	if err := unix.Exec("/proc/self/exe", args, os.Environ()); err != nil {
		return fmt.Errorf("starting whylet anew: %w", err)
	}
	return nil
}
