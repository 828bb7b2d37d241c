// Package requests counts what one question reads of an API server, for the tests that ask recorded cases and incidents.
//
//	count.go   the counter, and what a question must not do
package requests
