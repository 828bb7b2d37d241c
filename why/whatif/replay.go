package whatif

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
)

// life is what package health makes of one run of a container.
type life struct {
	// kill is when it decides to end the container; zero: it does not.
	kill   time.Time
	reason fact.KillReason
	// unready is how long the container was not ready after it first had been.
	unready time.Duration
	// row is how many attempts of a probe that can end it had failed at the end.
	row int
}

// live replays one run: a pod with this container alone, started at that time,
// and the attempts that were made. Attempts that are not known go as assumed.
func live(pod *v1.Pod, container v1.Container, policy health.Policy, started, until time.Time, attempts []attempt, assumed outcome) life {
	r := replayed{state: health.New(policy), key: fact.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
	object := pod.DeepCopy()
	object.DeletionTimestamp = nil
	container.Lifecycle = nil // its hooks ran, or the run would not have been
	object.Spec.InitContainers, object.Spec.EphemeralContainers, object.Spec.ReadinessGates = nil, nil, nil
	object.Spec.Containers = []v1.Container{container}
	r.step("", started, fact.SpecSeen{Object: object, Source: fact.FromAPI})
	r.step("", started, fact.Admitted{})
	r.step("", started, fact.SetUpDone{SandboxID: "s"})
	r.step(container.Name, started, fact.Created{ContainerID: "c"})
	r.step(container.Name, started, fact.Started{ContainerID: "c"})
	slices.SortStableFunc(attempts, func(a, b attempt) int { return a.at.Compare(b.at) })
	for _, a := range attempts {
		if a.out == notKnown {
			a.out = assumed
		}
		verdict := map[outcome]fact.Verdict{good: fact.Success, bad: fact.Failure, neither: fact.Unknown}[a.out]
		r.count(a)
		r.step(container.Name, a.at, fact.Probed{Probe: a.kind, Verdict: verdict})
		if !r.life.kill.IsZero() {
			until = a.at
			break
		}
	}
	if r.ready && !r.isReady && until.After(r.since) {
		r.life.unready += until.Sub(r.since)
	}
	return r.life
}

// replayed is a run under way in package health.
type replayed struct {
	state health.State
	key   fact.Pod
	last  fact.ID
	life  life

	ready, isReady bool // ever, and now
	since          time.Time
}

func (r *replayed) step(container string, at time.Time, body fact.Body) {
	r.last++
	f := fact.Fact{ID: r.last, At: at, Seen: at, Pod: r.key, Container: container, Body: body}
	next, decisions := health.Step(r.state, f)
	r.state = next
	for _, d := range decisions {
		r.last++
		switch b := d.Body().(type) {
		case fact.Kill:
			if r.life.kill.IsZero() {
				r.life.kill, r.life.reason = at, b.Reason
			}
		case fact.Marked:
			r.marked(b.Ready, at)
		}
	}
}

func (r *replayed) marked(ready bool, at time.Time) {
	switch {
	case ready && r.ready && !r.isReady:
		r.life.unready += at.Sub(r.since)
	case !ready:
		r.since = at
	}
	r.ready, r.isReady = r.ready || ready, ready
}

// count follows the row of failures of the probes that can end the container.
func (r *replayed) count(a attempt) {
	switch {
	case a.kind == fact.Readiness:
	case a.out == bad:
		r.life.row++
	case a.out == good:
		r.life.row = 0
	}
}
