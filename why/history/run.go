package history

import (
	"slices"
	"time"

	"whylet.dev/whylet/fact"
)

// ItsOwn says whether a container's own processes sent the signal: those that its
// main process brought forth, and not one that somebody put beside them.
func (h *History) ItsOwn(s fact.Signalled, container string) bool {
	return s.Origin == fact.FromContainer && s.SenderContainer == container && !s.SenderStray && (s.SenderPod == nil || s.SenderPod.UID == h.Pod.UID)
}

// Owner is the container whose main process has that pid, empty when it is none's.
func (h *History) Owner(pid int) string {
	if pid == 0 {
		return ""
	}
	for name, runs := range h.runs {
		for _, r := range runs {
			if r.Started != nil && fact.Of[fact.Started](r.Started).PID == pid {
				return name
			}
		}
	}
	return ""
}

// Attempts are those of the given facts that are probe attempts.
func (h *History) Attempts(all []fact.ID) []fact.ID {
	return slices.DeleteFunc(slices.Clone(all), func(id fact.ID) bool {
		f, ok := h.Fact(id)
		return !ok || f.Body.Kind() != fact.Probed{}.Kind()
	})
}

// ChosenBefore is the kill of the process that the kernel chose, where another died
// only because it takes all of a cgroup (memory.oom.group, cgroup v2).
func (r *Run) ChosenBefore(record *fact.Fact) *fact.Fact {
	if record == nil || !fact.Of[fact.OOMKilled](record).Group {
		return nil
	}
	for _, f := range slices.Backward(r.OOMKills) {
		if ago := record.When().Sub(f.When()); !fact.Of[fact.OOMKilled](f).Group && ago >= 0 && ago <= fact.OOMFollowedWithin {
			return f
		}
	}
	return nil
}

// givesBack is how long a process that was killed may take to give its memory back
// on a machine that has none left.
const givesBack = 10 * time.Second

// Dying is what those of the container held that were OOM-killed shortly before a
// record, and that are not in its table any more.
func (r *Run) Dying(record *fact.Fact) int64 {
	var sum int64
	for _, f := range r.OOMKills {
		o := fact.Of[fact.OOMKilled](f)
		if ago := record.When().Sub(f.When()); f == record || ago < 0 || ago > givesBack {
			continue
		}
		if !slices.ContainsFunc(fact.Of[fact.OOMKilled](record).Tasks, func(t fact.OOMTask) bool { return t.PID == o.PID }) {
			sum += o.AnonRSS
		}
	}
	return sum
}

// CPUTime is the limit that a look found, 0 where none did.
func (r *Run) CPUTime() (*fact.Fact, time.Duration) {
	for _, f := range r.Looks {
		if limit := fact.Of[fact.Looked](f).MaxCPU; limit > 0 {
			return f, limit
		}
	}
	return nil, 0
}

// Said are the last lines of a run's log that were said since some time, as the newest look
// that read it has them; f is nil where there are none. Where nobody knows when they were
// said, they are all of it.
func (r *Run) Said(since time.Time) (f *fact.Fact, lines []string) {
	for _, f := range slices.Backward(r.Looks) {
		if len(fact.Of[fact.Looked](f).Said) == 0 {
			continue
		}
		if lines = SaidSince(f, since); len(lines) > 0 {
			return f, lines
		}
		break
	}
	return nil, nil
}

// SaidSince are the lines of a log that a look read and that were said since some time.
func SaidSince(f *fact.Fact, since time.Time) []string {
	look := fact.Of[fact.Looked](f)
	if len(look.SaidAt) != len(look.Said) {
		return look.Said
	}
	first := slices.IndexFunc(look.SaidAt, func(at time.Time) bool { return !at.Before(since) })
	if first < 0 {
		return nil
	}
	return look.Said[first:]
}

// LastSaid are those of the last lines of a run that ended which were said since some time,
// and before the node ended it. Where nobody knows when they were said, they are all of it.
func (r *Run) LastSaid(since time.Time) []string {
	b := fact.Of[fact.Exited](r.Exit)
	if len(b.LastLinesAt) != len(b.LastLines) {
		return b.LastLines
	}
	var lines []string
	for i, at := range b.LastLinesAt {
		if !at.Before(since) && (r.Kill == nil || !at.After(r.Kill.Seen)) {
			lines = append(lines, b.LastLines[i])
		}
	}
	return lines
}

