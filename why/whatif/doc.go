// Package whatif says what other settings of probes and memory limits would have
// changed: it replays the recorded facts of each run of a container through
// package health, with the settings changed, and compares.
//
// It is pure, as package why is. Nothing is made up: where the record does not say
// how an attempt would have gone (it timed out, and a longer timeout is asked
// about; it would have been made at another time), the run is replayed twice, once
// as if all such attempts had gone well and once as if none had. What both agree
// on is said, and the rest is called not known, with the reason.
//
//	change.go   which settings can be changed, and what the API server would refuse
//	attempts.go how recorded attempts would have gone
//	replay.go   one run of a container through package health
//	memory.go   memory limits
//	whatif.go   Ask: all runs, and what comes of them
//	text.go     the result for people
package whatif
