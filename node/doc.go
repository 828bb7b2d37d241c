// Package node ties sources, health and effects together.
//
// One loop takes facts from all sources, asks health what follows, writes both
// into the journal, and only then lets the pods' workers act (law 1). What the
// workers do comes back as facts. The rooms below it do one thing each:
//
//	node/cri      pod and container configurations, and the calls to the runtime
//	node/images   pulling, secrets, listing, garbage collection
//	node/volumes  kubelet's volume plugins, mounts, subPaths, /etc/hosts
//	node/cgroup   QoS and pod cgroups, node allocatable, v1 and v2
//	node/server   the node's HTTPS API: logs, exec, attach, port-forward, stats
//	node/credentials  certificates from the cluster that the node joined
//	node/object   the Node object: capacity, conditions, images, lease
package node
