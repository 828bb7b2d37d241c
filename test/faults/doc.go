// Package faults kills fronts, their API server, agents and archives at random for as long as
// one wants while pods end and people ask: make test-faults FAULTS=15m.
//
// Two replicas of three are killed, so that it is seen of the third whether its memory
// returns to where it was. TestOneOfTwo kills but one of two, and nobody may notice.
package faults
