// Command conformance runs Kubernetes' own end-to-end tests on a Whylet node and
// says which passed. What they say is Kubernetes' word, not ours: the tests are
// those of the version that Whylet is built with (suite/go.mod), unchanged.
//
//	make test-conformance                                  all that is marked [Conformance] or [NodeConformance]
//	make test-conformance FOCUS='Probing container'        those whose name matches
//	make test-conformance CONFORMANCE="-only kubelet"      on the real stack (which has no service routing and no DNS)
//
// The node is started in a network namespace of its own, with the tests' images
// made from Debian packages and from the tests' own Go programs (test/images): no
// registry is asked. Tests run side by side; those that must be alone come last.
// The command fails when a test fails, except those that excused.go lists with the
// reason why they cannot pass here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"whylet.dev/whylet/test/peer"
)

// options are the flags.
type options struct {
	focus, skip, only, dir string
	procs                  int
	timeout                time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.focus, "focus", `\[Conformance\]|\[NodeConformance\]`, "run the tests whose name matches this regular expression")
	flag.StringVar(&o.skip, "skip", "", "but not those that match this one")
	flag.StringVar(&o.only, "only", "whylet", "the stack to run them on: whylet or kubelet")
	flag.StringVar(&o.dir, "dir", "bin/conformance", "folder of the tests, their images and the report")
	flag.IntVar(&o.procs, "procs", 8, "how many tests run side by side")
	flag.DurationVar(&o.timeout, "timeout", 4*time.Hour, "how long all may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) error {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	stack, err := o.start(ctx, dir)
	if err != nil {
		return err
	}
	if err := mirror(stack, filepath.Join(dir, "images")); err != nil {
		return errors.Join(err, stack.Stop())
	}
	suite := o.suite(ctx, stack, dir)
	failed := suite.Run()
	if err := stack.Stop(); err != nil {
		return errors.Join(err, failed)
	}
	report, err := readReport(filepath.Join(dir, reportFile))
	if err != nil {
		return errors.Join(err, failed)
	}
	return report.judge(os.Stdout)
}

func (o *options) start(ctx context.Context, dir string) (*peer.Stack, error) {
	bin, err := peer.FindBinaries(".")
	if err != nil && (bin.Whylet == "" || o.only == "kubelet") {
		return nil, err
	}
	bin.Images = filepath.Join(dir, "images")
	if o.only == "kubelet" {
		return peer.StartKubelet(ctx, bin)
	}
	return peer.StartWhylet(ctx, bin)
}

const reportFile = "report.json"

// suite is the run of the tests. ginkgo starts several processes of them and deals
// the tests out.
func (o *options) suite(ctx context.Context, stack *peer.Stack, dir string) *exec.Cmd {
	args := []string{
		"run", "--procs=" + strconv.Itoa(o.procs), "--timeout=" + o.timeout.String(), "--silence-skips", "--no-color",
		"--focus=" + o.focus, "--skip=" + excusedNames(), "--output-dir=" + dir, "--json-report=" + reportFile,
	}
	if o.skip != "" { // nothing at all would match every name
		args = append(args, "--skip="+o.skip)
	}
	cmd := stack.Command(ctx, filepath.Join(dir, "ginkgo"), append(args,
		filepath.Join(dir, "e2e.test"), "--",
		"--kubeconfig="+stack.Kubeconfig, "--provider=local", "--kubectl-path="+filepath.Join(filepath.Dir(dir), "kubectl"))...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// The tests take back what they made when they are interrupted.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * time.Minute
	return cmd
}
