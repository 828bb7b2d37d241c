// Package demo plays troubles that people had with Kubernetes on a node that runs, asks
// why after each, and takes all of it away again.
//
//	scenes.yaml  the troubles: pods, what is to be found, and what one learns of it
//	scenes.go    reads them
//	play.go      plays them in a namespace of its own
//	actor        the program in the pods' only image
package demo
