package fact

import "time"

// What several rooms must agree on.
const (
	// MostNamed is how many facts of a row (of failed attempts, say) a decision names
	// at most. A journal keeps so many whole where it folds.
	MostNamed = 10
	// MostTasks is how many rows of the kernel's table of processes an [OOMKilled] has
	// at most: of one that has as many, some may be missing.
	MostTasks = 20
	// OOMFollowedWithin is how soon after the OOM kill of a child the end of its
	// container is taken for its consequence: a parent that waits for its child ends
	// within milliseconds, the rest is for a slow machine.
	OOMFollowedWithin = 2 * time.Second
)

// Faults are the signals that a process brings upon itself: by a fault, or as SIGPIPE,
// SIGALRM, SIGXFSZ, SIGVTALRM and SIGPROF by what it does and does not expect. Nobody else
// sends them when a container ends.
var Faults = []int32{4, 5, 6, 7, 8, 11, 13, 14, 25, 26, 27, 31}

// SignalNames are the signals that end processes (signal(7)).
var SignalNames = map[int32]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
	9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
	24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 31: "SIGSYS",
}
