package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/node/api"
	"whylet.dev/whylet/node/effect"
	"whylet.dev/whylet/node/server"
	"whylet.dev/whylet/sense"
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
	// Effects go on while the node does, and so end with it also when a part fails.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var closing closers
	defer closing.close()
	n, err := newNode(ctx, c.withDefaults(), &closing)
	if err != nil {
		return err
	}
	return n.run(ctx, cancel)
}

// closers end what was opened, the last first.
type closers []func()

func (c *closers) add(f func()) { *c = append(*c, f) }

func (c *closers) close() {
	for _, f := range slices.Backward(*c) {
		f()
	}
}

// node is all parts of a running node.
type node struct {
	ground
	reports
	stores
	senses
	care
	loop     *loop
	effects  *effect.Effects
	services *services
	api      *server.Server
}

// run starts all sources and servers, and waits for the end. Cancel ends ctx.
func (n *node) run(ctx context.Context, cancel context.CancelCauseFunc) error {
	n.recover()
	var jobs sync.WaitGroup
	n.start(func(name string, job func(context.Context) error) {
		jobs.Go(func() {
			if err := job(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	})
	<-ctx.Done()
	jobs.Wait()
	n.effects.Wait()
	n.loop.finish(agentStopped(context.Cause(ctx)))
	n.events.Flush()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// start runs everything that goes on by itself.
func (n *node) start(spawn func(name string, job func(context.Context) error)) {
	quiet := func(name string, job func(context.Context)) {
		spawn(name, func(ctx context.Context) error { job(ctx); return nil })
	}
	observe := func(name string, source sense.Source) {
		spawn(name, func(ctx context.Context) error { return source.Run(ctx, n.known, n.loop.submit) })
	}
	quiet("publisher", n.publisher.Run)
	quiet("services", n.services.run)
	observe("runtime events", &sense.Runtime{
		Client: n.runtime, Since: &n.first, Complete: n.exits.Complete, LastSaid: n.lastSaid, Lost: n.status.RuntimeLost, Log: n.log,
	})
	observe("pods of the API server", n.pods)
	observe("what pods are configured by", n.volumes.Configs())
	quiet("sandboxes of no pod", n.sweep)
	if n.config.StaticPodDir != "" {
		observe("static pods", n.static)
	}
	quiet("node object", n.status.Run)
	spawn("node API", n.api.Serve)
	observe("OOM kills", &sense.Kernel{Exits: n.exits, Past: n.past, Boot: n.clock.boot, Log: n.log})
	observe("processes", n.processes)
	observe("what the control plane tells", sense.Audit(n.config.AuditEvents))
	observe("the API server's silence", n.contact)
	observe("steps of the clock", sense.NewClockSteps())
	observe("looks and samples", n.inspector)
	if n.reprobe != nil {
		observe("patient requests", n.reprobe)
	}
	quiet("housekeeping", n.upkeep.Run)
	observe("beat", sense.NewAlive(n.config.DataDir, n.log))
	quiet("node pressure", n.pressure.Run)
	quiet("shutdown of the machine", n.shutdown.Run)
	quiet("progress of the loop", progress{n.loop.beats, n.config.Beat, n.config.BeatEvery, stuckFile(n.config.DataDir)}.run)
	if n.exporter != nil {
		quiet("export of facts", func(ctx context.Context) { n.exporter.Run(ctx, n.journal, n.exportFrom) })
	}
	if answer := n.config.Answer; answer != nil {
		quiet("answers elsewhere", func(ctx context.Context) {
			answer(ctx, n.journal.Journal, api.Answers(n.journal.Journal, n.inspector.Look))
		})
	}
	quiet("loop", n.loop.run)
}

// staticSettle is how long the directory of static pods may take to be read
// before sandboxes that nobody claims count as left over.
const staticSettle = 30 * time.Second

// sweep takes away sandboxes of no pod, once it is known which pods there are.
func (n *node) sweep(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-n.pods.Synced():
	}
	settle := time.NewTimer(staticSettle)
	defer settle.Stop()
	select {
	case <-ctx.Done():
		return
	case <-settle.C:
	}
	n.effects.Sweep(ctx, orphans(n.known, n.first))
}

// recover compares memory and runtime, and asks again for what was decided and
// never came back. It runs before the loop does, in the loop's place.
func (n *node) recover() {
	started := n.agentStarted()
	n.loop.take(fact.Fact{Body: started})
	for _, p := range n.known.All() {
		n.effects.Readopt(p, n.first)
	}
	unanswered := n.loop.unanswered()
	for _, f := range n.loop.reconcile(n.first, lostAfter(started), n.lastSaid) {
		n.loop.take(f)
	}
	n.loop.resume(unanswered)
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
	started := fact.AgentStarted{Version: n.config.Version, PID: os.Getpid(), Previous: fact.NoRunBefore, Sources: n.processes.Sources()}
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
	if stuck := takeStuck(n.config.DataDir); started.Previous == fact.RunKilled {
		started.StuckSince = stuck
	}
	return started
}

// previous says how the run of the agent ended whose last fact that is. A machine
// that is shut down in order asks the agent to end first, so the boot comes first.
func previous(last fact.Fact, boot string) fact.AgentEnd {
	_, clean := last.Body.(fact.AgentStopped)
	switch {
	case last.Boot != boot:
		return fact.RunRebooted
	case clean:
		return fact.RunClean
	}
	return fact.RunKilled
}

// lostAfter says what ended the sandboxes that an earlier agent left running.
func lostAfter(started fact.AgentStarted) string {
	if started.Previous == fact.RunRebooted {
		return "the machine was started anew"
	}
	return "it was gone when the agent came back"
}
