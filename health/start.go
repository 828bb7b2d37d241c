package health

import (
	"time"

	"whylet.dev/whylet/fact"
)

// wait is why a container that should run does not, as its status shows it.
type wait struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// planStarts asks for containers as kubelet's SyncPod does: ephemeral ones at
// any time, init containers in their order, and then the others
// (kuberuntime/kuberuntime_manager.go, steps 6, 7 and 9).
func (t *turn) planStarts() {
	if t.Sandbox.Stage != sandboxUp {
		return
	}
	for _, c := range t.each(ephemeral) {
		t.startIf(c, c.Stage == idle)
	}
	if !t.planInit() {
		return
	}
	// Containers that have not run in this sandbox start one after the other, each
	// when the one before it has run its postStart hook: there are pods that rely
	// on it to have a proxy ready before the application. Restarts wait for nobody.
	inTurn := true
	for _, c := range t.each(regular) {
		first := !c.Begun && !c.Tried
		t.startIf(c, t.wants(c) && (inTurn || !first))
		if first && c.Stage == starting {
			inTurn = false
		}
	}
}

// wants says whether a main container should run and does not.
func (t *turn) wants(c *container) bool {
	return c.Stage == idle || c.Stage == ended && t.again(c)
}

// startIf asks for a container that is wanted, unless it has to wait.
func (t *turn) startIf(c *container, wanted bool) {
	if !wanted || c.alive() || c.unseen() || !t.mayStart(c) {
		return
	}
	var because []fact.ID
	if c.Pause != nil {
		because = append(because, c.Pause.Facts...)
	}
	because = append(because, c.Run.End, t.Sandbox.Fact)
	if c.Run.ID == "" {
		because = append(because, t.SpecFact)
	}
	c.Try, c.Made, c.Hooking, c.Early, c.Pause = c.next(), "", false, nil, nil
	c.Stage, c.Asked = starting, t.asks(c)
	t.decide(c.Name, c.Try, fact.Start{Previous: c.Run.ID}, because...)
}

// asks is what a start asks for now.
func (p *pod) asks(c *container) given {
	spec := p.spec(c)
	return given{Image: spec.Image, Resources: spec.Resources, PodLimits: p.ownWanted().Limits}
}

// next is the restart count of the next run: one more than that of the newest
// container that was created (kuberuntime/kuberuntime_container.go, startContainer).
func (c *container) next() int32 {
	n := c.Attempt
	if c.Run.ID != "" {
		n = c.Attempt + 1
	}
	if c.Made != "" {
		n = max(n, c.Try+1)
	}
	return n
}

// underWay says whether the fact belongs to the start at hand.
func (t *turn) underWay(c *container) bool {
	return c.Stage == starting && t.fact.Attempt == c.Try
}

func (t *turn) created(c *container, b fact.Created) news {
	if !t.underWay(c) || b.ContainerID == c.Run.ID {
		return nothing
	}
	c.Made = b.ContainerID
	return aChange
}

// started notes that the main process runs. As long as the postStart hook runs
// too, the container still counts as starting: its status says so, and it is
// not probed (startContainer runs the hook before SyncPod goes on).
func (t *turn) started(c *container, b fact.Started) news {
	switch {
	case b.ContainerID == c.Run.ID && (c.Stage == running || c.Hooking || c.Run.Ended != nil):
		return nothing
	case b.Adopted && c.Stage != running && t.fact.Attempt >= c.Attempt:
		t.adoptRun(c, b)
		return aChange
	case !t.underWay(c):
		return nothing
	}
	t.drop(c, c.begin(t.fact.Attempt, b, t.when(), t.fact.ID))
	if l := t.spec(c).Lifecycle; l != nil && l.PostStart != nil {
		c.Hooking = true
		return aChange
	}
	t.running(c)
	return aChange
}

func (t *turn) running(c *container) {
	c.Stage, c.Begun, c.Hooking = running, true, false
	c.Wait, c.Pause = wait{}, nil
	if c.Kill != nil {
		// It was to be ended before it ran; say it again, now that there is something.
		t.decide(c.Name, c.Attempt, c.Kill.body(), c.Kill.Facts...)
	}
}

// begin makes a new run the newest one, and forgets what probes said of the
// old. It gives the container of the run before the last, which is no longer
// needed: one dead container is kept (kubelet's MaxPerPodContainerCount).
func (c *container) begin(attempt int32, b fact.Started, at time.Time, id fact.ID) (gone string) {
	if c.Run.Ended != nil {
		if c.Last != nil {
			gone = c.Last.ContainerID
		}
		c.Last, c.Before = c.Run.Ended, c.Run.FinishedAt
	}
	c.Attempt, c.Made = attempt, ""
	c.Run = run{
		ID: b.ContainerID, Image: b.Image, ImageID: b.ImageID, Given: c.Asked,
		StartedAt: at, Begin: id, OOMs: c.Early,
		Resources: inForce(c.Asked.Resources, b.Resources), User: b.User, VolumeMounts: b.VolumeMounts, StopSignal: b.StopSignal,
	}
	c.Early = nil
	c.Resizing, c.Room = false, 0
	c.Startup, c.Readiness, c.Liveness = probing{}, probing{}, probing{}
	return gone
}

// imageFailed waits for the next try. A pull that failed backs off; what was
// found without pulling (a bad name, a policy that forbids it) is looked at
// again after a while (images/image_manager.go, EnsureImageExists).
func (t *turn) imageFailed(c *container, b fact.ImageFailed) {
	if !t.underWay(c) || c.Hooking {
		return
	}
	t.startOver(c, wait{b.Reason, b.Message})
	switch b.Reason {
	case "ErrImageNeverPull", "InvalidImageName", "ImageInspectError":
		return
	}
	delay := c.Image.grow(imageBackOff, t.now, t.now)
	t.pause(c, pause{
		What: fact.BackOffImage, Delay: delay, Until: t.now.Add(delay),
		Shown: wait{"ImagePullBackOff", backOffPulling(b)},
		Facts: []fact.ID{t.fact.ID},
	})
}

// startFailed waits for the next try. Where the runtime left an ended container
// behind, it counts as a run, and backs off like one.
func (t *turn) startFailed(c *container, b fact.StartFailed) {
	if !t.underWay(c) || c.Hooking {
		return
	}
	made := c.Made
	if b.ContainerID != "" {
		made = b.ContainerID
	}
	t.startOver(c, wait{b.Reason, b.Message})
	c.Made = made
	if b.Exited && b.ContainerID != "" {
		c.begin(c.Try, fact.Started{ContainerID: b.ContainerID}, time.Time{}, t.fact.ID)
		t.endRun(c, fact.Exited{ContainerID: b.ContainerID, ExitCode: b.ExitCode, RuntimeReason: "StartError", Message: b.Message})
		c.Pause = nil
	}
}

// startOver takes a start back that came to nothing. The next sync of kubelet
// tries again, some ten seconds later.
func (t *turn) startOver(c *container, w wait) {
	c.Stage = idle
	if c.Run.Ended != nil {
		c.Stage = ended
	}
	c.Tried = true
	if c.Kill != nil {
		c.Kill = nil // it was called off, which is no reason of its own
		return
	}
	c.Wait = w
	c.Pause = &pause{Until: t.now.Add(t.Policy.Retry), Facts: []fact.ID{t.fact.ID}}
}
