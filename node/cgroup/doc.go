// Package cgroup keeps the control groups that bound the pods: one for all pods,
// one per quality-of-service class, one per pod.
//
// # The tree
//
// As kubelet's, with the cgroupfs driver, below Config.Root:
//
//	kubepods                        all pods; memory, CPU shares and pids as allocatable
//	kubepods/podUID                 a Guaranteed pod
//	kubepods/burstable/podUID       shares: the sum of the CPU requests in the class
//	kubepods/besteffort/podUID      shares: the least there is
//	.../podUID/CONTAINER            made by the runtime, which is told the parent
//
// Conversions (CPU to shares and quota, what limits a pod has altogether) and the
// writing are borrowed: k8s.io/kubernetes/pkg/kubelet/cm and, below it,
// github.com/opencontainers/cgroups, the library of runc. kubelet's own managers
// of pods and QoS classes are not exported for use without the rest of its
// container manager; their rules (qos_container_manager_linux.go,
// pod_container_manager_linux.go, node_container_manager_linux.go) are written
// again here, with these differences:
//
//   - that a limit could not be set is an error, where kubelet logs it and starts
//     the pod without;
//   - the shares of the burstable class follow its pods at once, and are written
//     only when they change, instead of every minute;
//   - what is left in a pod's cgroup at its end is killed by pidfd after a look at
//     the process's own cgroup, so that a reused pid cannot be hit.
//
// Where cgroups are on this machine, and what the kernel counts in them, is in
// package cgroupfs below this one.
//
// Files:
//
//	cgroup.go  Config, Manager, the node's cgroups
//	pods.go    pods come, change and go
//	limits.go  what a pod's cgroup is set to
//	holdback.go  a pod that has to go is kept from taking more
//	kill.go    emptying a cgroup
//	mover.go   the kernel's lock for moving processes is kept ready
package cgroup
