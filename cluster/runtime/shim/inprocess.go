package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	runc "github.com/containerd/go-runc"
	"github.com/opencontainers/runc/libcontainer"
	"golang.org/x/sys/unix"
)

// inProcess runs three of runc's commands as the calls of which they consist,
// with runc's own library, and all others as before. `runc start`, `kill` and
// `delete` each read the container's state file and then do one thing to it (open a
// fifo, send a signal through a pidfd, remove the cgroup): starting a program of
// ten megabytes for that takes longer than the thing itself, and happens six
// times in the life of the smallest pod. `create` and `exec` fork into the
// container's namespaces, which a process with threads cannot.
//
// What remains of a command is what the task service can see of it: its exit
// status, and what it wrote.
type inProcess struct{ runc.ProcessMonitor }

// command is a call of runc that can be done here.
type command struct {
	name, root, id string
	signal         unix.Signal
	// all is an option of kill that only makes it forgive a container that is gone.
	all bool
}

// StartLocked is Start, for the task service ties runc's life to the thread that
// starts it, and here nothing is started.
func (m inProcess) StartLocked(cmd *exec.Cmd) (chan runc.Exit, error) {
	if c, ok := parse(cmd.Args); ok {
		return c.start(cmd), nil
	}
	return m.ProcessMonitor.StartLocked(cmd)
}

// Start begins the command.
func (m inProcess) Start(cmd *exec.Cmd) (chan runc.Exit, error) {
	if c, ok := parse(cmd.Args); ok {
		return c.start(cmd), nil
	}
	return m.ProcessMonitor.Start(cmd)
}

// Wait returns the command's exit status.
func (m inProcess) Wait(cmd *exec.Cmd, exits chan runc.Exit) (int, error) {
	if cmd.Process == nil {
		return (<-exits).Status, nil
	}
	return m.ProcessMonitor.Wait(cmd, exits)
}

// parse reads runc's arguments as go-runc writes them. false: not one of the
// commands, or something in it that is not known here.
func parse(args []string) (command, bool) {
	var c command
	for args = args[min(1, len(args)):]; len(args) >= 2 && args[0] != "" && args[0][0] == '-'; args = args[2:] {
		switch args[0] {
		case "--root":
			c.root = args[1]
		case "--log", "--log-format":
		default:
			return command{}, false
		}
	}
	if len(args) == 0 || !filepath.IsAbs(c.root) {
		return command{}, false
	}
	c.name, args = args[0], args[1:]
	switch {
	case c.name == "kill":
		if i := slices.Index(args, "--all"); i >= 0 {
			c.all, args = true, slices.Delete(slices.Clone(args), i, i+1)
		}
		if len(args) != 2 {
			return command{}, false
		}
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return command{}, false
		}
		c.signal = unix.Signal(n)
	case c.name != "start" && c.name != "delete", len(args) != 1:
		return command{}, false
	}
	c.id = args[0]
	return c, c.id != "" && c.id[0] != '-'
}

// start does it in the background, as a process would.
func (c command) start(cmd *exec.Cmd) chan runc.Exit {
	exits := make(chan runc.Exit, 1)
	go func() {
		exit := runc.Exit{Timestamp: time.Now()}
		if err := c.run(); err != nil {
			exit.Status = 1
			if cmd.Stderr != nil {
				fmt.Fprintln(cmd.Stderr, err)
			}
		}
		exits <- exit
	}()
	return exits
}

func (c command) run() error {
	container, err := libcontainer.Load(c.root, c.id)
	if err != nil {
		// A creation that was broken off leaves a directory without a state in it.
		if c.name == "delete" && errors.Is(err, libcontainer.ErrNotExist) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(c.root, c.id)))
		}
		return err
	}
	switch c.name {
	case "kill":
		err := container.Signal(c.signal)
		if c.all && errors.Is(err, libcontainer.ErrNotRunning) {
			return nil
		}
		return err
	case "start":
		return c.execute(container)
	default:
		return c.delete(container)
	}
}

// execute lets the waiting init process become the container's program.
func (c command) execute(container *libcontainer.Container) error {
	status, err := container.Status()
	if err != nil {
		return err
	}
	switch status {
	case libcontainer.Created:
	case libcontainer.Stopped:
		return errors.New("cannot start a container that has stopped")
	default:
		return fmt.Errorf("cannot start a container in the %s state", status)
	}
	if err := container.Exec(); err != nil {
		// A thread of the library waits in vain for the init process to open its
		// end of this fifo. In runc it would end with the program.
		if fifo, err := os.OpenFile(filepath.Join(c.root, c.id, "exec.fifo"), os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
			fifo.Close()
		}
		return err
	}
	return nil
}

const (
	// An init process that was never started is killed by its deletion, and
	// looked after for ten seconds, as runc does.
	goneEvery = 10 * time.Millisecond
	goneTries = 1000
)

// delete removes what the kernel and the disk hold of a container that is over.
func (c command) delete(container *libcontainer.Container) error {
	status, err := container.Status()
	if err != nil {
		return err
	}
	switch status {
	case libcontainer.Stopped:
		return destroy(container)
	case libcontainer.Created:
		_ = container.Signal(unix.SIGKILL)
		for range goneTries {
			time.Sleep(goneEvery)
			if container.Signal(unix.Signal(0)) != nil {
				return destroy(container)
			}
		}
		return errors.New("container init still running")
	default:
		return fmt.Errorf("cannot delete container %s that is not stopped: %s", c.id, status)
	}
}

// destroy removes a container, and the directory that its root file system was
// mounted on. By itself the task service would look for that among all mounts of the
// machine, of which a hundred pods have several hundred, and containerd would again
// for the bundle: neither looks for a directory that is gone. What does not work here
// is left to them.
func destroy(container *libcontainer.Container) error {
	if err := container.Destroy(); err != nil {
		return err
	}
	rootfs := container.Config().Rootfs
	if unix.Unmount(rootfs, unix.UMOUNT_NOFOLLOW) == nil {
		_ = os.Remove(rootfs)
	}
	return nil
}
