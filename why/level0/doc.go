// Package level0 answers why a pod is as it is from nothing but what the API server
// shows of it: its status, its events, the last lines of its logs, its node's condition.
// It is for clusters without an agent on their nodes.
//
// What the API shows is little, and part of it lasts an hour: it says how a container
// ended, and seldom who ended it. So the answers here are made under three rules. The
// status is above events, and an event counts only with the run it belongs to. What is
// not there proves nothing, unless something that would have been dropped with it is
// there. And where that leaves more than one cause, the verdict is unknown, and says
// what somebody on the node would have seen.
//
//	level0.go   Seen, Explain, and the order in which symptoms are looked for
//	symptoms.go what is to be explained
//	ended.go    why a container ended
//	waiting.go  why a container does not start
//	ready.go    why a pod is not ready
//	config.go   ConfigMaps that were changed before
//	probes.go   what a probe met, by kubelet's words
//	well.go     a pod of which the status says that it is well
//	departed.go a pod that does not exist any more
//	gone.go     evicted, failed, ended on purpose
//	events.go   which events belong to what, and when their absence says something
//	words.go    the words of kubelets, runtimes and registries
package level0
