// Command stacks measures Whylet and the real stack in one run, one after the
// other so that neither disturbs the other, and prints both with their ratios.
//
//	make bench-stacks                                    everything, about twelve minutes
//	go run ./test/bench/stacks -parts start,idle         some of it
//	go run ./test/bench/stacks -only whylet              one side, to compare two builds of it
//	go run ./test/bench/stacks -markdown >table.md       as docs/performance.md has it
//
// What a part measures, and how, stands at its function. Times that begin or end
// inside of a container are file times on a volume of the machine: whoever
// writes the file, both ends are of one clock, to some milliseconds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"whylet.dev/whylet/test/bench/compare"
	"whylet.dev/whylet/test/peer"
)

// part is one thing that is measured on a running stack.
type part struct {
	name string
	run  func(context.Context, *bench) error
}

var parts = []part{
	{"idle", idle},
	{"latency", latency},
	{"crash", crash},
	{"liveness", liveness},
	{"readiness", readiness},
	{"density", density},
	{"probes", probes},
}

func main() {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	chosen := flag.String("parts", "start,"+strings.Join(names, ","), "what to measure, separated by commas")
	only := flag.String("only", "", "measure one side only: kubelet or whylet")
	markdown := flag.Bool("markdown", false, "print the result as a Markdown table")
	verbose := flag.Bool("v", false, "print each round's time as well, in ms")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, strings.Split(*chosen, ","), *only, *markdown, *verbose)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stacks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, chosen []string, only string, markdown, verbose bool) error {
	bin, err := peer.FindBinaries(".")
	if err != nil {
		return err
	}
	var real, ours compare.Results
	for _, side := range []struct {
		name   string
		start  func(context.Context) (*peer.Stack, error)
		result *compare.Results
	}{
		{"kubelet", func(ctx context.Context) (*peer.Stack, error) { return peer.StartKubelet(ctx, bin) }, &real},
		{"whylet", func(ctx context.Context) (*peer.Stack, error) { return peer.StartWhylet(ctx, bin) }, &ours},
	} {
		if only != "" && only != side.name {
			continue
		}
		if *side.result, err = measure(ctx, side.start, chosen, verbose); err != nil {
			return err
		}
	}
	show(markdown, real, ours)
	return nil
}

// starts is how often a stack is started for its median start; the last start is
// the one that the other parts are measured on.
const starts = 3

// measure starts a stack, runs the parts on it, and takes it away.
func measure(ctx context.Context, start func(context.Context) (*peer.Stack, error), chosen []string, verbose bool) (compare.Results, error) {
	b := &bench{verbose: verbose}
	times := 1
	if slices.Contains(chosen, "start") {
		times = starts
	}
	var took []time.Duration
	for i := range times {
		stack, err := start(ctx)
		if err != nil {
			return nil, err
		}
		took = append(took, stack.ToReady)
		if i < times-1 {
			if err := stack.Stop(); err != nil {
				return nil, err
			}
			continue
		}
		b.Stack = stack
	}
	err := b.runParts(ctx, chosen, took)
	return b.results, errors.Join(err, b.Stop())
}

func (b *bench) runParts(ctx context.Context, chosen []string, starts []time.Duration) error {
	if err := b.Namespace(ctx, namespace); err != nil {
		return err
	}
	if slices.Contains(chosen, "start") {
		b.results.Add("start to node Ready, median", "ms", compare.Milliseconds(compare.Median(starts)))
	}
	for _, p := range parts {
		if !slices.Contains(chosen, p.name) {
			continue
		}
		began := time.Now()
		if err := p.run(ctx, b); err != nil {
			return fmt.Errorf("%s on %s: %w", p.name, b.Kind, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %s measured in %v\n", b.Kind, p.name, time.Since(began).Round(time.Second))
	}
	return nil
}
