package node

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/journal/otlp"
)

// exports makes what sends the facts elsewhere, from this run's first on.
func (n *node) exports() error {
	if n.config.OTLPEndpoint == "" {
		return nil
	}
	var err error
	n.exporter, err = otlp.New(otlp.Options{Endpoint: n.config.OTLPEndpoint, Node: n.config.Name, Version: n.config.Version, Log: n.log})
	n.exportFrom = n.journal.Next(1)
	return err
}

// registerExport counts what a collector was sent and what it never will be.
func registerExport(registry prometheus.Registerer, e *otlp.Exporter) error {
	for _, c := range []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "whylet_facts_exported_total", Help: "Facts that the OpenTelemetry collector has taken.",
		}, func() float64 { return float64(e.Sent()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "whylet_facts_export_dropped_total", Help: "Facts that the OpenTelemetry collector was not sent or refused; the journal has them.",
		}, func() float64 { return float64(e.Dropped()) }),
	} {
		if err := registry.Register(c); err != nil {
			return err
		}
	}
	return nil
}

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
