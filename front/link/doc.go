// Package link is what an agent and a front say to each other on their stream.
//
// The agent dials: nodes open no port. Messages are JSON within gRPC, not protobuf: what
// they carry, answers, is JSON with a schema of its own already, the envelope around it has
// a dozen fields, and no generator is needed to build it.
//
//	message.go  the messages, and the bounds that both sides hold to
//	service.go  the stream as gRPC knows it
package link
