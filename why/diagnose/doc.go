// Package diagnose finds the root of a failure in a graph of what explains what. It is pure: the same graph, in whatever
// order, has the same root.
//
//	root.go   the search
package diagnose
