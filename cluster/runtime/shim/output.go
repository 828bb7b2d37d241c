package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	tasktypes "github.com/containerd/containerd/api/types/task"
	"golang.org/x/sys/unix"
)

// outputWait bounds how long an end is held back for output that nobody reads.
const outputWait = time.Second

// patient is a task service that tells of an end when what the process wrote has
// been read. containerd asks for the state before it deletes a process, and then
// gives up opening what it has not opened yet (client/task.go, Delete): of a command
// that ends within milliseconds, all the output is lost where containerd has to wait
// for the CPU that long.
type patient struct {
	taskapi.TTRPCTaskService
	wait time.Duration
}

func (p patient) State(ctx context.Context, r *taskapi.StateRequest) (*taskapi.StateResponse, error) {
	answer, err := p.TTRPCTaskService.State(ctx, r)
	if err == nil && answer.Status == tasktypes.Status_STOPPED {
		ctx, cancel := context.WithTimeout(ctx, p.wait)
		defer cancel()
		for _, path := range []string{answer.Stdout, answer.Stderr} {
			awaitRead(ctx, path)
		}
	}
	return answer, err
}

// awaitRead waits until a named pipe has no writer and is empty.
func awaitRead(ctx context.Context, path string) {
	if info, err := os.Stat(path); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		return
	}
	fifo, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fifo)
	var aside [2]int
	if err := unix.Pipe2(aside[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return
	}
	defer unix.Close(aside[0])
	defer unix.Close(aside[1])
	for pause := time.Millisecond; pending(fifo, aside); pause = min(2*pause, 20*time.Millisecond) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// pending says whether there is something to be read, or may still be. tee looks at
// a pipe without taking anything from it: it gives 0 only at the end.
func pending(fifo int, aside [2]int) bool {
	n, err := unix.Tee(fifo, aside[1], 1, unix.SPLICE_F_NONBLOCK)
	if n > 0 {
		_, err = unix.Read(aside[0], make([]byte, n))
		return err == nil
	}
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR)
}
