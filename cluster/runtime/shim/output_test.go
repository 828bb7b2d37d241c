package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	tasktypes "github.com/containerd/containerd/api/types/task"
	"golang.org/x/sys/unix"
)

// stopped is a service whose process has ended, with its output in a pipe.
type stopped struct {
	taskapi.TTRPCTaskService
	stdout string
}

func (s stopped) State(context.Context, *taskapi.StateRequest) (*taskapi.StateResponse, error) {
	return &taskapi.StateResponse{Status: tasktypes.Status_STOPPED, Stdout: s.stdout}, nil
}

// pipe makes a named pipe and opens both of its ends.
func pipe(t *testing.T) (path string, r, w *os.File) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "stdout")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	w, err = os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return path, r, w
}

// The end is told only when the last byte has been read, also where it is still to
// be written.
func TestEndIsToldAfterTheOutput(t *testing.T) {
	path, r, w := pipe(t)
	read := make(chan string, 1)
	told := make(chan struct{})
	go func() {
		defer close(told)
		service := patient{stopped{stdout: path}, 5 * time.Minute}
		if _, err := service.State(t.Context(), &taskapi.StateRequest{}); err != nil {
			t.Error(err)
		}
		select {
		case <-read:
		default:
			t.Error("the end was told before the output was read")
		}
	}()
	if _, err := io.WriteString(w, "early "); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "late"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// What is read counts from before the pipe is empty.
	output := make([]byte, 6)
	if _, err := io.ReadFull(r, output); err != nil {
		t.Fatal(err)
	}
	read <- string(output)
	rest, err := io.ReadAll(r)
	if err != nil || string(output)+string(rest) != "early late" {
		t.Errorf("read %q and %q: %v", output, rest, err)
	}
	<-told
}

func TestUnreadOutputDoesNotHoldAnEndForEver(t *testing.T) {
	path, _, w := pipe(t)
	if _, err := io.WriteString(w, "nobody reads this"); err != nil {
		t.Fatal(err)
	}
	for name, stdout := range map[string]string{"unread": path, "gone": filepath.Join(t.TempDir(), "gone"), "none": ""} {
		service := patient{stopped{stdout: stdout}, time.Millisecond}
		if _, err := service.State(t.Context(), &taskapi.StateRequest{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
