// Package server is the node's HTTPS API, the one that the API server, kubectl
// (through the API server), metrics-server and Prometheus know from the kubelet.
//
//	GET            /containerLogs/NAMESPACE/POD/CONTAINER
//	GET, POST      /exec, /attach /NAMESPACE/POD[/UID]/CONTAINER
//	GET, POST      /portForward/NAMESPACE/POD[/UID]
//	POST           /run/NAMESPACE/POD[/UID]/CONTAINER
//	GET            /pods, /runningpods, /stats/summary, /configz, /logs/
//	GET            /metrics, /metrics/resource, /metrics/probes
//	GET            /healthz, /debug/pprof/
//	               and what [Config.Extra] adds
//
// Every request is authenticated (client certificate, or bearer token through
// TokenReview) and authorised (SubjectAccessReview for nodes/NAME and the
// subresource that [attributes] chooses) before its path is looked at.
//
// Files:
//
//	host.go       what the server asks of the node and of the runtime
//	server.go     listening, serving, ending
//	conns.go      the open connections
//	tls.go        certificates, reloaded when their files change
//	auth.go       who asks, and may they
//	routes.go     which path is answered by whom
//	logs.go       container logs; logsource.go which container's, and where
//	streams.go    exec, attach and port-forward, handed on to the runtime; run
//	pods.go       lists of pods, and what is small
//
// The kubelet's own server package would bring cadvisor with it (54 packages,
// and its types in the interface), answers /metrics and /configz from
// process-wide registries which the control plane in this binary shares, and
// ends the process when it cannot listen. So the mux is ours, and its parts are
// Kubernetes': authentication, authorisation and certificate reloading from
// k8s.io/apiserver, log reading from k8s.io/cri-client, stream handling from
// k8s.io/cri-streaming and k8s.io/apiserver. Paths, status codes and error texts
// follow pkg/kubelet/server and pkg/kubelet/kubelet_pods.go of v1.37.2.
package server
