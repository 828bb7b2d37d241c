package answer

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"
)

// urgency orders symptoms: what needs a person first comes first.
var urgency = map[SymptomKind]int{
	UnknownNode: 1, Evicted: 2, Failed: 3, NotStarting: 4, Pending: 4, Restarted: 5, NotReady: 6, NotServing: 6, Degraded: 7,
	Completed: 8, Terminating: 9, Disappeared: 10, Healthy: 11,
}

// Urgency orders symptoms: what needs a person first has the least.
func Urgency(k SymptomKind) int { return urgency[k] }

// passes is how long after something happened it counts as going on: kubelet forgets the restarts of a container that has
// run for so long. justOver is the same for how something is.
const passes, justOver = 10 * time.Minute, time.Minute

// IsOver reports whether a symptom was over some time before the answer, or its pod is gone.
func (a *Answer) IsOver(s Symptom) bool {
	if slices.ContainsFunc(a.Symptoms, func(s Symptom) bool { return s.Kind == Disappeared }) {
		return true
	}
	ago := a.AsOf.Sub(s.Last)
	switch s.Kind {
	case Restarted, Evicted, Failed, Completed, Disappeared:
		return !s.Last.IsZero() && ago > passes
	case NotReady, NotServing, Degraded:
		return !s.Last.IsZero() && ago > justOver
	}
	return false
}

// WorstFirst orders answers by how much they need a person: what goes on stands above what is over, of which the newest
// comes first.
func WorstFirst(all []Answer) {
	slices.SortStableFunc(all, func(a, b Answer) int {
		return cmp.Or(a.need().compare(b.need()), cmp.Compare(a.Subject.Namespace, b.Subject.Namespace), cmp.Compare(a.Subject.Name, b.Subject.Name))
	})
}

// need is how much a person is needed: the least first.
type need struct {
	over    int
	last    time.Time // of what is over
	urgency int
}

func (n need) compare(o need) int {
	return cmp.Or(cmp.Compare(n.over, o.over), o.last.Compare(n.last), cmp.Compare(n.urgency, o.urgency))
}

// need is that of the symptom that needs a person most.
func (a *Answer) need() need {
	most := need{over: 2, urgency: urgency[Healthy]}
	for i, s := range a.Symptoms {
		one := need{urgency: urgency[s.Kind]}
		if a.isUnusedService(i) {
			one.urgency = urgency[Completed]
		}
		switch {
		case WellOrDone(s, a.Verdicts[i]):
			one.over = 2
		case a.IsOver(s):
			one.over, one.last = 1, s.Last
		}
		if i == 0 || one.compare(most) < 0 {
			most = one
		}
	}
	return most
}

// isUnusedService reports whether a symptom is a missing backend of a Service that no failing pod is known to use.
func (a *Answer) isUnusedService(i int) bool {
	v := a.Verdicts[i]
	return a.Subject.Kind == "Service" && v.Cause == DependencyDown && len(v.TakesDown) == 0
}

// Explained says whether every symptom has a known cause.
func (a *Answer) Explained() bool {
	return !slices.ContainsFunc(a.Verdicts, func(v Verdict) bool { return v.Cause == CauseUnknown })
}

// WellOrDone says whether a symptom asks for nobody: all is well, as far as probes call it that, or the
// work is done.
func WellOrDone(s Symptom, v Verdict) bool {
	return s.AtStart || s.Kind == Healthy && (v.Cause == None || s.BelowThreshold) || s.Kind == Completed && v.Cause == RestartPolicy
}

// Ill are the symptoms that ask for somebody, each with its verdict: see [WellOrDone].
func (a *Answer) Ill() iter.Seq2[Symptom, Verdict] {
	return func(yield func(Symptom, Verdict) bool) {
		for _, v := range a.Verdicts {
			if s := a.symptom(v.Symptom); !WellOrDone(s, v) && !yield(s, v) {
				return
			}
		}
	}
}

// Put appends a symptom and its verdict under an id of their own.
func (a *Answer) Put(s Symptom, v Verdict) {
	s.ID = fmt.Sprintf("s%d", len(a.Symptoms)+1)
	v.Symptom = s.ID
	a.Symptoms, a.Verdicts = append(a.Symptoms, s), append(a.Verdicts, v)
}

// Join appends the symptoms of another answer about the same subject, but for
// that all is well.
func (a *Answer) Join(other *Answer) {
	if other == nil {
		return
	}
	a.Journal.Gaps = append(a.Journal.Gaps, other.Journal.Gaps...)
	for i, s := range other.Symptoms {
		if v := other.Verdicts[i]; s.Kind != Healthy || v.Cause != None {
			a.Put(s, v)
		}
	}
}
