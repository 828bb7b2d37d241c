// Command why measures how often kubectl why is right. It plays all scenarios of
// test/e2e/scenarios again and again on a node of its own, and asks in every situation
// in which a person would: every few seconds from the first symptom on, not until the
// answer is right. It grades each of these answers and prints the score, what was
// answered wrongly and when, and how long an answer takes.
//
//	make bench-why                                      one round, an hour or more
//	make bench-why ROUNDS=5
//	make bench-why WHY="-load 15"                       beside so many busy processes
//	make bench-why WHY="-only throttled,hang -v"        some of them, with the answers
//	make bench-why WHY="-situations live"               in some of the situations
//	make bench-why STACK=kubelet                        beside a real kubelet
//	make bench-why STACK=kubelet WHY="-kubelet 'logging: {verbosity: 2}'"   of which the log says more
//	make bench-why STACK=kubelet WHY="-agent none -situations live"   with nothing but the API to go by
//	make bench-why STACK=kubelet WHY="-faults 15s -within 10m"
//	                                                    where it, the runtime or the agent is killed all the while, for so long
//
// With -keep the memory of the node, or of the agent beside a kubelet, is left, and -again asks
// it the same questions about pods as at the same moments, after a rule has changed: in
// seconds, for hours. What an answer takes from the API or from other nodes is not in it.
//
// With -record each scenario's namespace is recorded when its live answers were sampled, with its
// label and its grades, for test/corpus to ask again.
//
// With -results every answer is kept in a file, one line of JSON for each question. A
// run that was stopped goes on there: what the file has is not played again, unless
// -only names it, and then the new answers take the place of the old ones. The table is
// of all that the file has; -rounds 0 plays nothing and prints it.
//
// The score of an answer is 1 if it is right, 0.5 if something is missing or too
// much in it, 0 if it says unknown, and -1 if it names a wrong cause.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/test/peer"
	"whylet.dev/whylet/why/answer"
)

// options are the flags.
type options struct {
	rounds, width  int
	only           string
	situations     string
	verbose        bool
	results, write string
	block          string
	bin, folder    string
	patience, tick time.Duration
	window         time.Duration
	load           int
	faults, within time.Duration
	until          time.Time // when nothing new is begun
	stack, agent   string
	kubelet        string
	keepIn, again  string
	recordIn       string
	journal        string // where the memory of the node that is asked is kept

	elsewhere map[string][]string // what cannot be played there, by why

	kept []record // what was answered so far
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 1, "how often everything is played")
	flag.IntVar(&o.width, "width", 4*runtime.NumCPU(), "how many scenarios run side by side")
	flag.IntVar(&o.load, "load", 0, "how many processes that want a processor run beside them")
	flag.DurationVar(&o.window, "for", 30*time.Second, "for how long answers are sampled after the first symptom")
	flag.StringVar(&o.only, "only", "", "only these scenarios, separated by commas")
	flag.StringVar(&o.situations, "situations", "", "only these situations, separated by commas")
	flag.BoolVar(&o.verbose, "v", false, "print every answer that is not right")
	flag.StringVar(&o.results, "results", "", "the file that keeps the answers, so that a run can go on")
	flag.StringVar(&o.write, "write", "", "the page whose table is to be replaced, between its markers")
	flag.StringVar(&o.block, "block", "bench-whylet", "the name in those markers")
	flag.StringVar(&o.stack, "stack", "whylet", "what is asked: whylet, or kubelet for the real one with the agent beside it")
	flag.StringVar(&o.agent, "agent", "", "more flags for the agent beside kubelet; none: there is no agent, and the API alone is asked")
	flag.StringVar(&o.kubelet, "kubelet", "", "a line of kubelet's configuration beside its own, such as logging: {verbosity: 2}")
	flag.DurationVar(&o.faults, "faults", 0, "beside kubelet: kill it, the runtime or the agent at random, once in so long; 0: never")
	flag.DurationVar(&o.within, "within", 0, "play scenarios again and again for so long, and begin none after that; 0: as often as -rounds says")
	flag.StringVar(&o.keepIn, "keep", "", "the folder in which the memory that answered is kept for -again")
	flag.StringVar(&o.recordIn, "record", "", "the folder in which each scenario is recorded at the end of its live answers, for test/corpus")
	flag.StringVar(&o.again, "again", "", "play nothing: ask this file's questions again, of the memories that -keep left")
	flag.StringVar(&o.bin, "bin", "bin", "where the built programs are")
	flag.StringVar(&o.folder, "folder", "test/e2e/scenarios/own", "where the scenarios are")
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
	var err error
	if o.bin, err = filepath.Abs(o.bin); err != nil { // the runtime of a peer has a working directory of its own
		return err
	}
	all, err := scenarios.Load(o.folder, fields(o.only)...)
	if err != nil {
		return err
	}
	if o.again != "" {
		return o.askAgain(all)
	}
	if o.faults > 0 {
		all = underFaults(all)
	}
	situations := scenarios.Situations
	switch o.stack {
	case "whylet":
		situations = (&scenarios.Node{}).Situations()
	case "kubelet":
		all, o.elsewhere = playable(all)
	default:
		return fmt.Errorf("-stack is whylet or kubelet, not %q", o.stack)
	}
	if o.situations != "" {
		situations = nil
		for _, name := range fields(o.situations) {
			situations = append(situations, scenarios.Situation(name))
		}
	}
	if o.results != "" {
		if o.kept, err = readRecords(o.results); err != nil {
			return err
		}
	}
	if o.load > 0 && o.rounds > 0 {
		stop, err := busy(o.load)
		if err != nil {
			return err
		}
		defer func() { _ = stop() }() // they end with this program at the latest
	}
	if o.until = time.Now().Add(o.within); o.within > 0 {
		o.rounds = math.MaxInt
	}
	for round := 0; round < o.rounds && !o.over(); round++ {
		left := slices.DeleteFunc(slices.Clone(all), func(s scenarios.Scenario) bool {
			return o.only == "" && played(o.kept, round, o.load, &s, situations)
		})
		if done := len(all) - len(left); done > 0 {
			fmt.Fprintf(os.Stderr, "%d of %d scenarios of round %d are in %s already; without that file all are played\n", done, len(all), round+1, o.results)
		}
		if err := o.round(ctx, round, left, situations); err != nil {
			return err
		}
	}
	r := newReport(o.kept)
	r.elsewhere = o.elsewhere
	fmt.Print(r.markdown())
	if o.write != "" {
		err = r.writeInto(o.write, o.block)
	}
	if o.faults > 0 && r.overstated > 0 {
		err = cmp.Or(err, fmt.Errorf("%d wrong answers were called recorded", r.overstated))
	}
	return cmp.Or(err, ctx.Err())
}

