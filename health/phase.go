package health

import (
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// markContainers reports containers that became ready or unready, started or not.
func (t *turn) markContainers() {
	for i := range t.Containers {
		c := &t.Containers[i]
		if c.unseen() {
			continue
		}
		ready, started := t.isReady(c), t.hasStarted(c)
		if ready == c.Ready && started == c.Started {
			continue
		}
		c.Ready, c.Started = ready, started
		// What its probe said is a reason only while the container runs.
		var because []fact.ID
		switch c.Stage {
		case running:
			because = append([]fact.ID{c.Run.Begin}, c.Readiness.Facts...)
		case ended:
			because = []fact.ID{c.Run.End}
		}
		t.decide(c.Name, c.Attempt, fact.Marked{Ready: ready, Started: started}, because...)
	}
}

// movePhase reports another phase. Succeeded and Failed are final, and are only
// said when no container runs any more (status/status_manager.go, mergePodStatus).
func (t *turn) movePhase() {
	phase, reason, message := t.phase(), "", ""
	if terminal(t.Phase) {
		return
	}
	if e := t.Ending; e != nil && e.Fails {
		if t.anyAlive() {
			return
		}
		phase, reason, message = v1.PodFailed, e.Reason, e.Message
	}
	if phase == t.Phase {
		return
	}
	t.Phase, t.Reason, t.Message = phase, reason, message
	because := []fact.ID{t.SpecFact}
	if t.Ending != nil {
		because = t.Ending.Facts
	}
	t.decide("", 0, fact.SetPhase{Phase: phase, Reason: reason, Message: message}, because...)
}

// tally counts containers as the phase sees them (kubelet_pods.go, getPhase).
type tally struct {
	pendingInit    int // init containers that still have to do their work
	pendingSidecar int // sidecars that have not started up
	waiting        int // main containers and sidecars that never ran
	running        int // main containers and sidecars that run
	stopped        int // main containers that ran and do not now
	over           int // those among them that are not started again
	succeeded      int // those among them that ended well
}

func (p *pod) tally() tally {
	var n tally
	for i := range p.Containers {
		c := &p.Containers[i]
		ran := c.Run.Ended != nil || c.Stage == running || c.Last != nil
		switch {
		case c.Role == initial && (c.Stage == running || !ran):
			n.pendingInit++
		case c.Role == sidecar && c.Stage == running:
			n.running++
			if !p.hasStarted(c) {
				n.pendingSidecar++
			}
		case c.Role == sidecar && !ran:
			n.pendingSidecar++
			n.waiting++
		case c.Role == regular:
			n.main(p, c, ran)
		}
	}
	return n
}

func (n *tally) main(p *pod, c *container, ran bool) {
	switch {
	case c.Stage == running:
		n.running++
	case !ran:
		n.waiting++
	default:
		n.stopped++
		if !p.again(c) && c.Stage == ended {
			n.over++
			if c.Run.Ended.ExitCode == 0 {
				n.succeeded++
			}
		}
	}
}

func (t *turn) phase() v1.PodPhase {
	n := t.tally()
	over := t.Ending != nil && !t.anyAlive()
	switch {
	case over && n.stopped > 0 && n.waiting == 0 && n.pendingInit == 0 && n.stopped == n.succeeded && t.failedForGood() == nil:
		return v1.PodSucceeded
	case over && (!t.Static || t.finishedStatic(n)):
		// What had to be ended before it had done its work has failed
		// (status_manager.go, TerminatePod).
		return v1.PodFailed
	case t.failedForGood() != nil && !t.anyAlive():
		return v1.PodFailed
	case n.pendingInit > 0, n.pendingSidecar > 0 && !t.anyMainRan(), n.waiting > 0:
		return v1.PodPending
	}
	return v1.PodRunning
}

// finishedStatic says that a static pod ended by itself. One that was removed
// has no terminal phase (getPhase, podIsTerminal).
func (t *turn) finishedStatic(n tally) bool {
	return t.Deletion == nil || n.stopped > 0 && t.Ending.Kill == fact.KillPodDone
}

// anyMainRan says that a main container has run in the sandbox that stands
// (container/helpers.go, HasAnyActiveRegularContainerStarted).
func (t *turn) anyMainRan() bool {
	for _, c := range t.each(regular) {
		if c.Begun {
			return true
		}
	}
	return false
}
