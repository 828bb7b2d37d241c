package api

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"whylet.dev/whylet/journal/otlp"
)

func TestExportIsCounted(t *testing.T) {
	e, err := otlp.New(otlp.Options{Endpoint: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	if err := registerExport(registry, e); err != nil {
		t.Fatal(err)
	}
	want := `
# HELP whylet_facts_export_dropped_total Facts that the OpenTelemetry collector was not sent or refused; the journal has them.
# TYPE whylet_facts_export_dropped_total counter
whylet_facts_export_dropped_total 0
# HELP whylet_facts_exported_total Facts that the OpenTelemetry collector has taken.
# TYPE whylet_facts_exported_total counter
whylet_facts_exported_total 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
