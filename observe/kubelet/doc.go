// Package kubelet hears what the kubelet of the node says of its own doing: what it
// is, its log and its probe counters.
//
//	counters.go  its counters of probe attempts
//	find.go      its process, its verbosity, where its log goes
//	klog.go      records of a log, as text and as JSON
//	lines.go     what a record says of a pod
//	pods.go      the connection to its pods API
//	follow.go    follows a log file, or systemd's journal
package kubelet
