// Package cluster is a Kubernetes control plane in one process: etcd, the API
// server, the controllers, the scheduler, kube-proxy and CoreDNS, all borrowed,
// each in goroutines of its own. The package wires them to each other and holds
// no logic beyond that.
//
//	c, err := cluster.Start(ctx, cluster.Config{DataDir: "/var/lib/whylet", NodeName: "n1", NodeIP: "192.0.2.7"})
//	…
//	node.Run(ctx, node.Config{API: c.NodeREST(), …})
//	…
//	err = c.Stop(ctx)
//
// # Who talks to whom
//
// etcd listens on a unix socket in a directory that only root can enter. The API
// server listens on loopback for people and for the components in this process,
// and on HostAddress for pods. HostAddress lies on an interface of ours and nowhere
// else: the `kubernetes` Service and the DNS Service need an endpoint that
// a pod can reach, Kubernetes forbids loopback and link-local addresses there, and
// the node's own address would open the API to the machine's network and would
// change with every DHCP lease. A neighbour on the same link that sends packets for
// HostAddress to this machine does reach the server there; TLS, authentication and
// RBAC guard it as they guard everything else. The interface also carries the route for
// the service range, so that Services work from a host without a default route.
//
// # What it tells
//
// The API server's audit has a backend of ours (deletions.go): who has pods deleted
// or evicted. It sees requests by name, so whoever is told has to find the pod.
//
// # What a first chart needs
//
// A default StorageClass with a directory of this node for each claim (storage.go),
// and the node's address for Services of type LoadBalancer (loadbalancer.go), both by
// the libraries that the drivers of clouds use.
//
// # What is global
//
// The borrowed programs expect a process of their own. What they share in one
// process (log sinks, feature gates, exit and panic handlers, the configz and
// informer-name registries) is set up once, in global.go. A process can start one
// control plane in its life; Start says so when it is called again.
//
// # Files
//
//	DataDir/cluster.json   whose directory this is, and what cannot change later
//	DataDir/cluster.lock   held while a control plane runs
//	DataDir/etcd           the database
//	DataDir/pki            certificates and keys (package pki)
//	DataDir/kubeconfig     one kubeconfig for each component, and admin.conf
//	DataDir/logs           control-plane.log, rotated by size
//	DataDir/storage        a directory for each volume of the default StorageClass
//
// Files of this package:
//
//	cluster.go      Start, and what runs in which order; config.go, where and how
//	apiserver.go    the API server; port.go, its port; hostlink.go, the interface of its address
//	etcd.go         the database; database.go, when it gives up; quota.go, when it is full;
//	                reserve.go, room for it on a full disk
//	controllers.go  the controllers; scheduler.go and dns.go, the other parts
//	certs.go        certificates are renewed while all runs
//	objects.go      what a new cluster has in it
//	deletions.go    who has pods deleted
//	flags.go        settings as a command line gives them; global.go, what a process has once
//	version.go      which Kubernetes this is
//	memory.go       the collector's target; slack.go, how late waits may end
//	datadir.go      the data directory's layout; purge.go, its end
package cluster
