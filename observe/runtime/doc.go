// Package runtime hears of containers from the container runtime of a node that
// somebody else's kubelet drives, and makes facts of it. It has no call that changes
// anything.
//
// containerd tells by its own event service, which has a queue for each listener. Its
// CRI event stream is never opened: before containerd 2.0 that has one queue for all,
// and kubelet would miss what we read. Other runtimes are looked at every second.
//
//	client.go  Client: the calls that only read
//	view.go    what a status says of a container
//	source.go  Source: looks, events, and the facts that come of them
//	events.go  containerd's events
//	variables.go  which variables a run was given otherwise than the one before it
//	pids.go    the main process as this machine numbers it
//	files.go   a container's termination message
package runtime
