// Package api watches the pods of one node at the API server and makes facts of what
// it shows. It only reads: its one client is asked for nothing but get, list and watch.
//
//	client.go  Client: the typed REST client of core/v1, and what was asked of it
//	watch.go   Watch: the pods of the node
//	pods.go    facts of a pod's specification, deletion and conditions
//	status.go  facts of a pod's status: what ended, what does not start
//	events.go  kubelet's events about a pod in trouble
package api
