package answer

import (
	"cmp"
	"fmt"
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
