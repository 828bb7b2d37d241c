package shutdown

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"whylet.dev/whylet/pods"
)

// Period is how long pods from a priority up to the next period's have to end.
type Period struct {
	Priority int32
	Grace    time.Duration
}

// SystemCritical is the priority from which pods are critical (pkg/apis/scheduling/types.go).
const SystemCritical = 2 * 1000000000

// maxPeriods bounds how many periods there can be: they come one after the other.
const maxPeriods = 64

// Periods returns the periods for a time that all pods have together, of which the last part
// is for critical ones only (kubelet: migrateConfig). None: pods are not ended.
func Periods(total, critical time.Duration) ([]Period, error) {
	switch {
	case total < 0 || critical < 0:
		return nil, errors.New("a grace period cannot be negative")
	case critical > total:
		return nil, fmt.Errorf("critical pods cannot have %s of %s", critical, total)
	case total%time.Second != 0 || critical%time.Second != 0:
		return nil, errors.New("grace periods are whole seconds")
	case total == 0:
		return nil, nil
	}
	return []Period{{0, total - critical}, {SystemCritical, critical}}, nil
}

// ParsePeriods reads a list such as 0=60s,100000=30s,2000000000=10s, and sorts it by priority.
func ParsePeriods(text string) ([]Period, error) {
	var all []Period
	for item := range strings.SplitSeq(text, ",") {
		priority, grace, ok := strings.Cut(strings.TrimSpace(item), "=")
		p, err := strconv.ParseInt(priority, 10, 32)
		d, err2 := time.ParseDuration(grace)
		if !ok || err != nil || err2 != nil || d < 0 || d%time.Second != 0 {
			return nil, fmt.Errorf("%q is not PRIORITY=TIME, such as 0=60s", item)
		}
		if slices.ContainsFunc(all, func(have Period) bool { return have.Priority == int32(p) }) {
			return nil, fmt.Errorf("priority %d is there twice", p)
		}
		if all = append(all, Period{int32(p), d}); len(all) > maxPeriods {
			return nil, fmt.Errorf("there are more than %d periods", maxPeriods)
		}
	}
	slices.SortFunc(all, func(a, b Period) int { return cmp.Compare(a.Priority, b.Priority) })
	return all, nil
}

// total returns how long all periods take together.
func total(periods []Period) (sum time.Duration) {
	for _, p := range periods {
		sum += p.Grace
	}
	return sum
}

// group is the pods of a period.
type group struct {
	Period
	pods []pods.Pod
}

// groups sorts pods into their periods: the last one whose priority is at most the pod's, and
// the first one where all are higher (kubelet: groupByPriority).
func groups(periods []Period, all []pods.Pod) []group {
	sorted := make([]group, len(periods))
	for i, p := range periods {
		sorted[i].Period = p
	}
	for _, p := range all {
		var priority int32
		if p.Object != nil && p.Object.Spec.Priority != nil {
			priority = *p.Object.Spec.Priority
		}
		i := sort.Search(len(periods), func(i int) bool { return periods[i].Priority > priority })
		i = max(i-1, 0)
		sorted[i].pods = append(sorted[i].pods, p)
	}
	return sorted
}

// grace returns how many seconds a pod of the period has: no more than it asked for itself.
func (p Period) grace(pod pods.Pod) int64 {
	grace := int64(p.Grace / time.Second)
	if pod.Object != nil && pod.Object.Spec.TerminationGracePeriodSeconds != nil {
		grace = min(grace, *pod.Object.Spec.TerminationGracePeriodSeconds)
	}
	return grace
}
