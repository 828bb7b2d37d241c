// Package api watches the pods of one node, at the API server or by its kubelet's pods API, and
// makes facts of what is shown. It only reads: its one client of the API server is asked for nothing
// but get, list and watch, and kubelet's pods API has nothing else.
//
//	client.go  Client: the typed REST client of core/v1, and what was asked of it
//	watch.go   Watch: the pods of the node
//	source.go  which of the two is read, and when
//	beside.go  kubelet's pods API
//	pods.go    facts of a pod's specification, deletion and conditions
//	status.go  facts of a pod's status: what ended, what does not start
//	events.go  kubelet's events about a pod in trouble
package api
