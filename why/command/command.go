package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/record"
)

// Env is what the command needs of the program around it.
type Env struct {
	In  io.Reader
	Out io.Writer // data only
	Err io.Writer
	// DataDir is where a node of this machine has its state when nothing else is said.
	DataDir string
	// Agent is what requests say of who asks, such as kubectl-why/1.0.
	Agent string
}

// options are the flags, and the program around them.
type options struct {
	Env
	config                         *genericclioptions.ConfigFlags
	container, output, selector    string
	history, dump, dataDir         string
	files                          []string
	since                          time.Duration
	all, everywhere, watch, within bool
	most                           int64
	web, verbose, withValues       bool
	missing                        string // of a page, as it was told last
	whatIf                         []string
	suggest                        bool
	kept                           func() (*record.Case, error)
	knowledge                      string
	refused                        sync.Map // what was told of entries that are refused
}

// New makes the command.
func New(env Env) *cobra.Command {
	o := &options{Env: env, config: genericclioptions.NewConfigFlags(true)}
	o.kept = sync.OnceValues(o.readCase)
	cmd := &cobra.Command{
		Use:   "why [KIND/]NAME…",
		Short: "Say why a pod is as it is",
		Long: `Say why a pod was restarted, does not start, is not ready, was evicted or is gone:
the cause in one sentence, then what led to it with times, what contributed, what
looks guilty and is not, and what to do. Of a deployment, replicaset, statefulset,
daemonset, job, cronjob or service it says which pods are out, and why each is; of a
node, whether it was away, and who could push whom out of it.

Where a front is installed, the question is an object of the asker's namespace (create
on questions.why.whylet.dev) that it answers; else it goes through the API server to the
node that remembers (get on nodes/proxy). So Kubernetes RBAC decides who may ask; -v
says which way it took. --data-dir asks a node's memory on
this machine instead, also when nothing runs; --file an exported history; --dump what
kubectl cluster-info dump, must-gather, a support bundle of troubleshoot.sh, kubectl get
-o yaml, kubectl describe pod, kubectl get events and kubectl logs left. Where
nobody on the node remembers, or you may not ask it, the answer is made of what the
API shows (level 0): it says so, and says unknown where that does not suffice.

Exit codes: 0 all is well or explained, 1 the question failed, 2 the command line is
wrong, 5 a cause is not known.`,
		Example: `  kubectl why web-1
  kubectl why pod/web-1 -n shop -c app --since 2h
  kubectl why deploy/web svc/web           # several at once
  kubectl why -l app=web                   # pods by their labels; KIND -l for others
  kubectl why -f web.yaml                  # what a manifest made
  kubectl why --all -A                     # everything unhealthy, worst first
  kubectl why ns/shop                      # the same of one namespace
  kubectl why --all -w                     # a line for whatever changes
  kubectl why web-1 -o json | jq .verdicts
  kubectl why mcp                          # for assistants: the Model Context Protocol
  kubectl why --all -o markdown >> "$GITHUB_STEP_SUMMARY"   # for CI; -o junit, too
  kubectl why web-1 --what-if livenessProbe.timeoutSeconds=5
  kubectl why web-1 --what-if app:memory=256Mi,app:livenessProbe.failureThreshold=5
  kubectl why web-1 --suggest              # settings that its history proposes
  kubectl why web-1 --web                  # a page with its timeline
  kubectl why web-1 -o html > web-1.html   # the same as one file
  kubectl why web-1 --file web-1.facts     # an exported history, without a cluster
  kubectl why record -n shop --to shop.record   # a whole namespace, to be asked with --file
  kubectl why --all --dump ./must-gather.local.123   # what others collected, without a cluster
  kubectl why pod/web-1 --dump support-bundle.tar.gz
  kubectl why dump --to incident.record    # all namespaces into one file, without secrets
  kubectl why web-1 --knowledge ./messages # with what your own programs' messages mean`,
		Args: cobra.ArbitraryArgs, // with a command below it, cobra would take names for mistyped ones
		RunE: func(cmd *cobra.Command, args []string) error {
			o.fromDisk(cmd)
			return o.run(cmd.Context(), args)
		},
		ValidArgsFunction: o.completeNames,
	}
	o.register(cmd)
	cmd.AddCommand(newMCPCommand(o), newRecordCommand(o), newDumpCommand(o), newKnowledgeCommand(o))
	return cmd
}

func (o *options) register(cmd *cobra.Command) {
	f := cmd.Flags()
	o.config.AddFlags(f)
	f.StringVarP(&o.container, "container", "c", "", "only this container")
	f.StringVarP(&o.output, "output", "o", "text", strings.Join(formats, ", "))
	f.StringVarP(&o.selector, "selector", "l", "", "what has these labels, such as app=web")
	f.StringArrayVarP(&o.files, "filename", "f", nil, "what is in this manifest, directory or - (stdin)")
	f.BoolVarP(&o.within, "recursive", "R", false, "with -f: also in the directories below")
	f.DurationVar(&o.since, "since", 0, "leave out what was over longer ago, such as 2h")
	f.BoolVar(&o.all, "all", false, "everything that is unhealthy, worst first")
	f.BoolVarP(&o.everywhere, "all-namespaces", "A", false, "with --all or -l: in every namespace")
	f.BoolVarP(&o.watch, "watch", "w", false, "ask again and again, and print a line for each change")
	f.BoolVar(&o.web, "web", false, "show the answer and what led to it as a page on this machine, until Ctrl-C")
	f.BoolVar(&o.withValues, "with-values", false, "with -o html or --web: leave in what variables and headers are set to (the nodes are asked, and no front)")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say who was asked, and how")
	f.StringArrayVar(&o.whatIf, "what-if", nil, "what other settings would have changed, as [CONTAINER:]FIELD=VALUE,…")
	f.BoolVar(&o.suggest, "suggest", false, "propose probe settings and memory limits from what was recorded")
	f.StringVar(&o.history, "file", "", "an exported history or a recorded namespace, instead of a cluster")
	f.StringVar(&o.dump, "dump", "", "a folder, archive or file that was collected of a cluster, instead of a cluster")
	f.Int64Var(&o.most, "max-size", journal.Usual.Bytes>>20, "with --file and --dump: how many MiB are read of it")
	f.StringVar(&o.dataDir, "data-dir", "", "the data directory of a node or of whylet-observe on this machine, instead of a cluster")
	_ = cmd.MarkFlagDirname("data-dir")
	o.registerKnowledge(cmd)
	_ = cmd.MarkFlagFilename("file")
	_ = cmd.MarkFlagFilename("dump")
	_ = cmd.MarkFlagFilename("filename")
	o.completeFlags(cmd)
}

