// Package deploy is what is installed into a cluster: the chart's manifests as its
// defaults make them, for kubectl why install, which has no template engine in it.
//
// The chart (chart/whylet) is the one source. A test renders it with Go's templates and
// holds manifests.yaml to that; go test ./deploy -run TestManifests -rewrite writes it.
//
//	manifests.go    the manifests, for a namespace and a registry
//	certificate.go  the front's certificate
//	deletions.go    the webhook that is told who asks for the end of pods
//	clean.go        the DaemonSet that removes what agents kept on their nodes
package deploy
