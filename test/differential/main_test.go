package differential

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"whylet.dev/whylet/test/differential/record"
	"whylet.dev/whylet/test/peer"
)

// namespace holds the pods of all scenarios, on both sides.
const namespace = "differential"

// atOnce is how many scenarios run side by side. More make two processors late,
// and then it is load that is compared.
const atOnce = "10"

// side is one of the two clusters, with the recorder of its pods.
type side struct {
	*peer.Stack
	pods *record.Recorder
}

var real, ours side

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Geteuid() != 0 {
		fmt.Println("SKIP: the comparison runs real containers and needs root")
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stopAtSignal()
	err := errors.Join(startBoth(ctx), flag.Set("test.parallel", atOnce))
	code := 1
	if err == nil {
		code = m.Run()
	}
	cancel()
	if err := errors.Join(err, stopBoth()); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		return 1
	}
	return code
}

// stopAtSignal takes both stacks away when the test is interrupted or times out
// from outside: what they hold would outlive this process.
func stopAtSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		fmt.Fprintln(os.Stderr, "differential: interrupted;", stopBoth())
		os.Exit(1)
	}()
}

func startBoth(ctx context.Context) error {
	bin, err := peer.FindBinaries("../..")
	if err != nil {
		return err
	}
	startCtx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var group sync.WaitGroup
	var realErr, oursErr error
	group.Go(func() {
		real, realErr = newSide(startCtx, ctx, func() (*peer.Stack, error) { return peer.StartKubelet(startCtx, bin) })
	})
	group.Go(func() {
		ours, oursErr = newSide(startCtx, ctx, func() (*peer.Stack, error) { return peer.StartWhylet(startCtx, bin) })
	})
	group.Wait()
	return errors.Join(realErr, oursErr)
}

// newSide starts a stack, makes the namespace and records it while life lasts.
func newSide(ctx, life context.Context, start func() (*peer.Stack, error)) (side, error) {
	stack, err := start()
	if err != nil {
		return side{}, err
	}
	s := side{Stack: stack}
	if err := stack.Namespace(ctx, namespace); err != nil {
		return s, err
	}
	s.pods, err = record.Watch(life, stack.Client, namespace)
	return s, err
}

func stopBoth() error {
	var group sync.WaitGroup
	errs := make([]error, 2)
	for i, s := range []side{real, ours} {
		if s.Stack != nil {
			group.Go(func() { errs[i] = s.Stop() })
		}
	}
	group.Wait()
	return errors.Join(errs...)
}
