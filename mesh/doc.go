// Package mesh makes health probes work in pods whose traffic goes through a
// sidecar, and keeps them telling the truth.
//
// In such a pod every connection is redirected to the sidecar, which demands
// mutual TLS of the caller. The node that probes has no identity in the mesh, so
// httpGet fails; and the sidecar accepts every connection, so tcpSocket always
// succeeds. The probes are therefore rewritten to ports of the sidecar that are
// excluded from the redirect, and the sidecar asks the application.
//
// Files:
//
//	ports.go    the ports and paths, as osm-edge has them
//	rewrite.go  one pod's probes, rewritten
//	config.go   what the proxy has to know for it
//	original.go from a rewritten probe back to what its author wrote, also for
//	            pods of osm-edge, Istio and Linkerd
//	inject.go   the containers that go with it
//	check.go    the checks a person would make when such a probe fails
//
// There are two forms. [OSMEdge] is osm-edge's own: one probe of each kind for a
// whole pod, HTTPS passed through, gRPC left alone. [Default] keeps the probes of
// every container apart, asks HTTPS and gRPC of the application itself, and
// answers osm-edge's paths too.
//
// The package is pure: it reads no clock and talks to nobody. The sidecar is in
// mesh/sidecar, the admission webhook in mesh/webhook.
package mesh