// Decided returns the run as it was when the node decided to end it, without what was seen only after that: it tells of
// the end, not of what led to it. What an attempt of before led to looks for its reason and belongs to it, however late it
// is seen; of what was said there the lines of after the decision are left out. A run that nobody ordered to end is
// returned as it is.
func (r *Run) Decided() *Run {
	if r.Kill == nil {
		return r
	}
	end, cut := r.decidedAt(), *r
	before := func(f *fact.Fact) bool {
		return !f.When().After(end) || r.ledTo(f, end) || fact.Of[fact.ProcessEnded](f).Main // which says what it was
	}
	cut.Probes, cut.Again, cut.Looks, cut.Ended = kept(r.Probes, before), kept(r.Again, before), nil, kept(r.Ended, before)
	for _, f := range kept(r.Looks, before) {
		cut.Looks = append(cut.Looks, saidUntil(f, end))
	}
	return &cut
}

// decidedAt is when the node decided to end a run. An event that Kubernetes folds may have the time of an earlier run's
// decision: one that is older than the grace period allows is taken for made at the end.
func (r *Run) decidedAt() time.Time {
	grace := time.Duration(fact.Of[fact.Kill](r.Kill).GraceSeconds) * time.Second
	if r.Exit != nil && r.Exit.When().Sub(r.Kill.Seen) > grace+follows {
		return r.Exit.When()
	}
	return r.Kill.Seen
}

// ledTo reports whether a fact was sought for an attempt that was seen before a time.
func (r *Run) ledTo(f *fact.Fact, end time.Time) bool {
	return slices.ContainsFunc(f.Because, func(id fact.ID) bool {
		return slices.ContainsFunc(r.Probes, func(p *fact.Fact) bool { return p.ID == id && !p.Seen.After(end) })
	})
}

func kept(all []*fact.Fact, keep func(*fact.Fact) bool) []*fact.Fact {
	return slices.DeleteFunc(slices.Clone(all), func(f *fact.Fact) bool { return !keep(f) })
}

// saidUntil returns a look without the lines that were said after a time: the look itself where it has none.
func saidUntil(f *fact.Fact, end time.Time) *fact.Fact {
	look := fact.Of[fact.Looked](f)
	n := slices.IndexFunc(look.SaidAt, func(at time.Time) bool { return at.After(end) })
	if n < 0 || len(look.SaidAt) != len(look.Said) {
		return f
	}
	cut := *f
	look.Said, look.SaidAt = look.Said[:n:n], look.SaidAt[:n:n]
	cut.Body = look
	return &cut
}

// FailsSince is since when a run fails as it does now: the end of its last good attempt of a probe whose newest
// attempt is bad, or of the last that had another HTTP status than those since, where there are several; zero
// for one that always failed so, or is well.
func (r *Run) FailsSince() time.Time {
	var looked []fact.ProbeKind
	for i, f := range slices.Backward(r.Probes) {
		switch b := fact.Of[fact.Probed](f); {
		case slices.Contains(looked, b.Probe):
		case good(b):
			looked = append(looked, b.Probe)
		default:
			return failsSince(r.Probes[:i], b)
		}
	}
	return time.Time{}
}

// failsSince is the same of one probe, by the attempts before its newest.
func failsSince(before []*fact.Fact, newest fact.Probed) time.Time {
	same := 1
	for _, f := range slices.Backward(before) {
		b := fact.Of[fact.Probed](f)
		switch like := status(b) == status(newest); {
		case b.Probe != newest.Probe:
		case good(b), !like && same > 1:
			return f.End()
		case like && same > 0:
			same++
		default:
			same = 0 // now this, now that
		}
	}
	return time.Time{}
}

func good(b fact.Probed) bool { return b.Verdict == fact.Success || b.Verdict == fact.Warning }

// status is the HTTP status of an attempt that was answered; 0 of others.
func status(b fact.Probed) int {
	if b.Evidence == nil {
		return 0
	}
	return b.Evidence.Status
}

// AtPIDLimit is the newest sample of that time with as many tasks as are allowed.
func (r *Run) AtPIDLimit(from, until time.Time) *fact.Fact {
	for _, f := range slices.Backward(r.Samples) {
		b := fact.Of[fact.Sampled](f)
		if b.PIDLimit > 0 && b.PIDs >= b.PIDLimit && !f.Seen.Before(from) && !f.Seen.After(until) {
			return f
		}
	}
	return nil
}
