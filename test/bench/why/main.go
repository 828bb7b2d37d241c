// Command why measures how often kubectl why is right. It plays all scenarios of
// test/e2e/scenarios again and again on a node of its own, asks in every situation
// in which a person would, and prints the score, what was answered wrongly, and
// how long an answer takes.
//
//	make bench-why                                      one round, about half an hour
//	make bench-why ROUNDS=5
//	make bench-why WHY="-only throttled,hang -v"        some of them, with the answers
//	make bench-why WHY="-situations live"               in some of the situations
//
// The score of an answer is 1 if it is right, 0.5 if something is missing or too
// much in it, 0 if it says unknown, and -1 if it names a wrong cause.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"whylet.dev/whylet/test/e2e/scenarios"
)

// options are the flags.
type options struct {
	rounds, width  int
	only           string
	situations     string
	verbose        bool
	write          string
	bin, folder    string
	patience, tick time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 1, "how often everything is played")
	flag.IntVar(&o.width, "width", 8*runtime.NumCPU(), "how many scenarios run side by side")
	flag.StringVar(&o.only, "only", "", "only these scenarios, separated by commas")
	flag.StringVar(&o.situations, "situations", "", "only these situations, separated by commas")
	flag.BoolVar(&o.verbose, "v", false, "print every answer that is not right")
	flag.StringVar(&o.write, "write", "", "the page whose table is to be replaced, between its markers")
	flag.StringVar(&o.bin, "bin", "bin", "where the built programs are")
	flag.StringVar(&o.folder, "folder", "test/e2e/scenarios", "where the scenarios are")
	flag.DurationVar(&o.patience, "patience", 2*time.Minute, "how long trouble may take to come about and be understood")
	flag.DurationVar(&o.tick, "every", 3*time.Second, "how long between two questions")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "why:", err)
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) error {
	all, err := scenarios.Load(o.folder, fields(o.only)...)
	if err != nil {
		return err
	}
	situations := scenarios.Situations
	if o.situations != "" {
		situations = nil
		for _, name := range fields(o.situations) {
			situations = append(situations, scenarios.Situation(name))
		}
	}
	var results []scenarios.Result
	for round := range o.rounds {
		played, err := o.round(ctx, round, all, situations)
		results = append(results, played...)
		if err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r := newReport(results, o.rounds)
	fmt.Print(r.text())
	if o.write != "" {
		return r.writeInto(o.write)
	}
	return nil
}

// round plays every scenario once: those that share a node in an order that is
// never the same, so that each has other neighbours, then those with one of their
// own.
func (o *options) round(ctx context.Context, round int, all []scenarios.Scenario, situations []scenarios.Situation) ([]scenarios.Result, error) {
	var side, alone []scenarios.Scenario
	for _, s := range all {
		if s.Want.Node == nil {
			side = append(side, s)
		} else {
			alone = append(alone, s)
		}
	}
	rand.Shuffle(len(side), func(i, j int) { side[i], side[j] = side[j], side[i] })
	var results []scenarios.Result
	if len(side) > 0 {
		played, err := o.onNode(ctx, fmt.Sprintf("-%d", round), slices.Collect(slices.Chunk(side, o.width)), situations, scenarios.SharedFlags...)
		results = append(results, played...)
		if err != nil {
			return results, err
		}
	}
	for _, s := range alone {
		played, err := o.onNode(ctx, "", [][]scenarios.Scenario{{s}}, situations, s.Want.Node...)
		results = append(results, played...)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// onNode starts a node and plays one wave of scenarios after the other on it.
func (o *options) onNode(ctx context.Context, suffix string, waves [][]scenarios.Scenario, situations []scenarios.Situation, flags ...string) (results []scenarios.Result, err error) {
	n, err := scenarios.StartNode(ctx, o.bin, flags...)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, n.Purge()) }()
	suite := scenarios.Suite{Node: n, Suffix: suffix, Patience: o.patience, Every: o.tick}
	for i, wave := range waves {
		began := time.Now()
		played, err := suite.Play(ctx, wave, situations)
		for _, r := range played {
			o.tell(r)
		}
		results = append(results, played...)
		if err != nil {
			return results, err
		}
		fmt.Fprintf(os.Stderr, "wave %d of %d: %d answers in %v\n", i+1, len(waves), len(played), time.Since(began).Round(time.Second))
	}
	return results, nil
}

func (o *options) tell(r scenarios.Result) {
	if r.Grade == scenarios.Right {
		return
	}
	fmt.Fprintln(os.Stderr, r)
	if o.verbose {
		fmt.Fprintln(os.Stderr, r.Text)
	}
}

func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}
