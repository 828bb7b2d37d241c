// Package kubelet hears what the kubelet of the node says of its own doing: what it
// is, its log, its probe counters, and the words of its events.
//
//	attempt.go  what its words say of a probe attempt
//	find.go     its process, its verbosity, where its log goes
package kubelet
