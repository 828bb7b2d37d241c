package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/prose"
)

// EvictionOrder lists pods in the order in which they go when what a signal of the
// kubelet is about runs short.
func EvictionOrder(signal string, ranking []fact.Ranked) string {
	amount := Amount(signal)
	var order []string
	for i, r := range ranking {
		text := fmt.Sprintf("%d. %s", i+1, r.Pod)
		if !r.Unmeasured {
			text += " uses " + amount(r.Usage)
		}
		if signal != "" && !strings.HasPrefix(signal, "pid") && !strings.HasSuffix(signal, "inodesFree") {
			text += ", asked for " + amount(r.Request)
		}
		order = append(order, text+fmt.Sprintf(" (%s, priority %d)", cmp.Or(r.QoS, string(v1.PodQOSBestEffort)), r.Priority))
	}
	return strings.Join(order, "; ")
}

// Amount words a quantity of what a signal is about.
func Amount(signal string) func(int64) string {
	if strings.HasPrefix(signal, "pid") || strings.HasSuffix(signal, "inodesFree") {
		return func(n int64) string { return fmt.Sprint(n) }
	}
	return prose.Size
}

// shortOf is what a node is short of under a pressure, and the cause that it is for its pods;
// the first is what keeps the most pods away.
var shortOf = []struct {
	pressure v1.NodeConditionType
	cause    Cause
	of       string
}{
	{v1.NodeDiskPressure, EvictedDisk, "disk space or inodes"},
	{v1.NodePIDPressure, EvictedPIDs, "process ids"},
	{v1.NodeMemoryPressure, EvictedMemory, "memory"},
}

// UnderPressure says why a node that is under pressure did not take a pod in.
func UnderPressure(pressures []v1.NodeConditionType) (cause Cause, text string) {
	cause = CauseUnknown
	var short, names []string
	for _, s := range shortOf {
		if slices.Contains(pressures, s.pressure) {
			short, names = append(short, s.of), append(names, string(s.pressure))
			if cause == CauseUnknown {
				cause = s.cause
			}
		}
	}
	switch cause {
	case CauseUnknown:
		return cause, fmt.Sprintf("The node did not take the pod in, because of its condition %v.", pressures)
	case EvictedMemory:
		return cause, "The node was short of memory when the pod came (MemoryPressure), and takes in no BestEffort pod, which asks for nothing, until that is over."
	}
	return cause, fmt.Sprintf("The node was short of %s when the pod came (%s), and takes in no new pods until that is over.", strings.Join(short, " and of "), strings.Join(names, ", "))
}
