// Package front is what a cluster asks instead of its nodes: agents keep a stream to it,
// tell it how their pods stand and why those that are gone went, and answer its questions.
//
//	hub.go       what is known of all nodes, and package ask's way to them
//	identity.go  who an agent is, by its token
//	reviews.go   tokens, looked at by the API server; refusals are remembered for a moment
//	guard.go     connections that have not said who they are, bounded by address
//	agents.go    the streams: who may connect, and how often
//	session.go   one stream
//	standing.go  what an agent tells of its pods, taken when the API server agrees
//	fellows.go   the pods that can be compared, for what only the cluster shows
//	closing.go   closing answers on their way to the archive
//	asking.go    questions to an agent
//	deletions.go  who asked for a pod's end, told to its node's agent
package front
