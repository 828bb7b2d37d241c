package sense

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/lanes"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense/containers"
)

// Watcher tells what changes in a container runtime: see [containers.Client.Watch].
type Watcher interface {
	Watch(ctx context.Context, since *containers.Snapshot, o containers.WatchOptions) <-chan containers.Event
}

// Runtime turns a runtime's events into facts about containers that ended and
// sandboxes that are gone. Starts are told by who makes them; a container that runs
// without one was started by an agent that died before it could say so.
type Runtime struct {
	Client Watcher
	// Since is what was known when the source began to run; nil: nothing.
	Since *containers.Snapshot
	// Complete adds to an exit what the kernel told. It may take a second.
	Complete func(ctx context.Context, known pods.Registry, e *fact.Exited)
	// LastSaid reads the end of a container's log; nil: it is not kept.
	LastSaid LastSaid
	// Lost hears whether the runtime answers; nil: it does.
	Lost func(error)
	Log  *slog.Logger
}

// Run implements [Source]. What is told of a pod keeps its order, and pods do not wait
// for each other: what the kernel has to say of an exit may take a second.
func (s *Runtime) Run(ctx context.Context, known pods.Registry, emit func(fact.Fact)) error {
	told := lanes.New[types.UID](ctx)
	defer told.Wait()
	tell := func(pod fact.Pod, job func(context.Context)) { told.Do(pod.UID, job) }
	var from time.Time
	for e := range s.Client.Watch(ctx, s.Since, containers.WatchOptions{}) {
		switch e.Kind {
		case containers.ContainerChanged:
			if e.Container.State == containers.Exited {
				tell(e.Container.Pod, func(ctx context.Context) { emit(s.exited(ctx, known, *e.Container)) })
			}
		case containers.ContainerGone:
			tell(e.Container.Pod, func(context.Context) {
				// One that the node removed itself is known to have ended.
				if run, ok := known.ByID(e.Container.ID); ok && run.Running {
					emit(run.Fact(fact.Exited{ContainerID: e.Container.ID, Vanished: true}))
				}
			})
		case containers.SandboxChanged, containers.SandboxGone:
			if e.Kind == containers.SandboxGone || !e.Sandbox.Ready {
				tell(e.Sandbox.Pod, func(context.Context) {
					emit(fact.Fact{Pod: e.Sandbox.Pod, Body: fact.SandboxLost{SandboxID: e.Sandbox.ID}})
				})
			}
		case containers.Lost:
			from = e.At
			s.Lost(e.Err)
			s.Log.Warn("the container runtime does not answer", "error", e.Err)
		case containers.Synced:
			if !from.IsZero() {
				emit(fact.Fact{Body: fact.Lost{Source: fact.SourceRuntime, Reason: e.Err.Error(), From: e.From, Until: e.At}})
				from = time.Time{}
			}
			s.Lost(nil)
		}
	}
	return nil
}

func (s *Runtime) exited(ctx context.Context, known pods.Registry, v containers.ContainerView) fact.Fact {
	body := ExitedBody(v, s.LastSaid)
	s.Complete(ctx, known, &body)
	return fact.Fact{At: v.FinishedAt, Pod: v.Pod, Container: v.Name, Attempt: v.Attempt, Body: body}
}

// ExitedBody says how a container ended. The runtime makes up exit code 255 with
// reason Unknown for one that ended while it was not running itself: then nobody
// knows (containerd: internal/cri/server, cleanupUnknownContainer).
func ExitedBody(v containers.ContainerView, lastSaid LastSaid) fact.Exited {
	b := fact.Exited{ContainerID: v.ID, StartedAt: v.StartedAt}
	if v.ExitCode == 255 && v.Reason == "Unknown" {
		b.Vanished = true
	} else {
		b.ExitCode, b.RuntimeReason, b.Message = v.ExitCode, v.Reason, containers.TerminationMessage(v)
	}
	if lastSaid != nil {
		b.Hear(lastSaid(v), v.FinishedAt)
	}
	return b
}

// StartedBody says what runs; pid 0: that is not known.
func StartedBody(v containers.ContainerView, pid int) fact.Started {
	return fact.Started{
		ContainerID: v.ID, PID: pid, Image: v.Image, ImageID: v.ImageID,
		Resources: v.Resources, User: v.User, StopSignal: v.StopSignal,
	}
}
