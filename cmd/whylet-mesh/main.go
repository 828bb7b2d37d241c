// Command whylet-mesh is `whylet mesh` alone: the program in the image of the
// mesh's containers, small enough to run beside every application. It is built
// without cgo, so that the image needs nothing else.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/mesh/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "whylet", Short: "The mesh of Whylet", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(command.New(command.Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
