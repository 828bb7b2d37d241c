// Package common says what pods that fail alike have in common while others, which have
// it not, do well: what nobody sees who looks at one pod or at one node.
//
// It is pure. A [Scene] of pods goes in, each with its cause, its node and its revision,
// and findings come out. Something is said to be why only where chance alone would hardly
// have done it, else it is said that there are too few to tell; and like is compared with
// like: pods of one workload and one revision on different nodes, or of one workload and
// different revisions. So a workload that fails wherever it runs accuses no node, even if
// it runs on one only.
//
//	common.go    the scene, what is found in it, and pods that ask for the same
//	revision.go  pods of one revision of a workload; changes.go, what came with it
//	nodes.go     pods on the same nodes, and what nodes can share
//	chance.go    what chance would do
package common
