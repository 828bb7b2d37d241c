package stats

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// resources collects /metrics/resource: the metrics that metrics-server reads,
// by the names of pkg/kubelet/metrics/collectors/resource_metrics.go in v1.37.2.
type resources struct{ c *Collector }

// NewResources gives the collector for the registry behind /metrics/resource.
func NewResources(c *Collector) prometheus.Collector { return resources{c} }

var (
	byContainer = []string{"container", "pod", "namespace"}
	byPod       = []string{"pod", "namespace"}

	nodeCPU        = prometheus.NewDesc("node_cpu_usage_seconds_total", "[STABLE] Cumulative cpu time consumed by the node in core-seconds", nil, nil)
	nodeMemory     = prometheus.NewDesc("node_memory_working_set_bytes", "[STABLE] Current working set of the node in bytes", nil, nil)
	nodeSwap       = prometheus.NewDesc("node_swap_usage_bytes", "[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems", nil, nil)
	containerStart = prometheus.NewDesc("container_start_time_seconds", "[STABLE] Start time of the container since unix epoch in seconds", byContainer, nil)
	containerCPU   = prometheus.NewDesc("container_cpu_usage_seconds_total", "[STABLE] Cumulative cpu time consumed by the container in core-seconds", byContainer, nil)
	containerMem   = prometheus.NewDesc("container_memory_working_set_bytes", "[STABLE] Current working set of the container in bytes", byContainer, nil)
	containerSwap  = prometheus.NewDesc("container_swap_usage_bytes", "[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems", byContainer, nil)
	podCPU         = prometheus.NewDesc("pod_cpu_usage_seconds_total", "[STABLE] Cumulative cpu time consumed by the pod in core-seconds", byPod, nil)
	podMemory      = prometheus.NewDesc("pod_memory_working_set_bytes", "[STABLE] Current working set of the pod in bytes", byPod, nil)
	podSwap        = prometheus.NewDesc("pod_swap_usage_bytes", "[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems", byPod, nil)
	scrapeError    = prometheus.NewDesc("resource_scrape_error", "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise", nil, nil)
)

// Describe implements prometheus.Collector.
func (resources) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		nodeCPU, nodeMemory, nodeSwap, containerStart, containerCPU, containerMem, containerSwap,
		podCPU, podMemory, podSwap, scrapeError,
	} {
		descs <- d
	}
}

// scrape looks, and tells whether that failed. Who reads counters makes rates of
// them: there is nothing to wait for.
func (c *Collector) scrape(metrics chan<- prometheus.Metric, failure *prometheus.Desc) (snapshot, bool) {
	s, err := c.look(context.Background(), false)
	failed := 0.0
	if err != nil {
		failed = 1
	}
	metrics <- prometheus.MustNewConstMetric(failure, prometheus.GaugeValue, failed)
	return s, err == nil
}

// began tells when a container was started, where that is known.
func began(metrics chan<- prometheus.Metric, when *prometheus.Desc, c containerReading, labels ...string) {
	if !c.started.IsZero() {
		metrics <- prometheus.MustNewConstMetric(when, prometheus.GaugeValue, float64(c.started.UnixNano())/float64(time.Second), labels...)
	}
}

// Collect implements prometheus.Collector.
func (r resources) Collect(metrics chan<- prometheus.Metric) {
	s, ok := r.c.scrape(metrics, scrapeError)
	if !ok {
		return
	}
	usage := func(of reading, cpu, memory, swap *prometheus.Desc, labels ...string) {
		tell := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64) {
			metrics <- prometheus.NewMetricWithTimestamp(of.at, prometheus.MustNewConstMetric(desc, kind, value, labels...))
		}
		tell(cpu, prometheus.CounterValue, of.sample.CPUUsage.Seconds())
		tell(memory, prometheus.GaugeValue, float64(of.sample.WorkingSet))
		tell(swap, prometheus.GaugeValue, float64(of.sample.Swap))
	}
	usage(s.node, nodeCPU, nodeMemory, nodeSwap)
	for _, p := range s.each {
		usage(p.whole, podCPU, podMemory, podSwap, p.pod.Name, p.pod.Namespace)
		for _, c := range p.containers {
			usage(c.reading, containerCPU, containerMem, containerSwap, c.name, p.pod.Name, p.pod.Namespace)
			began(metrics, containerStart, c, c.name, p.pod.Name, p.pod.Namespace)
		}
	}
}
