package main

import (
	"context"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	tasktypes "github.com/containerd/containerd/api/types/task"
	ptypes "github.com/containerd/containerd/v2/pkg/protobuf/types"
	"golang.org/x/sys/unix"
)

// thorough is a task service that kills, with a command that was executed in a
// container, what that started. By itself it kills the one process: the rest of
// `sh -c "curl …; check"` would live on, one more each time that an exec probe
// times out, and hold the pipe for whose end containerd waits.
type thorough struct{ taskapi.TTRPCTaskService }

// Kill sends a signal; SIGKILL for an executed command goes to its group as well.
func (t thorough) Kill(ctx context.Context, r *taskapi.KillRequest) (*ptypes.Empty, error) {
	if r.ExecID != "" && r.Signal == uint32(unix.SIGKILL) {
		t.killGroup(ctx, r.ID, r.ExecID)
	}
	return t.TTRPCTaskService.Kill(ctx, r)
}

// killGroup kills the process group that runc made for a command (nsexec.c:
// setsid). One that ended by itself may leave behind what it likes.
func (t thorough) killGroup(ctx context.Context, id, execID string) {
	command, err := t.State(ctx, &taskapi.StateRequest{ID: id, ExecID: execID})
	if err != nil || command.Status != tasktypes.Status_RUNNING {
		return
	}
	pid := int(command.Pid)
	if group, err := unix.Getpgid(pid); err == nil && group == pid && pid > 1 {
		_ = unix.Kill(-pid, unix.SIGKILL) // the task service kills the command itself, and says what went wrong
	}
}
