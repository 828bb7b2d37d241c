package runtime

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/containerd/containerd/v2/cmd/containerd/command"
	// containerd finds its parts by registration.
	_ "github.com/containerd/containerd/v2/cmd/containerd/builtins"
)

// Subcommand is the hidden argument with which the binary becomes containerd.
const Subcommand = "containerd"

// childGCPercent makes containerd collect earlier than Go's default: its heap is
// small and idle most of the time, so memory is worth more than the cycles.
const childGCPercent = 40

// Main is containerd: it runs until SIGTERM and returns the exit code. args are
// what follows Subcommand on the command line. Errors go to stderr.
func Main(args []string, stderr io.Writer) int {
	debug.SetGCPercent(childGCPercent)
	if err := command.App().Run(context.Background(), append([]string{Subcommand}, args...)); err != nil {
		fmt.Fprintf(stderr, "containerd: %v\n", err)
		return 1
	}
	return 0
}
