// Package metricsapi serves metrics.k8s.io (v1 and v1beta1) from inside the API server,
// so that `kubectl top` and the horizontal pod autoscaler work without a
// metrics-server of their own.
//
// Nothing is collected in the background. A request asks the nodes it concerns
// for /stats/summary (kubelet's stats API, k8s.io/kubelet/pkg/apis/stats), through
// the API server's own node proxy, and turns the answer into metrics types. What
// a node does not report is left out of the answer, as metrics-server leaves it
// out: a pod counts only if each of its containers reports CPU and memory.
//
//	install.go  adds the API group
//	storage.go  what can be got and listed
//	source.go   asks a node
//	convert.go  from its answer to metrics
package metricsapi
