package words

import (
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
)

// Read reads the lines of a log, oldest first, with what this package knows of particular programs' messages.
func Read(lines []string) *logline.Story { return logline.Parse(lines, hints{}) }

// ReadLong is [logline.ParseLong] with the same.
func ReadLong(lines []string, at []time.Time) (*logline.Story, []time.Time) {
	return logline.ParseLong(lines, at, hints{})
}

// Keep is [logline.Keep] with the same.
func Keep(lines []string, most, bytes int) (kept []string, which []int) {
	return logline.Keep(lines, most, bytes, hints{})
}

// Told is [logline.Summary] with the same.
func Told(output string) string { return logline.Summary(output, hints{}) }

// Complains is [logline.Complains] with the same.
func Complains(line string) bool { return logline.Complains(line, hints{}) }

// hints are what this package knows of messages, see [logline.Hints].
type hints struct{}

// telling are all entries that stand for something in a log.
var telling = knowledge.NewGroup(func(e *knowledge.Entry) bool { return e.Role != (knowledge.Role{}) || e.Severity != "" })

// Traits returns those that a message has.
func (hints) Traits(message string) (has logline.Traits) {
	for _, e := range telling.In(message) {
		has |= bySeverity[e.Severity] | byState[e.Role.Server]
		switch o := e.Role.Client; {
		case o == "":
		case slices.Contains(unreached, o):
			has |= logline.NamesOther | logline.Unreached
		default:
			has |= logline.NamesOther | byOutcome[o]
		}
	}
	if strings.Contains(message, "4") && refusal.MatchString(message) {
		has |= logline.NamesOther
	}
	return has
}

var (
	bySeverity = map[string]logline.Traits{"error": logline.Faulty, "warning": logline.Warns}
	byState    = map[knowledge.State]logline.Traits{
		knowledge.Waiting: logline.Waits, knowledge.Foretold: logline.Foretells, knowledge.Misused: logline.ToolFails,
	}
	byOutcome = map[knowledge.Outcome]logline.Traits{
		knowledge.NotInTime: logline.TooLate, knowledge.CredentialsFail: logline.Credentials,
	}
)

// Place returns the address of the other program that a message names; empty where it names none.
func (hints) Place(message string) string { return Place(message) }

// LastOf is the last of some lines that has each of some phrases; -1 where none has.
func LastOf(lines []string, all ...*knowledge.Known) int {
	for i, line := range slices.Backward(lines) {
		if !slices.ContainsFunc(all, func(k *knowledge.Known) bool { return !k.In(line) }) {
			return i
		}
	}
	return -1
}
