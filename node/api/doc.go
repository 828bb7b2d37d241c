// Package api is what the node's HTTPS API answers from: the pods, their numbers and the
// node's memory. How it is served is package server's.
//
//	api.go   Listen: all that is asked of the node, put together
//	host.go  what the server asks of pods
package api
