// Package shadow says what kubelet must have decided, for an agent that only
// watches beside it: the same facts, the same acts, byte for byte.
//
// An act has a basis. Told: kubelet said so, in its log, an event or the pod's
// status. Matched: the end was seen to be ordered through the runtime, and by the
// attempts that were seen it was due. Deduced: only counters, or attempts of which
// kubelet told afterwards, and the order of times speak for it. What has no basis is
// no act: that nothing was seen proves nothing.
//
// Facts may be missing, late, doubled and out of order. A surer act about the same
// run may follow a weaker one; a weaker never follows a surer.
//
//	state.go   what is kept of a pod, and Decision
//	step.go    Step: one fact, and what follows from it
//	status.go  acts that the pod's status tells
//	end.go     who ordered an end, and why
//	due.go     whether kubelet had reason to order one
//	words.go   kubelet's words for its reasons
package shadow
