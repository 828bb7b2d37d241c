package report

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/probe"
)

// Metrics are the node's own numbers for Prometheus, at /metrics: what kubelet
// does not count is why containers end.
type Metrics struct {
	known    pods.Registry
	ends     *prometheus.CounterVec
	restarts *prometheus.CounterVec
	ooms     *prometheus.CounterVec
	probes   *prometheus.HistogramVec
	failures *prometheus.CounterVec
	backOffs *prometheus.CounterVec

	mu sync.Mutex
	// last is what ended each container last.
	last map[endedContainer]string
}

// endedContainer names a container of a pod.
type endedContainer struct {
	pod       fact.Pod
	container string
}

// NewMetrics registers them.
func NewMetrics(registry prometheus.Registerer, scheduler func() probe.Stats, known pods.Registry) (*Metrics, error) {
	pod := []string{"namespace", "pod", "container"}
	m := &Metrics{
		known: known,
		last:  map[endedContainer]string{},
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "whylet_container_ends_total",
			Help: "Ends of containers, by what ended them: a kill of the node by its reason, OOMKilled, Signalled, Exited or Vanished.",
		}, append(pod[:3:3], "cause")),
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "whylet_container_restarts_total",
			Help: "Starts of containers that had run before, by what had ended them: a kill of the node by its reason, OOMKilled, Signalled, Exited or Vanished.",
		}, append(pod[:3:3], "cause")),
		ooms: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "whylet_oom_kills_total",
			Help: "OOM kills of the kernel in containers; victim is main or child.",
		}, append(pod[:3:3], "victim")),
		probes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "whylet_probe_duration_seconds",
			Help:    "How long probe attempts took.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"probe", "verdict"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "whylet_probe_failures_total",
			Help: "Failed probe attempts, acted on or not.",
		}, append(pod[:3:3], "probe")),
		backOffs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "whylet_back_offs_total",
			Help: "Back-offs before a restart, an image pull or a set-up.",
		}, append(pod[:3:3], "what")),
	}
	gauges := []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "whylet_pods", Help: "Pods that the node knows."},
			func() float64 { return float64(len(known.All())) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "whylet_probes", Help: "Probes that are scheduled."},
			func() float64 { return float64(scheduler().Probes) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "whylet_probes_late_total", Help: "Probe attempts that began more than 100 ms after they were due.",
		}, func() float64 { return float64(scheduler().Late) }),
	}
	for _, c := range append(gauges, endTimes{known}, m.ends, m.restarts, m.ooms, m.probes, m.failures, m.backOffs) {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Hear takes a fact into account.
func (m *Metrics) Hear(f fact.Fact) {
	labels := []string{f.Pod.Namespace, f.Pod.Name, f.Container}
	switch b := f.Body.(type) {
	case fact.Exited:
		cause := endCause(b, m.killedFor(f))
		m.ends.WithLabelValues(append(labels, cause)...).Inc()
		m.mu.Lock()
		m.last[endedContainer{f.Pod, f.Container}] = cause
		m.mu.Unlock()
	case fact.Started:
		m.mu.Lock()
		cause, ok := m.last[endedContainer{f.Pod, f.Container}]
		m.mu.Unlock()
		if ok && f.Attempt > 0 && !b.Adopted {
			m.restarts.WithLabelValues(append(labels, cause)...).Inc()
		}
	case fact.OOMKilled:
		victim := "child"
		if b.Main {
			victim = "main"
		}
		m.ooms.WithLabelValues(append(labels, victim)...).Inc()
	case fact.Probed:
		m.probes.WithLabelValues(string(b.Probe), string(b.Verdict)).Observe(b.Took.Seconds())
		if b.Verdict == fact.Failure {
			m.failures.WithLabelValues(append(labels, string(b.Probe))...).Inc()
		}
	case fact.BackOff:
		m.backOffs.WithLabelValues(append(labels, string(b.What))...).Inc()
	}
}

// killedFor is why the node asked for the end that an exit tells of; empty when
// it did not ask.
func (m *Metrics) killedFor(f fact.Fact) fact.KillReason {
	p, _ := m.known.Get(f.Pod.UID)
	c := p.Containers[f.Container]
	if len(f.Because) == 0 || c.Kill != f.Because[0] {
		return ""
	}
	return c.KilledFor
}

func endCause(b fact.Exited, killedFor fact.KillReason) string {
	switch {
	case killedFor != "":
		return string(killedFor)
	case b.MainOOMKilled:
		return "OOMKilled"
	case b.Vanished:
		return "Vanished"
	case b.Signal != 0:
		return "Signalled"
	}
	return "Exited"
}

// Forget drops the series of a pod that is gone.
func (m *Metrics) Forget(pod fact.Pod) {
	m.mu.Lock()
	maps.DeleteFunc(m.last, func(l endedContainer, _ string) bool { return l.pod == pod })
	m.mu.Unlock()
	labels := prometheus.Labels{"namespace": pod.Namespace, "pod": pod.Name}
	for _, v := range []*prometheus.CounterVec{m.ends, m.restarts, m.ooms, m.failures, m.backOffs} {
		v.DeletePartialMatch(labels)
	}
}
