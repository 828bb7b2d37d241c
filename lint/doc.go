// Package lint finds in manifests what will hurt later: pods that together may
// use more than the node has, who could push whom out and in which order, and
// probes that cannot work or will kill what is well.
//
// It is a pure function of the manifests, the node's size and what a journal remembers. Every finding has a
// reason and a fix; what cannot be seen without running is left to kubectl why.
//
//	parse.go    files, documents and lines
//	read.go     the pods that an object makes
//	priority.go the priorities that classes give them
//	lint.go     what is checked, what is found, how bad it is
//	memory.go   requests and limits against what the node has, eviction order
//	probes.go   mistakes in probes
//	history.go  what a journal remembers of the same workloads
package lint
