// Package volumes gives pods their volumes: what kubelet's volume manager,
// ConfigMap, Secret and token managers do, with kubelet's own volume plugins.
//
// # What is borrowed, what is not
//
// The plugins (k8s.io/kubernetes/pkg/volume/...) are kubelet's: emptyDir,
// hostPath, configMap, secret, downwardAPI, projected, local and image, with
// their atomic writer, ownership changes and subPath protection. So are the
// service account token manager, the managers of trust bundles and pod certificates,
// and the lookups of what a pod refers to.
//
// kubelet's volume manager (pkg/kubelet/volumemanager) is not used. It keeps a
// desired and an actual world, compares them ten times a second, whether anything
// happened or not, and whoever waits for a pod's volumes polls every 300 ms.
// Measured with these plugins on two cores: 0.1 CPU seconds a minute without
// pods, 0.5 with a hundred, and 300 ms until one more pod has its volumes. Most
// of what it does is for volumes that a controller attaches, which this node does
// not offer. Here a pod's volumes are set up by the call that asks for them
// ([Manager.SetUp]), in parallel, in 4 ms, and mended when an event says so: a
// hundred pods cost 0.02 CPU seconds a minute.
//
// kubelet's watching ConfigMap and Secret managers are not used either: they
// tell nobody about a change (kubelet finds it in its next periodic sync, up to
// 90 s later), wait for their first answer by polling, and cannot be stopped.
// The cache here (objects) is a client-go Reflector per object, which is all
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
//	configs.go   the ConfigMaps and Secrets that pods refer to, watched by sense.Configs
//	certificates.go trust bundles and pod certificates, by kubelet's managers
//	refresh.go   contents follow their objects
//	mounts.go    a container's mounts; hosts.go: its /etc/hosts
//	usage.go     disk use; limits.go: who is over its limit
//	teardown.go  the end
//	host.go      what the plugins ask of a kubelet; mounter.go: mount(2) without mount(8)
package volumes
