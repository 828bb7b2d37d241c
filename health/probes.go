package health

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// Probe is a probe that should be running.
type Probe struct {
	Key ProbeKey
	// Spec is the container's own, with the port as it is written there; it must not
	// be changed.
	Spec *v1.Probe
	// ContainerID is the running container, StartedAt what initialDelaySeconds
	// counts from, Host where httpGet, tcpSocket and grpc go unless Spec names a host.
	ContainerID string
	StartedAt   time.Time
	Host        string
	// Container is the specification around it: the port may be a name, and an exec
	// command may name environment variables.
	Container *v1.Container
}

// ProbeKey tells probes of one pod apart: a restarted container has new ones.
type ProbeKey struct {
	Container string
	Kind      fact.ProbeKind
	Attempt   int32
}

// probing is what the attempts of one probe came to (prober/worker.go).
type probing struct {
	// Result is what counts: the verdict that was last given often enough in a row.
	// Empty is the initial value, which is success for liveness, failure for
	// readiness, and neither for startup (newWorker).
	Result fact.Verdict `json:"result,omitempty"`
	// Held is set when no attempt is wanted before the container is started anew.
	Held bool `json:"held,omitempty"`

	// The last attempts in a row with the same verdict, and what the last failure
	// said.
	Last   fact.Verdict `json:"last,omitempty"`
	Streak int64        `json:"streak,omitempty"`
	Text   string       `json:"text,omitempty"`
	// Facts are the newest attempts up to the one at which the row was long enough,
	// bounded. What comes after it changes nothing, and may be folded in a journal.
	Facts []fact.ID `json:"facts,omitempty"`
}

func (c *container) probing(kind fact.ProbeKind) *probing {
	switch kind {
	case fact.Startup:
		return &c.Startup
	case fact.Liveness:
		return &c.Liveness
	}
	return &c.Readiness
}

func probeOf(c *v1.Container, kind fact.ProbeKind) *v1.Probe {
	switch kind {
	case fact.Startup:
		return c.StartupProbe
	case fact.Liveness:
		return c.LivenessProbe
	case fact.Readiness:
		return c.ReadinessProbe
	}
	return nil
}

// probed counts an attempt. What could not be attempted counts as nothing
// (doProbe throws a prober's error away), and neither does an answer to a probe
// that should not have been running. Most attempts only add to a row that is
// long enough, or not long enough yet.
func (t *turn) probed(c *container, b fact.Probed) news {
	spec := probeOf(t.spec(c), b.Probe)
	if spec == nil || t.fact.Attempt != c.Attempt || !t.wantsProbe(c, b.Probe) {
		return nothing
	}
	verdict := b.Verdict
	if verdict == fact.Warning {
		verdict = fact.Success
	}
	if verdict != fact.Success && verdict != fact.Failure {
		return nothing
	}
	threshold := int64(spec.SuccessThreshold)
	if verdict == fact.Failure {
		threshold = int64(spec.FailureThreshold)
	}
	p := c.probing(b.Probe)
	p.count(verdict, b, threshold, t.fact.ID)
	if p.Streak < threshold || p.Result == verdict {
		return aCount
	}
	p.Result = verdict
	p.Held = b.Probe == fact.Startup || b.Probe == fact.Liveness && verdict == fact.Failure
	return aChange
}

func (p *probing) count(verdict fact.Verdict, b fact.Probed, threshold int64, id fact.ID) {
	if p.Last != verdict {
		p.Last, p.Streak, p.Text, p.Facts = verdict, 0, "", nil
	}
	reached := p.Streak >= threshold
	p.Streak += max(1, b.Count)
	if reached {
		return
	}
	if verdict == fact.Failure {
		p.Text = b.Message
	}
	kept := p.Facts
	if len(kept) >= fact.MostNamed {
		kept = kept[1:]
	}
	p.Facts = append(append([]fact.ID(nil), kept...), id)
}

// cause words why a probe ends its container.
func (p *probing) cause(kind fact.ProbeKind) string {
	name := map[fact.ProbeKind]string{fact.Startup: "startup", fact.Liveness: "liveness"}[kind]
	times := "once"
	if p.Streak > 1 {
		times = fmt.Sprintf("%d times in a row", p.Streak)
	}
	if p.Text == "" {
		return fmt.Sprintf("%s probe failed %s", name, times)
	}
	return fmt.Sprintf("%s probe failed %s (%s)", name, times, p.Text)
}

// hasStarted says that the container runs and its startup probe, if it has one,
// succeeded (prober/prober_manager.go, isContainerStarted).
func (p *pod) hasStarted(c *container) bool {
	return c.Stage == running && (p.spec(c).StartupProbe == nil || c.Role == initial || c.Startup.Result == fact.Success)
}

// isReady says that the container may serve. One without a readiness probe is
// ready as soon as it has started (UpdatePodStatus); an init container is when
// it has done its work.
func (p *pod) isReady(c *container) bool {
	switch c.Role {
	case ephemeral:
		return false
	case initial:
		return c.Stage == ended && c.Run.Ended.ExitCode == 0
	}
	return p.hasStarted(c) && (p.spec(c).ReadinessProbe == nil || c.Readiness.Result == fact.Success)
}

// wantsProbe says whether a probe should be running: liveness and readiness only
// once the container has started, startup only until then, and no liveness or
// startup in a pod that ends (doProbe, StopLivenessAndStartup).
func (p *pod) wantsProbe(c *container, kind fact.ProbeKind) bool {
	if c.Stage != running || c.Role == initial || c.Role == ephemeral {
		return false
	}
	if kind != fact.Readiness && (p.Ending != nil || c.Kill != nil) {
		return false
	}
	return !c.probing(kind).Held && p.hasStarted(c) == (kind != fact.Startup)
}

func (p *pod) probes() []Probe {
	if p.Object == nil {
		return nil
	}
	var wanted []Probe
	for i := range p.Containers {
		c := &p.Containers[i]
		if c.Stage != running {
			continue
		}
		spec := p.spec(c)
		for _, kind := range []fact.ProbeKind{fact.Startup, fact.Liveness, fact.Readiness} {
			if probe := probeOf(spec, kind); probe != nil && p.wantsProbe(c, kind) {
				wanted = append(wanted, p.probe(c, spec, kind, probe))
			}
		}
	}
	return wanted
}

func (p *pod) probe(c *container, spec *v1.Container, kind fact.ProbeKind, probe *v1.Probe) Probe {
	wanted := Probe{
		Key:         ProbeKey{Container: c.Name, Kind: kind, Attempt: c.Attempt},
		Spec:        probe,
		ContainerID: c.Run.ID, StartedAt: c.Run.StartedAt, Container: spec,
	}
	if len(p.Sandbox.IPs) > 0 {
		wanted.Host = p.Sandbox.IPs[0]
	}
	return wanted
}
