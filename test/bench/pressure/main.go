// Command pressure measures what a node is worth while its memory runs out, on
// Whylet and on the real stack in one run, one after the other, and prints both
// with their ratios. On a node of the same small size pods eat memory together
// (image eater), beside neighbours that deserve no harm.
//
//	make bench-pressure                                       both sides, about six minutes
//	make bench-pressure PRESSURE="-rate 100 -rounds 5"        slower eaters, more often
//	make bench-pressure PRESSURE="-only whylet -v"            one side, to compare two builds of it
//	make bench-pressure PRESSURE="-markdown"                  as a table
//
// Each round has a calm part and one under pressure, both as long as -window. In
// both are measured:
//
//   - how long a list of all pods takes, asked of the API 20 times a second;
//   - how long kubectl get pods takes, from its start to its end;
//   - how much later than its period the neighbours' liveness probe came, as they
//     wrote it down themselves;
//
// and under pressure, which pods the node evicted, which processes the kernel
// killed, and which neighbours had to begin anew.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/test/bench/compare"
	"whylet.dev/whylet/test/peer"
)

// options are the flags.
type options struct {
	only, memory              string
	markdown, verbose         bool
	rounds, eaters, mib, rate int
	window                    time.Duration

	bin peer.Binaries
}

// neighbours is how many pods deserve no harm. transition is how long the nodes call
// their memory short after it was, so that a round need not wait for the one before.
const (
	neighbours = 6
	transition = "5s"
)

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "measure one side only: kubelet or whylet")
	flag.StringVar(&o.memory, "memory", "700Mi", "how large both nodes are")
	flag.BoolVar(&o.markdown, "markdown", false, "print the result as a Markdown table")
	flag.BoolVar(&o.verbose, "v", false, "say what became of each pod")
	flag.IntVar(&o.rounds, "rounds", 3, "how often it is done")
	flag.IntVar(&o.eaters, "eaters", 3, "how many pods eat memory together")
	flag.IntVar(&o.mib, "mib", 2000, "how many MiB each wants")
	flag.IntVar(&o.rate, "rate", 400, "how many MiB a second each takes")
	flag.DurationVar(&o.window, "window", 25*time.Second, "how long each part is watched")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pressure:", err)
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) error {
	size, err := resource.ParseQuantity(o.memory)
	if err != nil {
		return fmt.Errorf("-memory: %w", err)
	}
	if o.bin, err = peer.FindBinaries("."); err != nil {
		return err
	}
	smaller, err := peer.Smaller(size.Value())
	if err != nil {
		return fmt.Errorf("-memory: %w", err)
	}
	var real, ours compare.Results
	for _, side := range []struct {
		name   string
		start  func() (*peer.Stack, error)
		result *compare.Results
	}{
		{"kubelet", func() (*peer.Stack, error) {
			return peer.StartKubelet(ctx, o.bin, smaller, "evictionPressureTransitionPeriod: "+transition)
		}, &real},
		{"whylet", func() (*peer.Stack, error) {
			// A second request after a probe that timed out would look like a probe in time.
			return peer.StartWhylet(ctx, o.bin, "--node-memory", o.memory, "--eviction-hard", "memory.available<100Mi",
				"--eviction-pressure-transition-period", transition, "--no-probe-again")
		}, &ours},
	} {
		if o.only != "" && o.only != side.name {
			continue
		}
		if *side.result, err = o.measure(ctx, side.start); err != nil {
			return fmt.Errorf("%s: %w", side.name, err)
		}
	}
	if o.markdown {
		compare.Markdown(os.Stdout, real, ours)
		return nil
	}
	compare.Table(os.Stdout, real, ours)
	return nil
}

// measure starts a stack, does the rounds on it, and takes it away.
func (o *options) measure(ctx context.Context, start func() (*peer.Stack, error)) (compare.Results, error) {
	stack, err := start()
	if err != nil {
		return nil, err
	}
	b := &bench{Stack: stack, options: o}
	err = b.run(ctx)
	return b.results(), errors.Join(err, stack.Stop())
}
