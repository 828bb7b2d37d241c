// Package journal is the node's memory: an append-only store of facts.
//
// What a caller may rely on:
//
//   - An acknowledged fact survives the death of the process at any instant:
//     [Journal.Append] returns after the operating system has it. It survives a
//     loss of power within [Options.SyncEvery], or at once with [SyncAlways].
//   - The facts of one Append are found together or not at all.
//   - Ids increase in every answer, and none is used for two facts.
//   - A disk that is full, broken or missing stops nobody: facts go to memory
//     until it can be written again, and [Journal.Degraded] says why.
//   - What cannot be read is set aside and reported, and the rest is served.
//
// Facts arrive in a log, in the order of writing (log.go). A full log is sealed
// into a segment: sorted by pod, compressed, with an index at its end
// (segment.go), so a question about one pod reads that pod's blocks and little
// else. Small segments are merged, and what retention lets go is left out on
// the way (compact.go, retain.go). What may still be replaced by something shorter is
// held back from the log (held.go); package journal/fold, a layer above this one, folds
// equal probe successes so.
//
// The journal knows a fact's envelope and nothing else of pods. What health
// needs of it is one thing: a live pod's latest fact.Checkpoint, and whatever
// follows it, is never dropped.
//
// Another process reads the directory while the agent writes, without locks:
// see [OpenReader]. A pod's or a node's history travels as one file: see
// [Export] and [OpenFile].
//
// Files of this package:
//
//	journal.go   Journal: open, close, ids
//	files.go     modes of what is in the directory
//	append.go    group commit, and memory when the disk fails
//	record.go    the form of a record and of a frame
//	log.go       the log that is written, and its recovery
//	segment.go   sealed logs: blocks by pod, and their index
//	segment_write.go writes them
//	ids.go       which block has which fact
//	compact.go   sealing and merging
//	damage.go    what cannot be read is set aside
//	retain.go    what may be dropped, fairly between pods
//	held.go      facts that are held back from the log
//	slots.go     the file that keeps them
//	query.go     questions
//	tail.go      following what is written
//	reader.go    reading a directory that another process writes
//	export.go    the portable file
//	stats.go     numbers
//	file_linux.go, file_other.go what the system calls differently
package journal
