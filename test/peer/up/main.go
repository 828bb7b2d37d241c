// Command up starts the real stack, says how to reach it, and takes it away at
// an interrupt: a real kubelet to try a question on.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"whylet.dev/whylet/test/peer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "up:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	bin, err := peer.FindBinaries(".")
	if err != nil {
		return err
	}
	stack, err := peer.StartKubelet(ctx, bin)
	if err != nil {
		return err
	}
	fmt.Printf("Ready after %v. To talk to it:\n  nsenter --net=%s env KUBECONFIG=%s %s/kubectl get pods -A\nIts logs are in %s/logs. Interrupt to end it.\n",
		stack.ToReady, stack.Netns, stack.Kubeconfig, bin.Whylet, stack.Dir)
	<-ctx.Done()
	return stack.Stop()
}
