// Package runtime runs the container runtime and the pods' network.
//
// The runtime is containerd, started as a child process of the same binary:
// the command re-executes itself with the hidden subcommand "containerd", which
// calls [Main]. A process of its own, and not a goroutine, because containerd
// has to outlive the node agent: when the agent is killed, containerd and the
// containers' shims go on, and the next [Start] adopts them.
//
// Everything containerd owns lies below the data directory:
//
//	containerd/        images, snapshots, metadata and a copy of that (kept)
//	containerd.toml    its configuration, written anew at every start
//	pause-seccomp.json what the sandboxes' own processes may do, likewise
//	run/               socket, pid file, bundles, network namespaces (gone at reboot)
//	cni/               the network's configuration and its address leases
//	certs.d/           registry mirrors and certificates, for the user to fill
//	logs/containerd.log
//
// What has to be elsewhere is named after the data directory, so that [Purge]
// can tell what is ours: the bridge, one nftables table, the CNI result cache
// in /var/lib/cni/results, and the cgroup root.
//
// Pods share a few shims (package shim says why); they write to run/shims.log.
//
// The helper programs (runc, the shim and what asks it to take a pod, pause and the CNI
// plugin, package podnet) are looked for in libexec/ beside the running binary; a released
// binary has them within, and unpacks them to libexec/ below the data directory.
//
// Files of this package:
//
//	runtime.go      Start, Stop and what a caller sees; config.go, where and how
//	main.go         the hidden subcommand; process.go, a containerd that runs
//	supervise.go    it is started again when it ends; event.go, what happened to it
//	containerd_config.go  its configuration; machine.go, what that depends on; file.go, how it is written
//	metadata.go     its database, and a copy
//	log.go          its log
//	client.go       calls of CRI; image.go, images from files; pause.go, the sandboxes' image
//	seccomp.go      what the sandboxes' processes may do
//	bundle.go       the helper programs that a released binary has within
//	network.go      the pods' network
//	remove_pods.go  the end of pods; purge.go and purge_cgroup.go, the end of all
package runtime