// underFaults are the scenarios while parts of the stack are killed: that the runtime is away is
// true then, though not what is asked for. A kubelet that is killed while it pulls wants to pull
// that image for all other pods, too (pkg/kubelet/images/pullmanager), so that one is left out.
func underFaults(all []scenarios.Scenario) []scenarios.Scenario {
	all = slices.DeleteFunc(all, func(s scenarios.Scenario) bool { return s.Name == "image-always-present" })
	for i := range all {
		all[i].Want.Short = append(all[i].Want.Short, answer.RuntimeFailed)
	}
	return all
}

// over says whether nothing new is to be begun.
func (o *options) over() bool { return o.within > 0 && time.Now().After(o.until) }

// round plays every scenario once: those that share a node in an order that is
// never the same, so that each has other neighbours, then those with one of their
// own.
func (o *options) round(ctx context.Context, round int, all []scenarios.Scenario, situations []scenarios.Situation) error {
	var side, alone []scenarios.Scenario
	for _, s := range all {
		if s.Want.Node == nil {
			side = append(side, s)
		} else {
			alone = append(alone, s)
		}
	}
	rand.Shuffle(len(side), func(i, j int) { side[i], side[j] = side[j], side[i] })
	if len(side) > 0 {
		waves := slices.Collect(slices.Chunk(side, o.width))
		if err := o.onNode(ctx, round, waves, situations, scenarios.SharedFlags...); err != nil {
			return err
		}
	}
	for _, s := range alone {
		if o.over() {
			break
		}
		if err := o.onNode(ctx, round, [][]scenarios.Scenario{{s}}, situations, s.Want.Node...); err != nil {
			return err
		}
	}
	return nil
}

// start starts what is to be asked.
func (o *options) start(ctx context.Context, flags []string) (scenarios.Cluster, error) {
	if o.stack == "kubelet" {
		bin, err := peer.FindBinaries(filepath.Dir(o.bin))
		if err != nil {
			return nil, err
		}
		var settings []string
		if o.kubelet != "" {
			settings = []string{o.kubelet}
		}
		return scenarios.StartKubelet(ctx, bin, settings, strings.Fields(o.agent)...)
	}
	return scenarios.StartNode(ctx, o.bin, flags...)
}

