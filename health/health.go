package health

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// Step takes one observed fact about the pod and returns the state after it,
// with what was decided, in the order in which the effects must be attempted.
// The given state is not changed. Facts that are decisions, or about another
// pod, change nothing.
func Step(s State, f fact.Fact) (State, []fact.Decision)

// Deadline is the wall time at which Step wants a fact.TimePassed even if
// nothing else happens; zero when it waits for nothing.
func Deadline(s State) time.Time

// Status is the pod's status as the API server should have it.
func Status(s State) v1.PodStatus

// Probes lists the probes that should be running now. The caller starts those
// that are new (by [Probe.Key]) and ends those that are missing.
func Probes(s State) []Probe
