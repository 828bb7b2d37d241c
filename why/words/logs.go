package words

import (
	"maps"
	"slices"
	"strings"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
)

// Read reads the lines of a log, oldest first, with what this package knows of particular programs' messages.
func Read(lines []string) *logline.Story { return logline.Parse(lines, hints{}) }

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

// traits are those of each entry that has some.
var traits = map[*knowledge.Known]logline.Traits{
	knowledge.EndsAtOnce:       logline.EndsAtOnce | logline.Foretells,
	knowledge.SettingMissing:   logline.Faulty | logline.Foretells,
	knowledge.NoApacheVariable: logline.Foretells,
	knowledge.Credentials:      logline.Faulty | logline.Credentials | logline.NamesOther,
	knowledge.LetDown:          logline.NamesOther,
	knowledge.TurnedAway:       logline.NamesOther,
	knowledge.LetsNotIn:        logline.NamesOther,
	knowledge.BrokenOffUnnamed: logline.NamesOther,
	knowledge.TooLate:          logline.NamesOther | logline.TooLate,
	knowledge.Waits:            logline.Waits,
	knowledge.ToolFails:        logline.ToolFails,
}

// faulty are phrases that tell of a fault, at whatever level.
var faulty = []*knowledge.Known{knowledge.CertificateExpired, knowledge.CertificateUnknown, knowledge.NoSpace, knowledge.Locked, knowledge.QuotaReached, knowledge.PoolTaken, knowledge.LeftBehind, knowledge.TakesNoWrites, knowledge.ServiceLink, knowledge.ModuleMissing, knowledge.Libraries, knowledge.TakenOver, knowledge.OthersMay, knowledge.BadConfig, knowledge.HostHeader, knowledge.SmallBuffer, knowledge.BadCookie, knowledge.RelayDenied}

// telling are all entries with traits, which are looked for together.
var telling = knowledge.NewGroup(withTraits()...)

func withTraits() []*knowledge.Known {
	for _, p := range faulty {
		traits[p] |= logline.Faulty
	}
	for _, u := range unreached {
		traits[u.said] |= logline.Unreached | logline.NamesOther
	}
	return slices.Collect(maps.Keys(traits))
}

// Traits returns those that a message has.
func (hints) Traits(message string) (has logline.Traits) {
	for _, p := range telling.In(message) {
		has |= traits[p]
	}
	if strings.Contains(message, "4") && refusal.MatchString(message) {
		has |= logline.NamesOther
	}
	return has
}

// Place returns the address of the other program that a message names; empty where it names none.
func (hints) Place(message string) string { return Place(message) }

// LastOf is the last of some lines that has a phrase; -1 where none has.
func LastOf(lines []string, p *knowledge.Known) int {
	for i, line := range slices.Backward(lines) {
		if p.In(line) {
			return i
		}
	}
	return -1
}

// LastWaitingForRoom is the last line of a log which says that its program waits for room on a
// disk, at whatever level; -1 where none does.
func LastWaitingForRoom(lines []string) int {
	for i, line := range slices.Backward(lines) {
		if knowledge.NoSpace.In(line) && knowledge.Waits.In(line) {
			return i
		}
	}
	return -1
}
