// Package evidence turns what the kernel knows about containers into facts: who
// was killed for want of memory, what listens in a pod's network namespace, and
// what a main process is doing.
//
// It observes and does not judge. A look that failed is a fact of its own, and
// what could not be seen stays empty.
//
//	kmsg.go    records of the kernel's log (/dev/kmsg), and a full table of connections
//	oom.go     OOM kills from such records, kernels 4.19 and newer
//	xid.go     errors of NVIDIA's GPUs from such records
//	kernel.go  the source: follows /dev/kmsg and emits facts
//	place.go   whose process it was, where the kernel's record names no cgroup
//	connector.go       the source: every process that is forked, execs or ends
//	connector_wire.go  its messages
//	connector_socket.go the subscription, and what the kernel drops early
//	processes.go       which process belongs to which container
//	signals.go         the source: who sent a signal that may end a process
//	signals_line.go    the lines of its trace
//	sockets.go what /proc/PID/net/tcp says
//	v6only.go  which sockets on :: take no connection over IPv4, by the kernel's socket diagnosis
//	awaited.go on which connections an answer is waited for, by the same
//	paused.go  which listeners their event loops take nothing from for now
//	stat.go    what /proc/PID/stat, limits and status say
//	look.go    the source: one look into a container
//
// The parsers are pure: they take bytes and give values, so that they can be
// tested with records of kernels that are not at hand, and fuzzed.
package evidence
