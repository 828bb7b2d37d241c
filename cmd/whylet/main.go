// Command whylet is a Kubernetes node that remembers why.
//
// One binary has three parts. It is the command line; with the hidden argument
// "containerd" it is the container runtime, as which it starts itself; and as
// whylet kubectl, or through a link of that name, it is kubectl.
//
// Each command is one file with one constructor, newXCommand(streams), listed in
// root.go. What a command prints on stdout is data; progress, hints and errors
// go to stderr. Exit codes are in package exit.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	goruntime "runtime"
	"syscall"

	"k8s.io/klog/v2"

	"whylet.dev/whylet/cluster/runtime"
)

// The main thread is the main goroutine's alone. Goroutines that go to another network
// namespace give their thread up when they end, and the main thread cannot be given up:
// it would stay there, and the whole process with it for those who look from outside
// (/proc/PID/ns).
func init() { goruntime.LockOSThread() }

func main() {
	if len(os.Args) > 1 && os.Args[1] == runtime.Subcommand {
		os.Exit(runtime.Main(os.Args[2:], os.Stderr))
	}
	if args, ok := kubectlArgs(os.Args); ok {
		if len(os.Args) > 1 && os.Args[1] == "kubectl" {
			preferOwnCluster()
		}
		kubectl(args)
	}
	// What the borrowed packages log on stderr comes back as an error where it
	// matters; a node sends it to its log.
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the handler is gone: the second one ends at once what
	// does not stop by itself.
	context.AfterFunc(ctx, stop)
	os.Exit(int(run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})))
}
