package why

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"
)

// seconds is a duration in whole seconds, rounded up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// size words bytes as manifests do.
func size(bytes int64) string {
	unit := int64(1)
	for bytes/unit >= 10_000 {
		unit *= 1024
	}
	return resource.NewQuantity(bytes/unit*unit, resource.BinarySI).String()
}

// process names a process by what is known of it; empty where nothing is. The
// kernel's counters tell of an end, and not of which process it was.
func process(command string, pid int) string {
	var known []string
	if command != "" {
		known = append(known, brief(command, 40))
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

// plural is n things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "s") {
		return fmt.Sprintf("%d %ses", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// brief is text on one line, at most so many characters, without what a
// terminal could take for a command: it comes from applications.
func brief(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
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

// upper makes a sentence of a clause.
func upper(s string) string {
	if s == "" {
		return s
	}
	r := []rune(s)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}
