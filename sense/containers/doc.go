// Package containers reads a container runtime: what containers and sandboxes there
// are, what became of them, and what they left behind. It links no call that changes
// anything, so that it can stand beside an agent that is not Whylet's.
//
//	client.go       Service: the calls it makes; Client, readiness of the runtime
//	view.go         ContainerView and SandboxView: a runtime's answer in our terms
//	labels.go       the annotations that kubelet writes, read back
//	resources.go    requests and limits of a runtime's cgroup values
//	status.go       one container or sandbox, and usage
//	snapshot.go     everything the runtime has, in one look
//	known.go        what was told already: the pure part of Watch
//	watch.go        Watch: the runtime's event stream with a slow look as safety net
//	termination.go  what a container left as its last words
//	paths.go        where logs lie
package containers