// fromDisk makes a default data directory of a bare --data-dir.
func (o *options) fromDisk(cmd *cobra.Command) {
	if cmd.Flags().Changed("data-dir") && o.dataDir == "" {
		o.dataDir = o.DataDir
	}
}

// changes are all of --what-if, however often it was given.
func (o *options) changes() string { return strings.Join(o.whatIf, ",") }

func (o *options) run(ctx context.Context, args []string) error {
	targets, err := o.check(args)
	if err != nil {
		return err
	}
	from, err := o.source()
	if err != nil {
		return err
	}
	if targets, err = o.chosen(ctx, from, targets); err != nil {
		return err
	}
	switch {
	case o.web || o.output == "html":
		return o.page(ctx, from, targets)
	case o.suggest || len(o.whatIf) > 0:
		return o.propose(ctx, from, targets)
	case o.watch:
		return o.follow(ctx, func() ([]answer.Answer, error) { return o.ask(ctx, from, targets) }, again)
	}
	answers, err := o.ask(ctx, from, targets)
	if err != nil && len(answers) == 0 {
		return err
	}
	if written := o.write(answers, o.all || len(answers) != 1); written != nil {
		return written
	}
	if err != nil {
		return err // of those that could not be asked
	}
	if slices.ContainsFunc(answers, func(a answer.Answer) bool { return !a.Explained() }) {
		return exit.Silent(exit.Unknown)
	}
	return nil
}

// check reads what the command line asks about, and refuses what makes no sense before
// anybody is asked. Targets without names are for the labels to choose.
func (o *options) check(args []string) ([]ask.Target, error) {
	if name, ok := ask.Namespace(args); ok && !o.all && o.selector == "" {
		o.all, *o.config.Namespace, args = true, name, nil
	}
	targets, err := ask.ParseTargets(args, o.selector != "")
	if err != nil {
		return nil, exit.UsageError("%w", err)
	}
	ways := 0
	for _, given := range []bool{len(targets) > 0 && targets[0].Name != "", o.all, o.selector != "", len(o.files) > 0} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return nil, exit.UsageError("name a pod, or say one of --all, -l and -f; see --help")
	case o.everywhere && !o.all && o.selector == "":
		return nil, exit.UsageError("-A goes with --all or -l")
	case o.since < 0:
		return nil, exit.UsageError("--since %s is in the future; say how long ago, such as 2h", o.since)
	case !slices.Contains(formats, o.output):
		return nil, exit.UsageError("-o %s is not known; %s are", o.output, strings.Join(formats, ", "))
	case o.watch && (o.output == "markdown" || o.output == "junit"):
		return nil, exit.UsageError("-o %s is a report, and -w never ends; say one of them", o.output)
	case (o.web || o.output == "html") && (o.suggest || o.watch || len(o.whatIf) > 0):
		return nil, exit.UsageError("a page has sliders and follows by itself; leave --what-if, --suggest and -w out")
	case o.history != "" && o.dataDir != "" || o.dump != "" && (o.history != "" || o.dataDir != ""):
		return nil, exit.UsageError("--file, --dump and --data-dir exclude each other")
	case o.dump != "" && o.watch:
		return nil, exit.UsageError("a dump does not change; leave -w out")
	case o.local() && o.selector != "":
		return nil, exit.UsageError("a journal knows no labels; ask the cluster with -l")
	}
	for _, t := range targets {
		if o.local() && t.Kind != "pod" && t.Kind != "node" {
			return nil, exit.UsageError("%w; ask the cluster about a %s", ask.ErrPodsOnly, t.Kind)
		}
	}
	if o.suggest || len(o.whatIf) > 0 {
		return targets, o.checkProposal(targets)
	}
	return targets, nil
}

// local says whether a journal is asked, and not a cluster.
func (o *options) local() bool {
	return o.dataDir != "" || o.history != "" && !o.isRecord()
}

// isRecord says whether --file names a recorded case, and not an exported history.
func (o *options) isRecord() bool {
	if o.history == "" {
		return false
	}
	_, err := o.kept()
	return err == nil
}

// chosen are the targets that labels or manifests choose; else those of the command line.
func (o *options) chosen(ctx context.Context, from ask.Asker, targets []ask.Target) ([]ask.Target, error) {
	o.atHome(targets)
	switch {
	case len(o.files) > 0:
		return o.fromManifests()
	case o.selector == "":
		return targets, nil
	}
	kind := "pod"
	if len(targets) > 0 {
		kind = targets[0].Kind
	}
	found, err := from.Select(ctx, kind, o.selector)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no %s with the labels %s", kind, o.selector)
	}
	return found, err
}

func (o *options) ask(ctx context.Context, from ask.Asker, targets []ask.Target) ([]answer.Answer, error) {
	if o.all {
		return from.All(ctx)
	}
	return ask.Several(ctx, from, targets)
}
