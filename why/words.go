package why

import (
	"fmt"
	"strings"

	"whylet.dev/whylet/why/prose"
)

// process names a process by what is known of it; empty where nothing is. The
// kernel's counters tell of an end, and not of which process it was.
func process(command string, pid int) string {
	var known []string
	if command != "" {
		known = append(known, prose.Brief(command, 40))
	}
	if pid != 0 {
		known = append(known, fmt.Sprintf("pid %d", pid))
	}
	return strings.Join(known, ", ")
}

// inBrackets puts what is known in brackets behind a word, with another before it.
func inBrackets(lead, known string) string {
	if known == "" {
		return ""
	}
	return " (" + lead + known + ")"
}

// signals are those that end processes (signal(7)).
var signals = map[int32]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
	9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
	24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 31: "SIGSYS",
}

func signalName(n int32) string {
	if name, ok := signals[n]; ok {
		return name
	}
	return fmt.Sprintf("signal %d", n)
}
