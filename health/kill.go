package health

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// kill is a decided end of a container, kept until it has ended and, with the
// run, until the next one has begun.
type kill struct {
	Reason   fact.KillReason `json:"reason"`
	Message  string          `json:"message"`
	Grace    int64           `json:"grace"` // seconds
	SkipHook bool            `json:"skipHook,omitempty"`
	// Restart is set when it is ended in order to be started again.
	Restart bool `json:"restart,omitempty"`
	// Cause is why, as a clause: "liveness probe failed 3 times in a row (…)".
	Cause   string    `json:"cause"`
	Facts   []fact.ID `json:"facts,omitempty"`
	At      time.Time `json:"at"`
	RetryAt time.Time `json:"retryAt,omitzero"`
}

func (k *kill) body() fact.Kill {
	return fact.Kill{Reason: k.Reason, Message: k.Message, GraceSeconds: k.Grace, SkipHook: k.SkipHook}
}

// kill asks for the end of a container.
func (t *turn) kill(c *container, k kill) {
	k.At = t.now
	c.Kill = &k
	t.decide(c.Name, c.current(), k.body(), k.Facts...)
}

// current is the restart count of what is under way.
func (c *container) current() int32 {
	if c.Stage == starting {
		return c.Try
	}
	return c.Attempt
}

func (t *turn) killFailed(c *container) news {
	if c.Kill == nil || !c.alive() || t.fact.Attempt != c.current() {
		return nothing
	}
	k := *c.Kill
	k.RetryAt = t.now.Add(t.Policy.Retry)
	c.Kill = &k
	return aChange
}

// killAgain asks once more after a kill that failed.
func (t *turn) killAgain(c *container) {
	if c.Kill == nil || !c.alive() || c.Kill.RetryAt.IsZero() || t.now.Before(c.Kill.RetryAt) {
		return
	}
	k := *c.Kill
	k.RetryAt, k.SkipHook = time.Time{}, true
	at := k.At
	t.kill(c, k)
	c.Kill.At = at // it counts from the first attempt
}

// leastGrace is what a pod without any wish gets (kuberuntime_container.go,
// minimumGracePeriodInSeconds).
const leastGrace = 2

// grace is how many seconds a container gets to end, its preStop hook included
// (kuberuntime/kuberuntime_container.go, setTerminationGracePeriod).
func (p *pod) grace(c *container, reason fact.KillReason) int64 {
	if p.Deletion != nil {
		return p.Deletion.Grace
	}
	s := p.spec(c)
	probe := map[fact.KillReason]*v1.Probe{fact.KillLiveness: s.LivenessProbe, fact.KillStartup: s.StartupProbe}[reason]
	if probe != nil && probe.TerminationGracePeriodSeconds != nil {
		return *probe.TerminationGracePeriodSeconds
	}
	return p.podGrace()
}

func (p *pod) podGrace() int64 {
	if g := p.Object.Spec.TerminationGracePeriodSeconds; g != nil {
		return *g
	}
	return leastGrace
}

// planKills ends running containers that must not go on: those whose definition
// changed or that failed a probe (computePodActions and
// computeInitContainerActions, in their order and wording).
func (t *turn) planKills() {
	for i := range t.Containers {
		c := &t.Containers[i]
		t.killAgain(c)
		if c.Stage != running || c.Kill != nil {
			continue
		}
		switch {
		case t.changed(c):
			t.kill(c, t.restartKill(c, fact.KillSpec, "definition changed", "its image was changed in the pod's spec", []fact.ID{t.SpecFact}))
		case c.Liveness.Result == fact.Failure:
			t.kill(c, t.restartKill(c, fact.KillLiveness, "failed liveness probe", c.Liveness.cause(fact.Liveness), c.Liveness.Facts))
		case c.Startup.Result == fact.Failure:
			t.kill(c, t.restartKill(c, fact.KillStartup, "failed startup probe", c.Startup.cause(fact.Startup), c.Startup.Facts))
		case !c.Resizing && c.Room == t.Object.Generation && t.needsRestart(c):
			t.kill(c, t.restartKill(c, fact.KillResize, "resize requires restart", "its new resources need a restart", []fact.ID{t.SpecFact}))
		}
	}
}

// restartKill words the end of one container whose pod goes on.
func (t *turn) restartKill(c *container, reason fact.KillReason, what, cause string, facts []fact.ID) kill {
	k := kill{Reason: reason, Grace: t.grace(c, reason), Restart: true, Cause: cause, Facts: facts}
	k.Message = fmt.Sprintf("Container %s %s", c.Name, what)
	switch {
	case reason == fact.KillResize:
		return k
	case c.Role == sidecar:
		k.Message = "Init c" + k.Message[1:]
		return k
	}
	if reason == fact.KillLiveness || reason == fact.KillStartup {
		k.Restart = t.restartsAfterKill(c)
	}
	if k.Restart {
		k.Message += ", will be restarted"
	}
	return k
}

// changed says whether the spec names another image than the one the container
// was started with; nothing else of a container can change its hash
// (container/helpers.go, pickFieldsToHash). Init containers that are not
// sidecars are not looked at again.
func (p *pod) changed(c *container) bool {
	return (c.Role == regular || c.Role == sidecar) && c.Run.Given.Image != "" && c.Run.Given.Image != p.spec(c).Image
}
