package main

import (
	"context"
	"os/exec"
	"syscall"
	"testing"
	"time"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	tasktypes "github.com/containerd/containerd/api/types/task"
	ptypes "github.com/containerd/containerd/v2/pkg/protobuf/types"
	"golang.org/x/sys/unix"
)

// oneCommand is a task service with one executed command, which it leaves alone.
type oneCommand struct {
	taskapi.TTRPCTaskService
	pid    int
	status tasktypes.Status
}

func (o oneCommand) State(context.Context, *taskapi.StateRequest) (*taskapi.StateResponse, error) {
	return &taskapi.StateResponse{Pid: uint32(o.pid), Status: o.status}, nil
}

func (oneCommand) Kill(context.Context, *taskapi.KillRequest) (*ptypes.Empty, error) {
	return &ptypes.Empty{}, nil
}

// A group is killed only where it is a running command's own, and with SIGKILL.
func TestCommandsAreKilledWhole(t *testing.T) {
	for _, tt := range []struct {
		what     string
		ownGroup bool
		exec     string
		signal   unix.Signal
		status   tasktypes.Status
		dies     bool
	}{
		{what: "killed", ownGroup: true, exec: "e", signal: unix.SIGKILL, status: tasktypes.Status_RUNNING, dies: true},
		{what: "told to end", ownGroup: true, exec: "e", signal: unix.SIGTERM, status: tasktypes.Status_RUNNING},
		{what: "ended", ownGroup: true, exec: "e", signal: unix.SIGKILL, status: tasktypes.Status_STOPPED},
		{what: "the container itself", ownGroup: true, signal: unix.SIGKILL, status: tasktypes.Status_RUNNING},
		{what: "of the shim's group", exec: "e", signal: unix.SIGKILL, status: tasktypes.Status_RUNNING},
	} {
		t.Run(tt.what, func(t *testing.T) {
			cmd := exec.Command("sleep", "1000")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: tt.ownGroup}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			gone := make(chan struct{})
			go func() {
				_ = cmd.Wait()
				close(gone)
			}()
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				<-gone
			})
			service := thorough{oneCommand{pid: cmd.Process.Pid, status: tt.status}}
			if _, err := service.Kill(t.Context(), &taskapi.KillRequest{ID: "c", ExecID: tt.exec, Signal: uint32(tt.signal)}); err != nil {
				t.Fatal(err)
			}
			if !tt.dies {
				if err := cmd.Process.Signal(unix.Signal(0)); err != nil {
					t.Error(err)
				}
				return
			}
			select {
			case <-gone:
			case <-time.After(time.Minute):
				t.Error("it lives on")
			}
		})
	}
}
