package report

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/pods"
)

var lastEnd = prometheus.NewDesc("whylet_container_last_end_timestamp_seconds",
	"When a container last ended, in Unix seconds, by the reason in its status; absent where nobody saw the end.",
	[]string{"namespace", "pod", "uid", "container", "reason"}, nil)

// endTimes reports when each container last ended, from the pods' statuses: so the times are
// there again after a restart of the agent, and go with the pod.
type endTimes struct{ known pods.Registry }

// Describe implements prometheus.Collector.
func (endTimes) Describe(all chan<- *prometheus.Desc) { all <- lastEnd }

// Collect implements prometheus.Collector.
func (e endTimes) Collect(all chan<- prometheus.Metric) {
	for _, p := range e.known.All() {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses) {
			end := lastEndOf(c)
			if end == nil || end.FinishedAt.IsZero() {
				continue
			}
			all <- prometheus.MustNewConstMetric(lastEnd, prometheus.GaugeValue, float64(end.FinishedAt.UnixMilli())/1000,
				p.Key.Namespace, p.Key.Name, string(p.Key.UID), c.Name, end.Reason)
		}
	}
}

// lastEndOf returns the newest end in a container's status; nil where there is none.
func lastEndOf(c v1.ContainerStatus) *v1.ContainerStateTerminated {
	if c.State.Terminated != nil {
		return c.State.Terminated
	}
	return c.LastTerminationState.Terminated
}
