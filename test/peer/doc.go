// Package peer starts the cluster that Whylet is compared with, and Whylet
// itself in the same way, so that a test or a measurement can treat the two
// alike: a [Stack] is a one-node cluster in a network namespace of its own, with
// its state in a folder of its own.
//
// The real stack is etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, kubelet, containerd and runc, built by `make peer` from this
// module's go.mod, so that both sides are of the same versions. The kubelet alone can be
// of another ([Binaries.Kubelet]). kube-proxy and CoreDNS run only where they are asked for
// ([Stack.ServeServices]): nothing that is compared needs them. Its processes live in a process and a mount namespace of their own as well. What ends them
// is the end of that namespace's first process, and with them go their mounts,
// also when something fails half way. Only cgroups are the machine's; the
// real kubelet gets a root of its own there, so that it never meets Whylet's.
//
// To look around in a real stack by hand: `go run ./test/peer/up`.
//
// Other nodes can join a real stack, each with namespaces, a kubelet and a containerd of its
// own ([Stack.Join]), or as a node of Whylet's ([Stack.JoinWhylet]).
//
//	stack.go      what both have; whylet.go and real.go, the two
//	runtimes.go   what runs the real one's containers: its containerd, an older one, CRI-O
//	join.go       nodes that join, and the wires between them
//	machine.go    one that joins in an emulated machine, under systemd
//	files.go      their folders; certificates.go, who vouches for whom; dial.go, how they are reached
//	services.go   kube-proxy and names
//	processes.go, cgroups.go  what they leave behind, and its end
package peer
