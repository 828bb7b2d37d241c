package timeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/whatif"
)

// The values that are tried beside what is set. Every combination is replayed by the
// rules of pod health themselves, once, so that a saved page needs no program to say
// the same.
var (
	timeouts   = []int{1, 2, 3, 5, 10, 30}
	periods    = []int{1, 2, 5, 10, 20, 30}
	thresholds = []int{1, 2, 3, 5, 10}
	// memories are shares of the limit that is set, in quarters.
	memories = []int64{2, 3, 4, 5, 6, 8, 12, 16}
)

// mostAttempts bounds how many attempts are replayed with every combination.
const mostAttempts = 3000

// Trials says what other settings would have changed: of every probe that ever failed,
// and of the memory limit of containers that hit it.
func Trials(h *history.History, o why.Options) []Trial {
	if h.Object == nil {
		return nil
	}
	var all []Trial
	for i := range h.Object.Spec.Containers {
		c := &h.Object.Spec.Containers[i]
		for _, p := range []struct {
			kind  fact.ProbeKind
			field string
			probe *v1.Probe
		}{{fact.Liveness, "livenessProbe", c.LivenessProbe}, {fact.Startup, "startupProbe", c.StartupProbe}, {fact.Readiness, "readinessProbe", c.ReadinessProbe}} {
			failed, attempts := failures(h, c.Name, p.kind)
			if p.probe == nil || !failed || attempts > mostAttempts {
				continue
			}
			all = append(all, try(h, o, c.Name, []Knob{
				knob(p.field+".timeoutSeconds", timeouts, p.probe.TimeoutSeconds, 1),
				knob(p.field+".failureThreshold", thresholds, p.probe.FailureThreshold, 3),
				knob(p.field+".periodSeconds", periods, p.probe.PeriodSeconds, 10),
			}))
		}
		if limit := c.Resources.Limits.Memory().Value(); limit > 0 && slices.ContainsFunc(h.Runs(c.Name), func(r *history.Run) bool { return len(r.OOMKills) > 0 || len(r.Samples) > 0 }) {
			all = append(all, try(h, o, c.Name, []Knob{memoryKnob(limit)}))
		}
	}
	return slices.DeleteFunc(all, func(t Trial) bool { return len(t.Results) < 2 })
}

// failures says whether a probe of a container ever failed, and how many attempts are
// kept.
func failures(h *history.History, container string, kind fact.ProbeKind) (failed bool, attempts int) {
	for _, run := range h.Runs(container) {
		for _, f := range run.Probes {
			if b, ok := f.Body.(fact.Probed); ok && b.Probe == kind {
				attempts++
				failed = failed || b.Verdict == fact.Failure
			}
		}
	}
	return failed, attempts
}

func knob(field string, values []int, now, otherwise int32) Knob {
	if now == 0 {
		now = otherwise
	}
	values = slices.Clone(values)
	if !slices.Contains(values, int(now)) {
		values = append(values, int(now))
		slices.Sort(values)
	}
	k := Knob{Field: field, Now: slices.Index(values, int(now))}
	for _, v := range values {
		k.Values = append(k.Values, strconv.Itoa(v))
	}
	return k
}

func memoryKnob(limit int64) Knob {
	k := Knob{Field: "resources.limits.memory", Now: slices.Index(memories, 4)}
	for _, quarters := range memories {
		k.Values = append(k.Values, resource.NewQuantity(limit*quarters/4, resource.BinarySI).String())
	}
	return k
}

// try asks about every combination of the knobs' values.
func try(h *history.History, o why.Options, container string, knobs []Knob) Trial {
	t := Trial{Container: container, Settings: knobs}
	known := map[string]int{}
	at := make([]int, len(knobs))
	for {
		t.Grid = append(t.Grid, t.ask(h, o, at, known))
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(knobs[i].Values) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return t
		}
	}
}

// ask gives the index of what comes of one combination, -1 where it is refused.
func (t *Trial) ask(h *history.History, o why.Options, at []int, known map[string]int) int {
	var changes []whatif.Change
	for i, k := range t.Settings {
		all, err := whatif.Parse(fmt.Sprintf("%s:%s=%s", t.Container, k.Field, k.Values[at[i]]))
		if err != nil {
			return -1
		}
		changes = append(changes, all...)
	}
	r, err := whatif.Ask(h, changes, o)
	if err != nil {
		return -1
	}
	tried := Tried{Restarts: []Outcome{}, Out: r.OutOfService, NotKnown: r.NotKnown}
	for _, x := range r.Restarts {
		tried.Restarts = append(tried.Restarts, Outcome{At: ms(x.At), Attempt: x.Attempt, Outcome: x.Outcome, Text: x.Text})
	}
	key, err := json.Marshal(tried)
	if err != nil {
		return -1
	}
	if i, ok := known[string(key)]; ok {
		return i
	}
	known[string(key)] = len(t.Results)
	t.Results = append(t.Results, tried)
	return len(t.Results) - 1
}
