package answer

import (
	"cmp"
	"fmt"
	"slices"
)

// urgency orders symptoms: what needs a person first comes first.
var urgency = map[SymptomKind]int{
	UnknownNode: 1, Evicted: 2, Failed: 3, NotStarting: 4, Pending: 4, Restarted: 5, NotReady: 6, NotServing: 6, Degraded: 7,
	Completed: 8, Terminating: 9, Disappeared: 10, Healthy: 11,
}

// Urgency orders symptoms: what needs a person first has the least.
func Urgency(k SymptomKind) int { return urgency[k] }

// WorstFirst orders answers by how much they need a person.
func WorstFirst(all []Answer) {
	rank := func(a Answer) int {
		if len(a.Symptoms) == 0 {
			return urgency[Healthy]
		}
		return urgency[a.Symptoms[0].Kind]
	}
	slices.SortStableFunc(all, func(a, b Answer) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Subject.Namespace, b.Subject.Namespace), cmp.Compare(a.Subject.Name, b.Subject.Name))
	})
}

// Explained says whether every symptom has a known cause.
func (a *Answer) Explained() bool {
	return !slices.ContainsFunc(a.Verdicts, func(v Verdict) bool { return v.Cause == CauseUnknown })
}

// WellOrDone says whether a symptom asks for nobody: all is well, as far as probes call it that, or the
// work is done.
func WellOrDone(s Symptom, v Verdict) bool {
	return s.Kind == Healthy && (v.Cause == None || s.BelowThreshold) || s.Kind == Completed && v.Cause == RestartPolicy
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
		v := other.Verdicts[i]
		if s.Kind == Healthy && v.Cause == None {
			continue
		}
		a.Put(s, v)
	}
}
