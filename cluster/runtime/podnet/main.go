// Command podnet connects pods to the node's network: a CNI plugin that does in
// one process what otherwise takes three.
//
// With the reference plugins an attachment is a process of bridge, which starts
// one of host-local for the address, and one of portmap, whether the pod has host
// ports or not; and the same again when the pod goes. At that rate the plugins are
// a good part of what a pod's start costs. So this is their work on their own
// libraries: a veth pair on the bridge, an address from host-local's store, and
// rules in portmap's table for the pods that have host ports.
//
// Names, files and rules are theirs as well, so that either can take away what the
// other has made:
//
//	DATADIR/NETWORK/ADDRESS     who has the address (host-local)
//	table ip cni_hostport       rules with the container's id as comment (portmap)
//	vethXXXXXXXX                the host's end, on the bridge
//
// Files:
//
//	config.go    what the plugin is told
//	attach.go    ADD, and what it makes
//	detach.go    DEL and GC
//	check.go     CHECK and STATUS
//	hostport.go  host ports
package main

import (
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/version"
)

func main() {
	skel.PluginMainFuncs(skel.CNIFuncs{Add: add, Del: del, Check: check, GC: gc, Status: status}, version.All, "podnet: Whylet's pod network")
}
