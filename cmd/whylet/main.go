// Command whylet is a Kubernetes node that remembers why.
//
// One binary has several parts. Called as whylet it is the command line; called
// by a name in [aliases] (kubectl-why, by way of a link) it is one command of
// it; and with the hidden argument "containerd" it is the container runtime,
// as which it starts itself.
//
// Each command is one file with one constructor, newXCommand(streams), listed in
// root.go. What a command prints on stdout is data; progress, hints and errors
// go to stderr. Exit codes are in exit.go.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"syscall"

	"k8s.io/klog/v2"

	"whylet.dev/whylet/cluster/runtime"
)

// aliases are the names under which the binary is one command of itself, and the
// arguments that this puts first.
var aliases = map[string][]string{"kubectl-why": {"why"}}

// The main thread is the main goroutine's alone. Goroutines that go to another network
// namespace give their thread up when they end, and the main thread cannot be given up:
// it would stay there, and the whole process with it for those who look from outside
// (/proc/PID/ns).
func init() { goruntime.LockOSThread() }

func main() {
	if len(os.Args) > 1 && os.Args[1] == runtime.Subcommand {
		os.Exit(runtime.Main(os.Args[2:], os.Stderr))
	}
	// What the borrowed packages log on stderr comes back as an error where it
	// matters; a node sends it to its log.
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the handler is gone: the second one ends at once what
	// does not stop by itself.
	context.AfterFunc(ctx, stop)
	args := append(aliases[filepath.Base(os.Args[0])], os.Args[1:]...)
	os.Exit(run(ctx, args, streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
