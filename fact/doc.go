// Package fact holds the facts: everything that was observed of a pod or a
// node, and everything that was decided about it.
//
// A fact has an envelope ([Fact]: who, when, and because of what) and a body,
// one Go type a kind. Bodies are either observed ([Observed]: the world told
// us) or decided ([Decided]: package health concluded it). A decided fact names
// the facts it rests on: a [Decision] can only be made by [Decide], which demands at
// least one id, and the wire form neither writes nor reads one without. Some answers
// are either, see [IsDecided].
//
// Files:
//
//	fact.go      the envelope, ids, and what a Decision is
//	wire.go      the wire form (one JSON object a fact) and its strict decoding
//	wire_probed.go the encoding of probe attempts
//	wire_scan.go reading what was so written, without reflection
//	wire_looked.go the same of looks
//	pod.go       observed: the pod's spec, its deletion, its admission
//	room.go      observed: what a node has left for a pod, and that there is more
//	container.go observed: sandbox, image, container and hook facts
//	probe.go     observed: probe attempts and their evidence
//	process.go   observed: ends of processes, and who sent them signals
//	machine.go   observed: kernel, cgroup, node and agent facts
//	kubelet.go   observed: what a kubelet beside which we only watch says and counts
//	decided.go   what package health decides
//	act.go       what somebody else decided, as far as package shadow can tell
//	source.go    who tells: sources of facts and of pods, and what backs off
//	read.go      how facts are read: a body of a known type, all of a type, the latest
//	redact.go    what is written without secrets, and what leaves the node
//	loglines.go  a pod whose log lines are not kept
//	logend.go    the end of a log as it is, and its compressed form
//	confine.go   a fact as those see it who may see one namespace
//	bounds.go    what several rooms must agree on
//	oom.go       whose memory had run out when the kernel killed a process
//	workload.go  what a pod comes from
//	scaling.go   what a Deployment says of its ReplicaSets, and what that tells of a pod
//	disruption.go for what a pod was deleted or ended, as whoever did it writes into its conditions
//	cgroup.go    which pod and container a cgroup path belongs to
//
// Beyond encoding, the package only knows how to read a fact where several readers
// would come to different conclusions otherwise (whose limit an OOM kill was about).
// It imports Kubernetes' API types, because a fact speaks Kubernetes' own terms, and
// nothing that does IO.
package fact
