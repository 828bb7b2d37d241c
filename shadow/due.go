package shadow

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// due finds the probe for whose failing kubelet had reason to end a run at a moment:
// as many failures in a row as its threshold, the last of them lately. Startup comes
// first: as long as it has not succeeded, liveness is not asked.
func (s *State) due(name string, r Run, at time.Time) (fact.KillReason, Row, bool) {
	spec := s.spec(name)
	if spec == nil {
		return "", Row{}, false
	}
	for _, one := range []struct {
		reason fact.KillReason
		kind   fact.ProbeKind
		probe  *v1.Probe
	}{{fact.KillStartup, fact.Startup, spec.StartupProbe}, {fact.KillLiveness, fact.Liveness, spec.LivenessProbe}} {
		row := r.Rows[one.kind]
		if one.probe == nil || row.Long < int64(max(1, one.probe.FailureThreshold)) {
			continue
		}
		// The attempt, the sync that follows, and the grace period lie between.
		within := time.Duration(one.probe.PeriodSeconds+one.probe.TimeoutSeconds)*time.Second + s.grace(one.probe) + slack
		if since := at.Sub(row.Last); since < within && since > -slack {
			return one.reason, row, true
		}
	}
	return "", Row{}, false
}

// slack is how far the times of two sources may lie apart: events and statuses have
// whole seconds.
const slack = 3 * time.Second

// grace is how long a container may take to end when a probe had it ended.
func (s *State) grace(p *v1.Probe) time.Duration {
	seconds := int64(30)
	if s.Object != nil && s.Object.Spec.TerminationGracePeriodSeconds != nil {
		seconds = *s.Object.Spec.TerminationGracePeriodSeconds
	}
	if p != nil && p.TerminationGracePeriodSeconds != nil {
		seconds = *p.TerminationGracePeriodSeconds
	}
	return time.Duration(seconds) * time.Second
}
