// Package reported reads what kubelet and controllers report of pods to the API server, as
// facts have it: agents beside a kubelet use it, and answers from the API alone.
//
//	event.go    Event: what an event tells
//	attempt.go  what kubelet's words say of a probe attempt
//	status.go   what a pod's status says of refusals and of containers that wait
package reported
