// Package record writes what is known of a namespace, or of all, at one moment into one file, and answers
// from that file as the cluster would have answered then: the facts of its pods and of their
// nodes, the last lines of its containers, and the API's objects.
//
//	record.go   the case and its file
//	redact.go   what is left out of it, and objects that would do harm
//	kinds.go    the kinds of objects in it
//	server.go   a cluster's API server that has one case and nothing else
//
// ask.Recorded asks a case by [Case.Client].
package record
