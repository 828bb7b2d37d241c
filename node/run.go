package node

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/otlp"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense"
	"whylet.dev/whylet/sense/containers"
)

// ControlPlaneEnded is the cause of Run's context when it ends because the node's
// own control plane did, and can only begin again in a new process. The node
// remembers it.
type ControlPlaneEnded struct {
	Since time.Time
	Err   error
}

func (e *ControlPlaneEnded) Error() string { return "the control plane ended: " + e.Err.Error() }
func (e *ControlPlaneEnded) Unwrap() error { return e.Err }

// Run runs the node until ctx ends. Containers keep running after it returns,
// and the next Run on the same DataDir goes on where this one was.
func Run(ctx context.Context, c Config) error {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	n, err := newNode(ctx, c)
	if err != nil {
		return err
	}
	defer n.close()
	return n.run(ctx)
}

// node is all parts of a running node.
type node struct {
	config  Config
	log     *slog.Logger
	clock   clock
	journal *journal.Journal
	runtime *cri.Client
	client  kubernetes.Interface
	known   *pods.Projection
	loop    *loop
	world   *outside
	closers []func()
	// exporter sends the facts elsewhere, from one on; nil: nowhere.
	exporter   *otlp.Exporter
	exportFrom fact.ID
	contact    *sense.Contact
	// first is what the runtime had when the agent started.
	first cri.Snapshot
	// lastLines reads the end of a container's log; nil: it is not kept.
	lastLines func(cri.ContainerView) []string
}

// submit hands a fact to the loop, which is there when anything can be observed.
func (n *node) submit(f fact.Fact) { n.loop.submit(f) }

func newNode(ctx context.Context, c Config) (*node, error) {
	n := &node{config: c, log: c.Log, known: pods.New(), contact: &sense.Contact{}}
	if err := n.open(ctx); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// open opens what the node works with and puts it together. What is open after an
// error is among the closers.
func (n *node) open(ctx context.Context) (err error) {
	c := n.config
	if n.clock, err = newClock(); err != nil {
		return err
	}
	for _, dir := range []string{c.DataDir, c.PodLogsDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the node's directory: %w", err)
		}
	}
	c.Progress("opening the journal")
	if n.journal, err = journal.Open(filepath.Join(c.DataDir, "journal"), journal.Options{Log: c.Log}); err != nil {
		return err
	}
	n.onClose(func() { n.warn("journal", n.journal.Close()) })
	if err := n.exports(); err != nil {
		return err
	}
	c.Progress("reaching the container runtime")
	err = n.untilRuntime(ctx, func(ctx context.Context) (err error) {
		n.runtime, err = cri.Dial(ctx, c.RuntimeEndpoint, c.Log)
		return err
	})
	if err != nil {
		return err
	}
	n.onClose(func() { n.warn("runtime", n.runtime.Close()) })
	if c.Answered != nil {
		if err := c.Answered(ctx); err != nil {
			return err
		}
	}
	api := clientConfig(c.API)
	api.Wrap(n.contact.Wrap)
	if n.client, err = kubernetes.NewForConfig(api); err != nil {
		return fmt.Errorf("client of the API server: %w", err)
	}
	return n.assemble(ctx)
}

// clientConfig lets a whole node's worth of pods start at once.
func clientConfig(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.QPS, c.Burst = 200, 400
	c.ContentType = "application/vnd.kubernetes.protobuf"
	c.AcceptContentTypes = c.ContentType + ",application/json"
	return c
}

// assemble makes the loop and the world around it, and lets the loop remember.
func (n *node) assemble(ctx context.Context) error {
	n.world = &outside{}
	n.loop = newLoop(n.journal, n.world, n.known, health.Policy{}, n.clock, n.log)
	if !n.config.NoLogLines {
		n.lastLines = containers.LastLines
	}
	n.journal.SetLive(func(uid types.UID) bool {
		_, ok := n.known.Get(uid)
		return ok
	})
	if err := n.loop.replay(n.journal.Query(journal.Query{SinceCheckpoint: true})); err != nil {
		return err
	}
	return n.world.connect(ctx, n)
}

func (n *node) onClose(f func()) { n.closers = append(n.closers, f) }

func (n *node) close() {
	for i := len(n.closers) - 1; i >= 0; i-- {
		n.closers[i]()
	}
}

