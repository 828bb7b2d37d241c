// Package serve takes questions to a journal: it collects the facts that package
// why needs for an answer, and answers over HTTP.
//
//	gather.go    from a journal to a history.History
//	steady.go    how long the answer has been the same
//	question.go  a question, and the parameters that it has on its way
//	facts.go     GET /why/facts: the facts behind an answer
//	handler.go   GET /why, as the node mounts it behind its API's authentication
//	node.go      when a node was away
package serve
