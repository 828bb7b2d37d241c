// Package uplink is the agent's side of the stream to the fronts: it tells them how the
// node's pods stand and why those that are gone went, and answers what they ask. A front
// that is away costs nothing: the journal is the queue, and the front says from where on
// it lacks something.
//
//	uplink.go   which fronts there are, and a session with each
//	session.go  one stream, from Hello to its end
//	tracker.go  how the pods stand, kept up to date at a bounded cost
//	ends.go     closing answers, from the journal
//	ask.go      what the front asks, answered by the node's own handlers
//	bound.go    answers that fit into a message
package uplink
