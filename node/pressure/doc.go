// Package pressure notices that the node runs short of memory, disk or process
// ids, says so in the node's conditions, takes back what nobody needs, and asks
// for the end of one pod after another until there is enough again.
//
// Signals, thresholds, grace periods, conditions and the order of the steps are
// kubelet's (pkg/kubelet/eviction, and the Kubernetes documentation,
// "Node-pressure Eviction"). Whose turn it is to go is decided in package health.
// Two things are different:
//
//   - Kubelet looks every 10 s, and a program can touch gigabytes in that time, so
//     that the kernel's OOM killer comes first and takes whom it likes. Here the
//     time to the next look follows from how much memory is left: it is over
//     before a program could have used that up at the fastest rate there is (see
//     pause). So a calm node is looked at every 10 s too, and one that is nearly
//     full every 20 ms; a look costs some 100 µs. Where the
//     kernel can tell (alarm.go), it wakes the node before that look.
//   - The pod that has to go for its memory is held back at once (cgroup.HoldBack): it cannot use
//     up, in the second it is given to end, what is left for its neighbours.
//
// There is a default threshold for process ids (kubelet has none), because a node
// without them cannot even end a pod.
//
// Files:
//
//	signal.go     what can run short
//	threshold.go  how much should be left
//	read.go       how much is left
//	state.go      which conditions hold, and for what something must be done: pure
//	alarm.go      the kernel wakes the manager
//	manager.go    the loop: look, tell, reclaim, evict
package pressure
