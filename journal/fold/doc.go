// Package fold folds equal probe successes into one fact before they reach the journal. It
// is a layer above the store, which knows of no probe: it only holds facts for whoever may
// still replace them.
//
// A run belongs to one probe of one attempt of one container. While it is open,
// its latest successes ([Options.Keep]) are held whole, and those before them are one fact:
//
//   - its ID, Seen, Mono and Boot are those of the last attempt folded into it,
//     At is when the first began, Until when the last did;
//   - Count is their number, Latency their histogram (fact.LatencyBounds), Took
//     and Late the longest;
//   - Evidence has what they have in common: no timings, no output.
//
// A run ends, and is written, right before the next fact about its pod that is
// not itself such a success: a failure, an exit, a decision, a checkpoint, any
// fact at all but fact.Sampled, which comes often and of which nothing follows.
// A success that a fact of the same Append names in Because is kept whole, too.
// So every fact from which something followed stands where it stood, with the
// successes before it whole. Every so often a long run is written and goes on
// as a new one, so that history has some resolution.
//
// What a replay sees: successes that changed nothing, up to a run later and
// never later than the next fact that could change something. That gives the
// same decisions, byte for byte, provided that counting Count successes at once
// comes to the same as counting them one by one, and that no decision names an
// attempt that was folded (its id is not found any more). Package health names
// at most ten attempts of a row, when the row reaches its threshold: therefore
// a run that is still young holds nine successes whole.
//
// Open runs are held by the journal ([journal.Slot]), so they are in its answers and
// survive the process; what a process left open is written when the next one begins.
//
//	fold.go  Journal: a journal that folds
//	run.go   what a run is: which successes are equal, and what they have in common
package fold
