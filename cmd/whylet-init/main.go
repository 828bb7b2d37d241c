// Command whylet-init is process 1 of the node's image: it gets the container ready for a
// node, starts what its arguments say, and is the parent of whatever loses its own.
//
//	whylet-init /bin/whylet up
//
// A program of its own, for whylet itself would hold its memory twice.
//
//	main.go     from the start of the node to its end
//	prepare.go  the container: its mounts and its cgroup
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: whylet-init PROGRAM [ARGUMENT…]")
		os.Exit(2)
	}
	if os.Getpid() == 1 {
		if err := prepare("/"); err != nil { // the node refuses what it cannot do without, with what mends it
			fmt.Fprintln(os.Stderr, "whylet-init:", err)
		}
	}
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "whylet-init:", err)
	}
	os.Exit(code)
}

// run starts the program, hands signals on to it, and gives its exit code as shells do.
func run(args []string) (int, error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH)
	_, err := unix.IoctlGetTermios(0, unix.TCGETS)
	child, err := os.StartProcess(args[0], args, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		// A terminal's own signals reach its foreground group; without this, twice.
		Sys: &syscall.SysProcAttr{Setpgid: true, Foreground: err == nil, Ctty: 0},
	})
	if err != nil {
		return 127, err
	}
	go func() {
		for s := range signals {
			_ = child.Signal(s)
		}
	}()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 1, fmt.Errorf("waiting for %s: %w", args[0], err)
		case pid == child.Pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case pid == child.Pid:
			return status.ExitStatus(), nil
		}
	}
}
