package health

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// Step takes one observed fact about the pod and returns the state after it,
// with what was decided, in the order in which the effects must be attempted.
// The given state is not changed. Facts that are decisions, or about another
// pod, change nothing; neither does a fact.TimePassed from which nothing was
// decided, so that a caller need not keep it.
func Step(s State, f fact.Fact) (State, []fact.Decision) {
	if fact.IsDecided(f.Body) || !s.p.concerns(f.Pod) {
		return s, nil
	}
	t := turn{pod: s.p.clone(), fact: f, now: f.Seen.Round(0)}
	switch t.observe() {
	case nothing:
		return s, nil
	case aCount:
		return State{t.pod}, nil
	}
	t.plan()
	t.report()
	if _, tick := f.Body.(fact.TimePassed); tick && len(t.decisions) == 0 {
		return s, nil
	}
	return State{t.pod}, t.decisions
}

// Deadline is the wall time at which Step wants a fact.TimePassed even if
// nothing else happens; zero when it waits for nothing.
func Deadline(s State) time.Time { return s.p.deadline() }

// Status is the pod's status as the API server should have it. The caller must
// not change what it points to.
func Status(s State) v1.PodStatus { return s.p.status() }

// Probes lists the probes that should be running now. The caller starts those
// that are new (by [Probe.Key]) and ends those that are missing.
func Probes(s State) []Probe { return s.p.probes() }

// turn is one step: a copy of the pod that may be changed, the fact that came,
// and what was decided so far.
type turn struct {
	pod
	fact      fact.Fact
	now       time.Time
	decisions []fact.Decision
}

// when is the time at which the fact happened, without a monotonic reading: a
// replay has none, and must compute the same.
func (t *turn) when() time.Time { return t.fact.When().Round(0) }

// decide adds a decision. It rests on the given facts, and always on the one
// that this turn is about.
func (t *turn) decide(container string, attempt int32, body fact.Decided, because ...fact.ID) {
	t.decisions = append(t.decisions, fact.Decide(container, attempt, body, t.fact.ID, t.earlier(because)...))
}

// earlier drops zeros and repetitions.
func (t *turn) earlier(ids []fact.ID) []fact.ID {
	var kept []fact.ID
	seen := map[fact.ID]bool{0: true, t.fact.ID: true}
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			kept = append(kept, id)
		}
	}
	return kept
}

// news is what a fact amounts to.
type news int

const (
	nothing news = iota // health has no use for it
	aCount              // one more of what is known: nothing can follow from it
	aChange
)

// observe folds the fact into the pod: what the world is like now. What should
// be done about it is planned afterwards, from the whole picture.
func (t *turn) observe() news {
	switch b := t.fact.Body.(type) {
	case fact.SpecSeen:
		t.specSeen(b)
	case fact.ConditionsSeen:
		t.Foreign = b.Conditions
	case fact.RoomSeen:
		t.roomSeen(b)
	case fact.RoomMade:
		t.roomMade()
	case fact.Admitted:
		t.admitted(b)
	case fact.Refused:
		t.refused(b)
	case fact.AdoptedStatus:
		t.adoptedStatus(b.Status)
	case fact.DeletionSeen:
		t.deletionSeen(b)
	case fact.EvictionNeeded:
		t.evictionNeeded(b)
	case fact.NodeShutdown:
		t.nodeShutdown(b)
	case fact.ReferenceChanged:
		t.referenceChanged()
	case fact.SetUpDone:
		return t.setUpDone(b)
	case fact.SetUpFailed:
		t.setUpFailed(b)
	case fact.SandboxLost:
		t.sandboxLost(b)
	case fact.TornDown:
		t.tornDown()
	case fact.ObjectGone:
		t.Gone = true
	case fact.Resized:
		t.resized(b)
	case fact.ResizeFailed:
		t.resizeFailed(b)
	case fact.TimePassed:
	default:
		if c := t.find(t.fact.Container); c != nil {
			return t.observeContainer(c)
		}
		return nothing
	}
	return aChange
}

// observeContainer folds a fact about one container into it. Facts about
// another run than the one at hand are late or repeated, and ignored.
func (t *turn) observeContainer(c *container) news {
	switch b := t.fact.Body.(type) {
	case fact.ImageFailed:
		t.imageFailed(c, b)
	case fact.Created:
		return t.created(c, b)
	case fact.Started:
		return t.started(c, b)
	case fact.StartFailed:
		t.startFailed(c, b)
	case fact.HookRan:
		t.hookRan(c, b)
	case fact.Exited:
		return t.exited(c, b)
	case fact.KillFailed:
		return t.killFailed(c)
	case fact.Probed:
		return t.probed(c, b)
	case fact.OOMKilled:
		t.oomKilled(c, b)
	default:
		return nothing
	}
	return aChange
}

// plan decides what should be done, from the picture as it is now. It is run
// after every fact; what is under way already is not asked for again.
func (t *turn) plan() {
	if !t.settled() || t.Gone {
		return
	}
	if !t.AdoptedAt.IsZero() && !t.now.Before(t.AdoptedAt.Add(t.Policy.Retry)) {
		t.giveUpUnseen()
	}
	t.endIfDue()
	switch {
	case t.Ending != nil:
		t.planEnding()
	case t.Sandbox.Stage == sandboxLost:
		t.planNewSandbox()
	case t.restartingAll():
		t.planRestartAll()
	default:
		t.planSetUp()
		t.planKills()
		t.planStarts()
		t.planResizes()
	}
}

// settled says whether it is known what the pod is, and whether it may run.
func (p *pod) settled() bool {
	return p.Object != nil && (p.Admission != "" || p.Ending != nil)
}

// report decides what the API server is told: readiness, phase, conditions.
func (t *turn) report() {
	if !t.settled() {
		return
	}
	t.markContainers()
	t.movePhase()
	t.moveConditions()
}
