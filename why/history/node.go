package history

import (
	"slices"
	"time"

	"whylet.dev/whylet/fact"
)

// Ran says whether an agent with a source ran through all of a time.
func (h *History) Ran(source fact.Source, from, until time.Time) bool {
	has := false
	for _, f := range fact.All[fact.AgentStarted](h.Node) {
		b := fact.Of[fact.AgentStarted](f)
		switch {
		case !f.Seen.After(from):
			has = slices.Contains(b.Sources, source)
		case !f.Seen.After(until), b.LastSeen.Before(until):
			return false // it began meanwhile, or the one before it had ended by then
		default:
			return has
		}
	}
	return has
}

// RebootBefore is the start of an agent after a reboot, in the time of a run's
// end; nil when there was none.
func (h *History) RebootBefore(run *Run) *fact.Fact {
	exit := run.Exit
	for _, f := range fact.All[fact.AgentStarted](h.Node) {
		b := fact.Of[fact.AgentStarted](f)
		if run.Started != nil && !run.Started.When().Before(f.Seen) {
			continue // it was started after that
		}
		if b.Previous == fact.RunRebooted && !f.Seen.After(exit.Seen.Add(time.Minute)) && !b.LastSeen.IsZero() && exit.Seen.After(b.LastSeen) {
			return f
		}
	}
	return nil
}
