// Package exit is how commands end: one table of exit codes for all of them, so that a
// script can tell a wrong command line from a question without an answer.
//
// exit.go has the codes, what they mean, and the errors that carry them.
package exit
