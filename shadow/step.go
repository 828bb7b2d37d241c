package shadow

import (
	"maps"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
)

// Step takes one fact of a pod and gives the state after it, with what kubelet must
// have decided.
func Step(state State, f fact.Fact) (State, []Decision) {
	s := &stepper{State: state, fact: f}
	switch b := f.Body.(type) {
	case fact.SpecSeen:
		if b.Object != nil {
			s.Object = b.Object
		}
	case fact.StatusSeen:
		s.statusSeen(b)
	case fact.DeletionSeen:
		s.goes(fact.KillDeletion, b.GraceSeconds, f.When())
	case fact.EvictionNeeded:
		s.Needed = &Needed{f.ID, f.When(), b}
		if s.For == fact.KillEviction && s.Status != nil {
			s.evict(*s.Status, s.Since)
		}
	case fact.SandboxLost:
		s.sandboxLost()
	}
	if f.Container != "" {
		s.container()
	}
	return s.State, s.out
}

// container takes a fact about a run of a container. One about an earlier run than
// the newest is old news; only what kubelet says of its end is still worth an act.
func (s *stepper) container() {
	f := s.fact
	r, known := s.Runs[f.Container]
	if known && f.Attempt < r.Attempt {
		s.lateWord()
		s.lateCount()
		return
	}
	if !known || f.Attempt > r.Attempt {
		if known {
			s.Before = maps.Clone(s.Before)
			if s.Before == nil {
				s.Before = map[string]Run{}
			}
			s.Before[f.Container] = r
		}
		r = Run{Attempt: f.Attempt}
	}
	switch b := f.Body.(type) {
	case fact.Created:
		r.ContainerID = b.ContainerID
	case fact.Started:
		r.ContainerID, r.Start = b.ContainerID, f.ID
	case fact.HookRan:
		if b.Hook == fact.PostStart && b.Error != "" {
			r.Hook = f.ID
		}
	case fact.Probed:
		r.Rows = s.withAttempt(r.Rows, b)
	case fact.Counted:
		r.Rows = s.withCount(r.Rows, b)
	case fact.Signalled:
		if b.Main && b.Origin == fact.FromNode {
			r = r.ordered(f, false)
		}
	case fact.Said:
		r = s.said(r, b)
	case fact.Exited:
		if r.Exit == 0 {
			r.Exit, r.At = f.ID, f.When()
		}
	}
	s.set(f.Container, r)
	s.judge(f.Container)
}

// lateCount takes counters that belong to the run before the newest.
func (s *stepper) lateCount() {
	name, now := s.fact.Container, s.Runs[s.fact.Container]
	r, known := s.Before[name]
	b, ok := s.fact.Body.(fact.Counted)
	if !known || !ok || r.Attempt != s.fact.Attempt {
		return
	}
	r.Rows = s.withCount(r.Rows, b)
	s.set(name, r)
	s.judge(name)
	s.Before = maps.Clone(s.Before)
	s.Before[name] = s.Runs[name]
	s.set(name, now)
}

// ordered notes that the end of a run was ordered, from the first word of it on.
func (r Run) ordered(f fact.Fact, byKubelet bool) Run {
	if r.Order == 0 || f.When().Before(r.Ordered) {
		r.Order, r.Ordered = f.ID, f.When()
	}
	r.ByKubelet = r.ByKubelet || byKubelet
	return r
}

func (s *stepper) withAttempt(rows map[fact.ProbeKind]Row, b fact.Probed) map[fact.ProbeKind]Row {
	f := s.fact
	row, failed := rows[b.Probe]
	if !failed && b.Verdict != fact.Failure {
		return rows
	}
	rows = maps.Clone(rows)
	if rows == nil {
		rows = map[fact.ProbeKind]Row{}
	}
	switch b.Verdict {
	case fact.Success, fact.Warning:
		delete(rows, b.Probe)
		return rows
	case fact.Failure:
		last := f.When()
		if b.Until.After(last) {
			last = b.Until
		}
		if slices.Contains(row.IDs, f.ID) {
			return rows
		}
		ids := append(slices.Clone(row.IDs), f.ID)
		now := Row{IDs: ids[max(0, len(ids)-mostInRow):], Long: row.Long + max(1, b.Count), First: f.When(), Last: later(last, row.Last)}
		if row.Long > 0 && row.First.Before(now.First) {
			now.First = row.First
		}
		// kubelet tells of failures alone.
		if b.By == fact.BySay && s.gaps(b.Probe, now) {
			now = Row{IDs: []fact.ID{f.ID}, Long: max(1, b.Count), First: f.When(), Last: last}
			if s.gaps(b.Probe, now) {
				now.Long, now.First = 1, last
			}
		}
		rows[b.Probe] = now
	}
	return rows
}

// gaps says whether a row of failures took longer than so many attempts do: then others
// succeeded between them, of which nobody told.
func (s *stepper) gaps(kind fact.ProbeKind, r Row) bool {
	spec := s.spec(s.fact.Container)
	if spec == nil {
		return false
	}
	p := fact.ProbeOf(spec, kind)
	if p == nil {
		return false
	}
	each := time.Duration(max(p.PeriodSeconds, 1)+max(p.TimeoutSeconds, 1)) * time.Second
	return r.Last.Sub(r.First) > time.Duration(r.Long-1)*each+slack
}

// withCount takes kubelet's counters for a row of failures only where nobody told of
// attempts, and where the counters themselves leave no room for a success between.
func (s *stepper) withCount(rows map[fact.ProbeKind]Row, b fact.Counted) map[fact.ProbeKind]Row {
	row := rows[b.Probe]
	if b.NewFailures == 0 || len(row.IDs) > 0 && !row.Counted {
		return rows
	}
	rows = maps.Clone(rows)
	if rows == nil {
		rows = map[fact.ProbeKind]Row{}
	}
	if b.NewSuccesses > 0 {
		row = Row{}
	}
	ids := append(slices.Clone(row.IDs), s.fact.ID)
	rows[b.Probe] = Row{IDs: ids[max(0, len(ids)-mostInRow):], Long: row.Long + b.NewFailures, Last: s.fact.When(), Counted: true}
	return rows
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
