// Package dump reads what tools collect of a cluster for a support case, and makes of it a case
// of [record] that is asked without the cluster.
//
//	dump.go      the case, its time, and what was left out
//	files.go     the files of a folder, of an archive, or one
//	objects.go   API objects in JSON and YAML, lists of them, and the single stream of kubectl cluster-info dump
//	logs.go      logs of containers: whose they are, and the forms in which runtimes write a line
//	describe.go  the texts of kubectl describe pod
//	waiting.go   what such a text leaves out: messages of a pod's status, and the container of an event
//	events.go    the tables of kubectl get events
//
// What a file is shows by its content; by its path shows whose log it is, and of which namespace
// an empty list. All is bounded: a dump comes from elsewhere.
package dump