// playable are the scenarios that can be played beside a real kubelet, and why the
// others cannot.
func playable(all []scenarios.Scenario) (kept []scenarios.Scenario, elsewhere map[string][]string) {
	elsewhere = map[string][]string{}
	for _, s := range all {
		if reason := s.Elsewhere(); reason != "" {
			elsewhere[reason] = append(elsewhere[reason], s.Name)
		} else {
			kept = append(kept, s)
		}
	}
	return kept, elsewhere
}

// onNode starts a node and plays one wave of scenarios after the other on it.
func (o *options) onNode(ctx context.Context, round int, waves [][]scenarios.Scenario, situations []scenarios.Situation, flags ...string) (err error) {
	n, err := o.start(ctx, flags)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, n.Purge()) }()
	ctx, stop := context.WithCancel(ctx) // the suite's watches end with their node
	defer stop()
	if o.keepIn != "" {
		o.journal = filepath.Join(o.keepIn, time.Now().UTC().Format("150405"))
		defer func() { err = cmp.Or(err, n.Keep(o.journal)) }() // before the end of the node
	}
	archives, err := scenarios.Servers(o.bin, slices.Concat(waves...))
	if err == nil && len(archives) > 0 {
		err = n.Load(ctx, archives...)
	}
	if err != nil {
		return err
	}
	if k, ok := n.(*scenarios.Kubelet); ok && o.faults > 0 {
		ended := beginFaults(ctx, k, o.faults)
		defer func() { err = cmp.Or(err, ended()) }()
	}
	suite := scenarios.Suite{Node: n, Suffix: fmt.Sprintf("-%d", round), Patience: o.patience, Every: o.tick, Window: o.window}
	if o.recordIn != "" {
		suite.Record = func(ctx context.Context, results []scenarios.Result) { o.recordCase(ctx, n, results) }
	}
	if slices.Equal(situations, []scenarios.Situation{scenarios.Live}) {
		all := slices.Concat(waves...)
		done := 0
		return suite.Flow(ctx, all, o.width, func(played []scenarios.Result) error {
			done++
			fmt.Fprintf(os.Stderr, "%d of %d: %s\n", done, len(all), played[0].Scenario.Name)
			return o.keep(round, played)
		})
	}
	for i, wave := range waves {
		if i > 0 && o.over() {
			break
		}
		began := time.Now()
		played, err := suite.Play(ctx, wave, situations)
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err // what was asked of a node that is on its way down counts for nothing
		}
		if err := o.keep(round, played); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "wave %d of %d: %d answers in %v\n", i+1, len(waves), len(played), time.Since(began).Round(time.Second))
	}
	return nil
}

// beginFaults has parts of the stack killed at random. What it gives ends that, and says how
// often it was and whether the agent has grown.
func beginFaults(ctx context.Context, k *scenarios.Kubelet, every time.Duration) (ended func() error) {
	ctx, stop := context.WithCancel(ctx)
	memory, files := k.Agent()
	result := make(chan error, 1)
	go func() {
		killed, err := k.Faults(ctx, every)
		fmt.Fprintf(os.Stderr, "killed: %v\n", killed)
		result <- err
	}()
	return func() error {
		stop()
		err := <-result
		now, open := k.Agent()
		fmt.Fprintf(os.Stderr, "the agent: %d MiB and %d files at first, %d MiB and %d files in the end\n", memory>>20, files, now>>20, open)
		return err
	}
}

// keep takes the answers of a wave into the report, and into the file at once: hours
// of a run that is stopped are not lost.
func (o *options) keep(round int, played []scenarios.Result) error {
	var fresh []record
	for _, r := range played {
		o.tell(r)
		fresh = append(fresh, o.newRecord(round, r))
	}
	o.kept = latest(append(o.kept, fresh...))
	if o.results == "" {
		return nil
	}
	return appendRecords(o.results, fresh)
}

func (o *options) tell(r scenarios.Result) {
	if r.Err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, r)
	for _, one := range r.Samples {
		if o.verbose && one.Text != "" {
			fmt.Fprintf(os.Stderr, "--- %s after %v\n%s\n", one.Grade, one.After.Round(time.Second), one.Text)
		}
	}
}

func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}
