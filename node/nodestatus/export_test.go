package nodestatus

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/journal/otlp"
)

func TestExportCondition(t *testing.T) {
	e, err := otlp.New(otlp.Options{Endpoint: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if c := exportCondition(e); c.Status != v1.ConditionFalse || c.Reason != "FactsExported" {
		t.Errorf("before the first request: %+v", c)
	}
}

// A condition that an agent with a collector set must not stay True for good where
// the next one has none.
func TestExportConditionOutlivesItsCollector(t *testing.T) {
	if exportWasOn(nil) || exportWasOn(&v1.Node{}) {
		t.Error("nobody exported")
	}
	before := &v1.Node{Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: exportDegraded, Status: v1.ConditionTrue}}}}
	if c := exportCondition(nil); !exportWasOn(before) || c.Status != v1.ConditionFalse {
		t.Errorf("without a collector: %+v", c)
	}
}
