package logline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// far says how far something came: a number of so many, or per cent.
var far = regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)(?:\s?%|\s?(?:/|of|out of)\s?(\d+(?:\.\d+)?)\b)`)

// number is what differs between two lines that tell of the same.
var number = regexp.MustCompile(`\d+`)

// worked fits what is progress though it is said only once: so many of all were worked at.
var worked = regexp.MustCompile(`(?i)\d+ (?:out )?of \d+ (?:\w+ )?(?:read|loaded|done|processed|migrated|imported|indexed|applied|completed|finished|copied|restored|downloaded|scanned|checked|built|replayed|warmed|cached|converted|updated|initiali[sz]ed)\b`)

// Progress returns the last line that says how far something came which is not done, where
// an earlier one says in the same words that it was less far, or the very last that so many of all
// were worked at; -1 where none does.
func (s *Story) Progress() int {
	for i, l := range slices.Backward(s.lines) {
		done, all, ok := howFar(l.message)
		if !ok || done >= all {
			continue
		}
		if i == len(s.lines)-1 && worked.MatchString(l.message) || s.counts(i, done, all) {
			return i
		}
		same, begins := number.ReplaceAllString(l.message, "#"), firstWord(l.message)
		for _, earlier := range s.lines[:i] {
			before, of, ok := howFar(earlier.message)
			if !ok || before >= done || of != all {
				continue
			}
			if number.ReplaceAllString(earlier.message, "#") == same || steps.MatchString(begins) && firstWord(earlier.message) == begins { // of another part
				return i
			}
		}
		return -1
	}
	return -1
}

// counts reports whether the two lines before one that says that something is the so-manieth of all say that of the
// two before it: whatever they are called.
func (s *Story) counts(at int, nth, all float64) bool {
	n := 0
	for _, l := range slices.Backward(s.lines[:at]) {
		done, of, ok := howFar(l.message)
		if !ok {
			continue
		}
		if nth--; done != nth || of != all || n == 2 {
			break
		}
		n++
	}
	return n == 2
}

// steps fits words of work that is done step by step as a program starts.
var steps = regexp.MustCompile(`(?i)\b(?:migrat|upgrad|import|index|appl(?:y|ied)|restor|download|replay|convert|seed|unpack|extract|load|install|compil|copy|copied)\w*\b`)

// atWork reports whether the last line tells of a step of work, and of no failure.
func (s *Story) atWork(says func(line) string) bool {
	if len(s.lines) == 0 {
		return false
	}
	last := &s.lines[len(s.lines)-1]
	return steps.MatchString(says(*last)) && !s.has(last, Waits|TooLate) && !Complains(last.text, s.hints)
}

// Stepping returns the last line where it and those before tell of one step of work after another, by the
// same first words and numbers that rise; -1 where they do not.
func (s *Story) Stepping() int {
	last, n := len(s.lines)-1, 1
	if !s.atWork(func(l line) string { return l.message }) {
		return -1
	}
	words, at := step(s.lines[last].message)
	for _, l := range slices.Backward(s.lines[:last]) {
		same, before := step(l.message)
		if same != words || before >= at {
			break
		}
		at = before
		n++
	}
	if n < 2 || words == "" {
		return -1
	}
	return last
}

// ByName returns the first of the last lines that tell of one step of work after another, by the same words
// and another name at the end of each ("loading plugin dcim", "loading plugin extras"); -1 where they do not.
func (s *Story) ByName() int {
	last := len(s.lines) - 1
	if !s.atWork(func(l line) string { return firstWord(l.message) }) {
		return -1
	}
	words, name := lastWord(s.lines[last].message)
	first, seen := last, map[string]bool{name: true}
	for i, l := range slices.Backward(s.lines[:last]) {
		same, of := lastWord(l.message)
		if same != words || seen[of] {
			break
		}
		first, seen[of] = i, true
	}
	if first == last || words == "" {
		return -1
	}
	return first
}

// lastWord is what a message says before its last word, and that.
func lastWord(message string) (words, name string) {
	all := strings.Fields(message)
	if len(all) < 2 {
		return "", ""
	}
	return strings.Join(all[:len(all)-1], " "), all[len(all)-1]
}

// step is what a message says up to its last number, with # for each number, and that number.
func step(message string) (words string, n int) {
	all := number.FindAllStringIndex(message, -1)
	if len(all) == 0 {
		return "", 0
	}
	last := all[len(all)-1]
	n, err := strconv.Atoi(message[last[0]:last[1]])
	if err != nil {
		return "", 0
	}
	return number.ReplaceAllString(message[:last[0]], "#"), n
}

// beginning fits what a program says as it begins something that takes its time, at the end of its log.
var beginning = regexp.MustCompile(`(?i)^(?:info:? |\[info\] |.{0,40}\binfo\b.{0,20}\[[\w.-]+\] )?(?:now )?(?:` +
	`(?:upgrading|copying|extracting|unpacking|preparing|building|reading|parsing|scanning|fetching|collecting|generating|running (?:the )?migrations)\b[^:]*(?:\.\.\.|…)\s*$` +
	`|(?:initiali[sz]ing|compiling|loading|warming(?: up)?|installing|importing|migrating|restoring|downloading|seeding|replaying|re-?indexing|indexing|pre-?compiling)\b[^:]*$)`)

// Begun reports whether the last line tells that the program has begun work of a start, and no line behind
// it that this is done.
func (s *Story) Begun() bool {
	return len(s.lines) > 0 && beginning.MatchString(strings.TrimSpace(s.lines[len(s.lines)-1].message))
}

// SinceWaits returns from which line on the log only tells that its program waits, 0 where it does not: what failed
// before that is over, and one that tries again tells of that in between.
func (s *Story) SinceWaits() int {
	first := len(s.lines)
	for first > 0 && s.has(&s.lines[first-1], Waits) && !Complains(s.lines[first-1].text, s.hints) {
		first--
	}
	if len(s.lines)-first < 2 {
		return 0
	}
	return first
}

// Done returns which part of all a line says is done.
func Done(line string) (share float64, ok bool) {
	done, all, ok := howFar(Message(line))
	if !ok || all <= 0 || done > all {
		return 0, false
	}
	return done / all, true
}

// firstWord is what a message begins with.
func firstWord(message string) string {
	word, _, _ := strings.Cut(message, " ")
	return word
}

func howFar(message string) (done, all float64, ok bool) {
	m := far.FindStringSubmatch(message)
	if m == nil {
		return 0, 0, false
	}
	done, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, 0, false
	}
	if strings.Contains(m[0], "%") {
		return done, 100, true
	}
	all, err = strconv.ParseFloat(m[2], 64)
	return done, all, err == nil
}
