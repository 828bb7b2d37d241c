// Package node ties sources, health and effects together.
//
// One loop takes facts from all sources, asks health what follows, writes both
// into the journal, and only then lets the pods' workers act (law 1). What the
// workers do comes back as facts.
//
//	run.go           Run: opens what a node works with, and what happens at start and end
//	config.go        Config: all that a node needs to know before it starts
//	world.go         wiring: sources, effects and reports around the loop
//	loop.go          the loop: facts become decisions
//	pod.go           what the loop knows of one pod
//	recover.go       memory and runtime compared after a restart
//	clock.go         when a fact was seen
//	probes.go        the schedule of probes that health wants
//	services.go      the Services that containers have in their environment
//	face.go          the Node object and the node's HTTPS API
//	host.go          what that API asks of the node
//	configz.go       the configuration as a kubelet shows it
//	why.go           questions that are answered from the node's memory
//	export.go        facts that are sent to a collector
//	away.go          a runtime that is away when the node starts
//	pressure.go      what package pressure measures of pods, and asks for
//	housekeeping.go  what has to be done now and then
//	disks.go         what containers have on disk beside their volumes
//
// What observes is in package sense, who is who in package pods. The rooms below do
// one thing each:
//
//	node/effect   what was decided, attempted
//	node/report   statuses, events and numbers
//	node/static   the pods of a directory
//	node/cri      pod and container configurations, and the calls to the runtime
//	node/images   pulling, secrets, listing, garbage collection
//	node/volumes  kubelet's volume plugins, mounts, subPaths, /etc/hosts
//	node/cgroup   QoS and pod cgroups, node allocatable, v1 and v2
//	node/pressure when memory, disk or process ids run short, and who has to go
//	node/server   the node's HTTPS API: logs, exec, attach, port-forward, stats
//	node/stats    usage of pods, for that API and for Prometheus
//	node/credentials  certificates from the cluster that the node joined
//	node/object   the Node object: capacity, conditions, images, lease
//
// Files of this package:
//
//	run.go, config.go, world.go  how the parts are made and put together
//	loop.go       one fact after another; clock.go, the time; pod.go and host.go, what others look up
//	recover.go    a start finds what ran; away.go, what was missed
//	source_*.go   where facts come from; kernel.go, processes.go, apiwatch.go, spec_changes.go,
//	              samples.go, looks.go, again.go, alive.go and clock_steps.go do too
//	effect*.go    what decisions lead to, in lanes.go one after another; admit.go, whether a pod fits
//	probes.go     what is probed, and what came of it
//	pressure.go   what the node runs short of; disks.go, its disks; housekeeping.go, what is cleaned up
//	services.go   Services as variables of containers
//	publish.go, events*.go, metrics*.go  what is told to the API server and to Prometheus
//	face.go       the node's API; handler.go, configz.go, why.go and export.go, what it serves
package node
