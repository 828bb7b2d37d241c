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
var traits = map[*Phrase]logline.Traits{
	EndsAtOnce:       logline.EndsAtOnce | logline.Foretells,
	SettingMissing:   logline.Faulty | logline.Foretells,
	NoApacheVariable: logline.Foretells,
	Credentials:      logline.Faulty | logline.Credentials | logline.NamesOther,
	LetDown:          logline.NamesOther,
	TurnedAway:       logline.NamesOther,
	LetsNotIn:        logline.NamesOther,
	brokenOff:        logline.NamesOther,
	TooLate:          logline.NamesOther | logline.TooLate,
	Waits:            logline.Waits,
	ToolFails:        logline.ToolFails,
}

// faulty are phrases that tell of a fault, at whatever level.
var faulty = []*Phrase{CertificateExpired, CertificateUnknown, NoSpace, Locked, QuotaReached, PoolTaken, LeftBehind, TakesNoWrites, ServiceLink, ModuleMissing, Libraries, TakenOver, OthersMay, BadConfig, HostHeader, SmallBuffer, BadCookie, RelayDenied}

// telling are all entries with traits, which are looked for together.
var telling = knowledge.NewGroup(withTraits()...)

func withTraits() []*Phrase {
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
func LastOf(lines []string, p *Phrase) int {
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
		if NoSpace.In(line) && Waits.In(line) {
			return i
		}
	}
	return -1
}
