package report

import (
	"github.com/prometheus/client_golang/prometheus"

	"whylet.dev/whylet/fact"
)

// ProbeMetrics are kubelet's own numbers about probes, at /metrics/probes, by its
// names and labels (prober/prober_manager.go).
type ProbeMetrics struct {
	results   *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

// NewProbeMetrics registers them.
func NewProbeMetrics(registry prometheus.Registerer) (*ProbeMetrics, error) {
	m := &ProbeMetrics{
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "prober_probe_total",
			Help: "[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.",
		}, []string{"probe_type", "result", "container", "pod", "namespace", "pod_uid"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prober_probe_duration_seconds",
			Help: "[ALPHA] Duration in seconds for a probe response.",
		}, []string{"probe_type", "container", "pod", "namespace"}),
	}
	for _, c := range []prometheus.Collector{m.results, m.durations} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// results are kubelet's words for what an attempt said.
var results = map[fact.Verdict]string{
	fact.Success: "successful", fact.Warning: "successful", fact.Failure: "failed", fact.Unknown: "unknown",
}

// Hear takes a fact into account. A failed attempt has no duration, as there: it
// would mostly be the timeout.
func (m *ProbeMetrics) Hear(f fact.Fact) {
	b, ok := f.Body.(fact.Probed)
	if !ok {
		return
	}
	m.results.WithLabelValues(string(b.Probe), results[b.Verdict], f.Container, f.Pod.Name, f.Pod.Namespace, string(f.Pod.UID)).Inc()
	if b.Verdict != fact.Failure {
		m.durations.WithLabelValues(string(b.Probe), f.Container, f.Pod.Name, f.Pod.Namespace).Observe(b.Took.Seconds())
	}
}

// Forget drops the series of a pod that is gone.
func (m *ProbeMetrics) Forget(pod fact.Pod) {
	labels := prometheus.Labels{"namespace": pod.Namespace, "pod": pod.Name}
	m.results.DeletePartialMatch(labels)
	m.durations.DeletePartialMatch(labels)
}
