package words

import (
	"regexp"
	"slices"
	"strings"
)

// givesReason fits the line with which Go, Java, JavaScript, Python, Rust and .NET say
// why they end. Where it happened may follow it.
var givesReason = regexp.MustCompile(`^(panic: |fatal error: |Exception in thread |Unhandled exception|thread '.*' panicked|(\w+\.)*\w*(Error|Exception): )`)

// system fits a line that ends with the C library's words for what a system call came
// to, most often before a program's own "giving up".
var system = regexp.MustCompile(`(?i): (no such file or directory|permission denied|address already in use|no space left on device|cannot allocate memory|too many open files|read-only file system|not a directory|is a directory)\)?\.?$`)

// GivesReason says whether a line of a log is one with which a runtime of a language
// says why a program ends.
func GivesReason(line string) bool { return givesReason.MatchString(line) }

// Telling is which of the last lines of a log says most: the last that gives a
// reason, or one of the last three that has the system's words, or else the last that is
// not empty; -1 where there is none.
func Telling(lines []string) int {
	last, systems, seen := -1, -1, 0
	for i, line := range slices.Backward(lines) {
		trimmed := strings.TrimSpace(line)
		if GivesReason(line) {
			return i
		}
		if trimmed == "" {
			continue
		}
		if last < 0 {
			last = i
		}
		if seen++; systems < 0 && seen <= 3 && system.MatchString(trimmed) {
			systems = i
		}
	}
	if systems >= 0 {
		return systems
	}
	return last
}
