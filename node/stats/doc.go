// Package stats measures what pods and the node use, for the Summary API
// (/stats/summary) and for /metrics/resource.
//
// Nothing runs in the background and the runtime is not asked: a request reads
// the kernel's counters of every running container (package cgroupfs), the
// network counters of every pod, and the sizes of two file systems. What cannot
// be read without walking trees (volumes, writable layers) is handed in by whom
// it was measured for another purpose.
//
// CPU use per second needs two looks. The earlier one is kept from the request
// before, so that the window is 10 to 20 s for who asks regularly, as kubelet's
// is. For who asks after a pause, a container younger than a minute is measured
// since its start, and otherwise a second look is taken half a second after the
// first: the first `kubectl top` has numbers, too.
//
// The fields and their meaning are those of cadvisor and of pkg/kubelet/stats in
// v1.37.2. A container that does not run is left out; a counter that cannot be
// read is left empty.
//
// Files:
//
//	stats.go     Config, Collector, the summary
//	snapshot.go  one look at all cgroups
//	rate.go      CPU use per second from cumulative counters
//	convert.go   from the kernel's counters to the Summary API's types
//	machine.go   the node itself, from /proc
//	network.go   /proc/PID/net/dev
//	storage.go   file systems, logs, volumes
//	resource.go  /metrics/resource
//	cadvisor.go  /metrics/cadvisor
package stats
