// Package health is the pod health state machine, as a pure function of facts.
//
//	state, decisions = Step(state, fact)
//
// There is no clock, goroutine, client or log call here. Time comes in with the
// facts, and the moment at which the machine wants to be asked again goes out
// as [Deadline]; the caller then feeds a fact.TimePassed. So a five-minute
// back-off is tested in microseconds, and replaying a journal gives the same
// decisions byte for byte.
package health
