// Package report tells others what the node knows of its pods: their status, the
// events that people and tools look for, and numbers.
//
//	publisher.go       Publisher: statuses, written to the API server
//	events.go          Events: kubelet's events of a fact, in its words
//	events_extra.go    events that kubelet has not, and how often they are posted
//	events_delayed.go  posting them a little after the status
//	metrics.go         Metrics: the node's own numbers, at /metrics
//	metrics_ends.go    when each container last ended, there too
//	metrics_probes.go  ProbeMetrics: kubelet's numbers about probes, at /metrics/probes
package report
