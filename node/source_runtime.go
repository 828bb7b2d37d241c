package node

import (
	"context"
	"log/slog"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense/containers"
)

// runtimeSource turns the runtime's events into facts about containers that
// ended and sandboxes that are gone. Starts are told by the effect that made
// them; a container that runs without one was started by an agent that died
// before it could say so.
type runtimeSource struct {
	client *cri.Client
	submit func(fact.Fact)
	known  pods.Registry
	// complete adds to an exit what the kernel told.
	complete func(*fact.Exited)
	// lastLines reads the end of a container's log; nil: it is not kept.
	lastLines func(cri.ContainerView) []string
	// lost hears whether the runtime answers, for the node's condition.
	lost func(error)
	// lanes keep what is told of a pod in order, and pods from waiting for each other:
	// what the kernel has to say of an exit may take a second.
	lanes *lanes
	log   *slog.Logger
}

func (s *runtimeSource) run(ctx context.Context, since *cri.Snapshot) {
	var from time.Time
	for e := range s.client.Watch(ctx, since, containers.WatchOptions{}) {
		switch e.Kind {
		case containers.ContainerChanged:
			if e.Container.State == cri.Exited {
				s.tell(e.Container.Pod, func() { s.exited(*e.Container) })
			}
		case containers.ContainerGone:
			s.tell(e.Container.Pod, func() { s.vanished(*e.Container) })
		case containers.SandboxChanged, containers.SandboxGone:
			if e.Kind == containers.SandboxGone || !e.Sandbox.Ready {
				s.tell(e.Sandbox.Pod, func() {
					s.submit(fact.Fact{Pod: e.Sandbox.Pod, Body: fact.SandboxLost{SandboxID: e.Sandbox.ID}})
				})
			}
		case containers.Lost:
			from = e.At
			s.lost(e.Err)
			s.log.Warn("the container runtime does not answer", "error", e.Err)
		case containers.Synced:
			if !from.IsZero() {
				s.submit(fact.Fact{Body: fact.Lost{Source: "runtime", Reason: e.Err.Error(), From: e.From, Until: e.At}})
				from = time.Time{}
			}
			s.lost(nil)
		}
	}
}

// tell tells something of a pod after all that was told of it before.
func (s *runtimeSource) tell(pod fact.Pod, tell func()) {
	s.lanes.do("told/"+string(pod.UID), func(context.Context) { tell() })
}

func (s *runtimeSource) exited(v cri.ContainerView) {
	body := exitedBody(v, s.lastLines)
	s.complete(&body)
	s.submit(fact.Fact{At: v.FinishedAt, Pod: v.Pod, Container: v.Name, Attempt: v.Attempt, Body: body})
}

// vanished tells of a container that was removed while the loop believed that it
// runs. One that the node removed itself is known to have ended.
func (s *runtimeSource) vanished(v cri.ContainerView) {
	if run, ok := s.known.ByID(v.ID); ok && run.Running {
		s.submit(run.Fact(fact.Exited{ContainerID: v.ID, Vanished: true}))
	}
}

// exitedBody says how a container ended. The runtime makes up exit code 255 with
// reason Unknown for one that ended while it was not running itself: then nobody
// knows (containerd: internal/cri/server, cleanupUnknownContainer).
func exitedBody(v cri.ContainerView, lastLines func(cri.ContainerView) []string) fact.Exited {
	b := fact.Exited{ContainerID: v.ID, StartedAt: v.StartedAt}
	if lastLines != nil {
		b.LastLines = lastLines(v)
	}
	if v.ExitCode == 255 && v.Reason == "Unknown" {
		b.Vanished = true
		return b
	}
	b.ExitCode, b.RuntimeReason, b.Message = v.ExitCode, v.Reason, containers.TerminationMessage(v)
	return b
}
