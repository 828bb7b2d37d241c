// Package node ties sources, health and effects together.
//
// One loop takes facts from all sources, asks health what follows, writes both
// into the journal, and only then lets the pods' workers act (law 1). What the
// workers do comes back as facts.
//
//	run.go       Run: one start, one end, and what goes on between
//	config.go    Config: all that a node needs to know before it starts
//	ground.go    what all parts stand on: journal, runtime, client
//	away.go      a runtime that is away when the node starts
//	wiring.go    how the parts are made, each of those that were made before it
//	world.go     what the loop acts through
//	reports.go   what is told to the API server and to Prometheus; recorder.go, the queues of events
//	loop.go      the loop: facts become decisions
//	progress.go  whether it makes progress
//	shutdown.go  what is done when the machine shuts down
//	pod.go       what the loop knows of one pod
//	recover.go   memory and runtime compared after a restart
//	clock.go     when a fact was seen
//	probes.go    the schedule of probes that health wants
//	services.go  the Services that containers have in their environment
//	configz.go   the configuration as a kubelet shows it
//
// What observes is in package sense, who is who in package pods. The rooms below do
// one thing each:
//
//	node/effect   what was decided, attempted
//	node/report   statuses, events and numbers
//	node/static   the pods of a directory
//	node/shutdown pods end before their machine does
//	node/cri      pod and container configurations, and the calls to the runtime
//	node/images   pulling, secrets, listing, garbage collection
//	node/volumes  kubelet's volume plugins, mounts, subPaths, /etc/hosts
//	node/cgroup   QoS and pod cgroups, node allocatable, v1 and v2
//	node/pressure when memory, disk or process ids run short, and who has to go
//	node/server   the node's HTTPS API: logs, exec, attach, port-forward, stats
//	node/stats    usage of pods, for that API and for Prometheus
//	node/credentials  certificates from the cluster that the node joined
//	node/object   the Node object: capacity, conditions, images, lease
//	node/nodestatus  how the node is, for its object
//	node/api      what the HTTPS API answers from
//	node/upkeep   rotation, limits and garbage collection; what pressure needs
package node
