// Package timeline makes one document of what is known of pods or a node and of
// the answer about them: what a page needs to draw it. Facts become marks on
// lanes; nothing is concluded here that is not in a fact or in the answer.
//
// It is pure, as package why is: the same facts give the same document, byte for
// byte, thinned or not.
//
//	document.go the document, an interface for the page and for Perfetto
//	build.go    Build: facts to lanes, and which facts come along
//	pod.go      the pod's phase, conditions and set-up
//	runs.go     containers: images, runs, back-off, readiness, processes
//	probes.go   attempts with their latency, patient requests, looks
//	usage.go    memory, CPU, processes and pressure against their limits
//	node.go     the node: when nobody looked, stalls, signals, the clock
//	people.go   last words, and who changed or deleted what
//	trials.go   what other settings would have changed, for every position of the sliders
//	merge.go    many marks become fewer
package timeline