func (n *node) warn(what string, err error) {
	if err != nil {
		n.log.Warn("closing the "+what, "error", err)
	}
}

// run starts all sources and servers, and waits for the end.
func (n *node) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := n.recover(ctx); err != nil {
		return err
	}
	var wg sync.WaitGroup
	spawn := func(name string, f func(context.Context) error) {
		wg.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	n.world.start(spawn)
	if n.exporter != nil {
		spawn("export of facts", func(ctx context.Context) error { n.exporter.Run(ctx, n.journal, n.exportFrom); return nil })
	}
	spawn("loop", func(ctx context.Context) error { n.loop.run(ctx); return nil })
	<-ctx.Done()
	wg.Wait()
	n.world.news.Wait()
	n.world.effects.Wait()
	n.loop.finish(agentStopped(context.Cause(ctx)))
	n.world.events.Flush()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// recover compares memory and runtime, and asks again for what was decided and
// never came back. It runs before the loop does, in the loop's place.
func (n *node) recover(ctx context.Context) error {
	if err := n.lookFirst(ctx); err != nil {
		return err
	}
	n.loop.first, n.loop.node = n.first, n.world.seen
	started := n.agentStarted()
	n.loop.take(fact.Fact{Body: started})
	for _, p := range n.known.All() {
		n.world.effects.Readopt(p, n.first)
	}
	unanswered := n.loop.unanswered()
	for _, f := range n.loop.reconcile(n.first, lostAfter(started), n.lastLines) {
		n.loop.take(f)
	}
	n.loop.resume(unanswered)
	return nil
}

// lookFirst looks at what the runtime has. It answered a moment ago, but may have
// ended since.
func (n *node) lookFirst(ctx context.Context) error {
	n.config.Progress("looking at what runs already")
	return n.untilRuntime(ctx, func(ctx context.Context) (err error) {
		n.first, err = n.runtime.Snapshot(ctx)
		return err
	})
}

// past gives the recorded facts of some kinds.
func (n *node) past(kinds ...fact.Kind) iter.Seq2[fact.Fact, error] {
	return n.journal.Query(journal.Query{Kinds: kinds})
}

// agentStopped tells why this run of the agent ends.
func agentStopped(cause error) fact.AgentStopped {
	var ended *ControlPlaneEnded
	if !errors.As(cause, &ended) {
		return fact.AgentStopped{}
	}
	return fact.AgentStopped{Reason: ended.Err.Error(), Since: ended.Since.UTC()}
}

// agentStarted tells how the last run of the agent ended.
func (n *node) agentStarted() fact.AgentStarted {
	started := fact.AgentStarted{Version: n.config.Version, PID: os.Getpid(), Previous: "first", Sources: n.world.processes.Sources()}
	for f, err := range n.journal.Query(journal.Query{Reverse: true, Limit: 1}) {
		if err != nil {
			break
		}
		started.LastSeen = f.Seen
		if at := sense.LastBeat(n.config.DataDir); at.After(f.Seen) && at.Before(time.Now()) {
			started.LastSeen = at
		}
		started.Previous = previous(f, n.clock.boot)
	}
	return started
}

// previous says how the run of the agent ended whose last fact that is. A machine
// that is shut down in order asks the agent to end first, so the boot comes first.
func previous(last fact.Fact, boot string) string {
	_, clean := last.Body.(fact.AgentStopped)
	switch {
	case last.Boot != boot:
		return "reboot"
	case clean:
		return "clean"
	}
	return "killed"
}

// lostAfter says what ended the sandboxes that an earlier agent left running.
func lostAfter(started fact.AgentStarted) string {
	if started.Previous == "reboot" {
		return "the machine was started anew"
	}
	return "it was gone when the agent came back"
}

// component is the source of the events. It is kubelet's name, because that is
// what people's queries and alerts look for.
const component = "kubelet"

// recorder posts events as kubelet does, but without its limit of 25 in a row a
// pod: an event that is dropped is a question that nobody can answer.
func (n *node) recorder(ctx context.Context) record.EventRecorderLogger {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(record.CorrelatorOptions{
		BurstSize: 1000, QPS: 10, MaxEvents: 1000,
	}))
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: n.client.CoreV1().Events("")})
	n.onClose(broadcaster.Shutdown)
	return broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: component, Host: n.config.Name})
}
