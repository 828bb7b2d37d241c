// Package sidecar is what runs beside the application in a pod of the mesh.
//
// Files:
//
//	probes.go       the endpoints on 15901, 15902 and 15903: the node's probes,
//	                passed on to the application
//	healthcheck.go  the server on 15904: is a TCP port open, behind a proxy that
//	                accepts every connection
//	passthrough.go  HTTPS probes in osm-edge's form, whose bytes are passed on
//	proxy.go        the pod's connections: in with mutual TLS only, out with it
//	                where the other end is of the mesh
//	redirect.go     the packet rules that lead them here
//	serve.go        all of it together, until told to stop
//
// An answer says whose it is, in the header X-Whylet-Answered-By: the
// application's own status, headers and body come back unchanged; what the
// sidecar says itself is marked so, and says why in its body.
package sidecar
