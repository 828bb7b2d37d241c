package nodestatus

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/journal/otlp"
)

const exportDegraded v1.NodeConditionType = "FactsExportDegraded"

// exportCondition says whether the collector takes the facts; e is nil where there
// is none.
func exportCondition(e *otlp.Exporter) v1.NodeCondition {
	c := v1.NodeCondition{
		Type: exportDegraded, Status: v1.ConditionFalse,
		Reason: "NotExported", Message: "facts are sent to no collector",
	}
	if e == nil {
		return c
	}
	c.Reason, c.Message = "FactsExported", "the collector takes the facts"
	if why := e.Degraded(); why != "" {
		c.Status, c.Reason = v1.ConditionTrue, "CollectorTroubled"
		c.Message = "facts wait or are not exported: " + why
	}
	return c
}

// exportWasOn says whether an agent that exported has left its condition behind.
func exportWasOn(n *v1.Node) bool {
	return n != nil && slices.ContainsFunc(n.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == exportDegraded })
}
