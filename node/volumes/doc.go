// Package volumes gives pods their volumes: what kubelet's volume manager,
// ConfigMap, Secret and token managers do, with kubelet's own volume plugins.
//
// # What is borrowed, what is not
//
// The plugins (k8s.io/kubernetes/pkg/volume/...) are kubelet's: emptyDir,
// hostPath, configMap, secret, downwardAPI, projected, local and image, with
// their atomic writer, ownership changes and subPath protection. So are the
// service account token manager and the lookups of what a pod refers to.
//
// kubelet's volume manager (pkg/kubelet/volumemanager) is not used. It keeps a
// desired and an actual world and compares them ten times a second, for every
// volume of every pod, whether anything happened or not; a pod's volumes are
// found ready by a poll of 300 ms. That costs an idle node a good part of its
// CPU budget and every pod start two such waits. Most of what it does is for
// volumes that a controller attaches, which this node does not offer. Here a
// pod's volumes are set up by the call that asks for them ([Manager.SetUp]),
// in parallel, and mended when an event says so.
//
// kubelet's watching ConfigMap and Secret managers are not used either: they
// tell nobody about a change (kubelet finds it in its next periodic sync, up to
// 90 s later), wait for their first answer by polling, and cannot be stopped.
// The cache here ([objects]) is a client-go Reflector per object, which is all
// the node authorizer lets a node watch, and says when an object changed.
//
// # Life of a pod's volumes
//
//	SetUp     registers what the pod refers to, mounts what it uses; idempotent,
//	          also the way a pod is taken over after a restart of the agent
//	Mounts    the mounts of one container: volumes with subPath, /etc/hosts, the
//	          termination message file
//	(events)  an object changed, the pod's labels changed ([Manager.Update]), or a
//	          minute passed (tokens are rotated then): contents are written again
//	Usage     disk use, for the stats and for the limits ([OverLimit])
//	TearDown  unmounts, removes the pod's directory; works from what is on disk, so
//	          it needs no memory of the pod
//	Orphans   pods that have a directory but no business here
//
// # On disk
//
// The layout is kubelet's, below Config.DataDir:
//
//	pods/UID/volumes/PLUGIN/NAME            a volume
//	pods/UID/volume-subpaths/NAME/CTR/N     a subPath, bind mounted
//	pods/UID/plugins/PLUGIN/NAME            a plugin's marks
//	pods/UID/containers/CTR/ATTEMPT         a termination message file
//	pods/UID/etc-hosts                      the managed hosts file
//	pods/UID/claims.json                    what the pod's claims are bound to (ours)
//	plugins/PLUGIN/...                      shared by pods: block devices of local volumes
//
// Files:
//
//	volumes.go   Config, Manager, and the state kept of a pod
//	setup.go     SetUp: from the pod to mounted volumes
//	claims.go    from a claim to the volume behind it; record.go: remembers it
//	errors.go    failures in kubelet's words
//	objects.go   the watched ConfigMaps and Secrets
//	refresh.go   contents follow their objects
//	mounts.go    a container's mounts; hosts.go: its /etc/hosts
//	usage.go     disk use; limits.go: who is over its limit
//	teardown.go  the end
//	host.go      what the plugins ask of a kubelet; mounter.go: mount(2) without mount(8)
package volumes
