// Package graph is what is known of how the failures of a cluster's objects hang together: objects, what is wrong with
// them, and which trouble explains which, each with how well that is supported. It holds no words that people read and
// knows no client and no clock.
//
//	graph.go   the types
//
// Package diagnose finds the root in it. Whoever makes edges puts a reference to its own words for it into [Edge.Ref].
package graph
