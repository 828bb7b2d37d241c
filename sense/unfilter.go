package sense

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// mostFilters is how many filters are taken off one after another.
const mostFilters = 3

// shells are those whose command is read, withScript fits the flags behind which it stands.
var (
	shells     = []string{"sh", "ash", "bash", "dash"}
	withScript = regexp.MustCompile(`^-[a-z]*c$`)
)

// aFilter fits what stands behind the last pipe of a script where that only lets through what it is looked for: a
// grep, and what may follow it that says no more than whether it found something.
var aFilter = regexp.MustCompile(`^\s*(?:busybox +)?[ef]?grep\s(?:[^'"|&;<>()` + "`" + `$\n\\]|\\.|'[^'\n]*'|"[^"` + "`" + `$\n]*")*(?:[12]?>\s*/dev/null\s*|2>&1\s*)*(?:\|\|\s*exit\s+\d+\s*)?;?\s*$`)

// laysOpen fits programs that put out all of what they have, of which a grep was to pick one thing: variables, files,
// the arguments of processes. What they say besides is nobody's to keep.
var laysOpen = regexp.MustCompile(`\b(?:env|printenv|export|declare|cat|head|tail|strings|base64|openssl|ps|pgrep|history)\b|\bset\s*$`)

// unfiltered is the command of a shell without the greps that its output goes through last: what it says before
// they let nothing of it through. ok is false of any other command, and where that may lay open secrets.
func unfiltered(command []string) (without []string, ok bool) {
	n := len(command)
	if n < 3 || !slices.Contains(shells, path.Base(command[0])) || !withScript.MatchString(command[n-2]) {
		return nil, false
	}
	script := command[n-1]
	for range mostFilters {
		at := lastPipe(script)
		if at < 0 || !aFilter.MatchString(script[at+1:]) || strings.TrimSpace(script[:at]) == "" {
			break
		}
		script, ok = strings.TrimRight(script[:at], " \t"), true
	}
	if laysOpen.MatchString(script) {
		return nil, false
	}
	return append(slices.Clone(command[:n-1]), script), ok
}

// lastPipe is where the last pipe of a script stands, outside of quotes; -1 where there is none.
func lastPipe(script string) int {
	last, quote := -1, byte(0)
	for i := 0; i < len(script); i++ {
		switch c := script[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '|' && i+1 < len(script) && script[i+1] == '|':
			i++
		case c == '|':
			last = i
		}
	}
	if quote != 0 {
		return -1 // it is no script that a shell takes
	}
	return last
}
