package words

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

// Progress is the last line of a log that says how far something came which is not done, where
// an earlier one says in the same words that it was less far, or the very last that so many of all
// were worked at; -1 where none does.
func Progress(lines []string) int {
	for i, line := range slices.Backward(lines) {
		done, all, ok := howFar(line)
		if !ok || done >= all {
			continue
		}
		if i == len(lines)-1 && worked.MatchString(Gist(line)) {
			return i
		}
		if counts(lines[:i], done, all) {
			return i
		}
		same, begins := number.ReplaceAllString(Gist(line), "#"), firstWord(line)
		for _, earlier := range lines[:i] {
			before, of, ok := howFar(earlier)
			like := number.ReplaceAllString(Gist(earlier), "#") == same || steps.MatchString(begins) && firstWord(earlier) == begins // of another part
			if ok && before < done && of == all && like {
				return i
			}
		}
		return -1
	}
	return -1
}

// counts says whether the two lines before one that says that something is the so-manieth of all say that of the two
// before it: whatever they are called.
func counts(before []string, nth, all float64) bool {
	n := 0
	for _, line := range slices.Backward(before) {
		done, of, ok := howFar(line)
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

// Stepping is the last line of a log where it and those before tell of one step of work after another, by the
// same first words and numbers that rise; -1 where they do not.
func Stepping(lines []string) int {
	last, n := len(lines)-1, 1
	if last < 0 || !steps.MatchString(Gist(lines[last])) || Any(lines[last], Waits, TooLate) || Complains(lines[last]) {
		return -1
	}
	words, at := step(lines[last])
	for _, line := range slices.Backward(lines[:last]) {
		same, before := step(line)
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

// ByName is the first of the last lines of a log that tell of one step of work after another, by the same words
// and another name at the end of each ("loading plugin dcim", "loading plugin extras"); -1 where they do not.
func ByName(lines []string) int {
	last := len(lines) - 1
	if last < 0 || !steps.MatchString(firstWord(lines[last])) || Any(lines[last], Waits, TooLate) || Complains(lines[last]) {
		return -1
	}
	words, name := lastWord(lines[last])
	first, seen := last, []string{name}
	for i, line := range slices.Backward(lines[:last]) {
		same, of := lastWord(line)
		if same != words || slices.Contains(seen, of) {
			break
		}
		first, seen = i, append(seen, of)
	}
	if first == last || words == "" {
		return -1
	}
	return first
}

// lastWord is what a line says before its last word, and that.
func lastWord(line string) (words, name string) {
	all := strings.Fields(Gist(line))
	if len(all) < 2 {
		return "", ""
	}
	return strings.Join(all[:len(all)-1], " "), all[len(all)-1]
}

// step is what a line says up to its last number, with # for each number, and that number.
func step(line string) (words string, n int) {
	gist := Gist(line)
	all := number.FindAllStringIndex(gist, -1)
	if len(all) == 0 {
		return "", 0
	}
	last := all[len(all)-1]
	n, err := strconv.Atoi(gist[last[0]:last[1]])
	if err != nil {
		return "", 0
	}
	return number.ReplaceAllString(gist[:last[0]], "#"), n
}

// beginning fits what a program says as it begins something that takes its time, at the end of its log.
var beginning = regexp.MustCompile(`(?i)^(?:info:? |\[info\] |.{0,40}\binfo\b.{0,20}\[[\w.-]+\] )?(?:now )?(?:` +
	`(?:upgrading|copying|extracting|unpacking|preparing|building|reading|parsing|scanning|fetching|collecting|generating|running (?:the )?migrations)\b[^:]*(?:\.\.\.|…)\s*$` +
	`|(?:initiali[sz]ing|compiling|loading|warming(?: up)?|installing|importing|migrating|restoring|downloading|seeding|replaying|re-?indexing|indexing|pre-?compiling)\b[^:]*$)`)

// Begun says whether the last line of a log tells that its program has begun work of a start, and no line behind
// it that this is done.
func Begun(lines []string) bool {
	return len(lines) > 0 && beginning.MatchString(strings.TrimSpace(Gist(lines[len(lines)-1])))
}

// SinceWaits are the lines of a log from where it only tells that it waits: what failed before that is over, and one
// that tries again tells of that in between.
func SinceWaits(lines []string) []string {
	first := len(lines)
	for first > 0 && Waits.In(lines[first-1]) && !Complains(lines[first-1]) {
		first--
	}
	if len(lines)-first < 2 {
		return lines
	}
	return lines[first:]
}

// Done is which part of all a line says is done.
func Done(line string) (share float64, ok bool) {
	done, all, ok := howFar(line)
	if !ok || all <= 0 || done > all {
		return 0, false
	}
	return done / all, true
}

// firstWord is what a line's gist begins with.
func firstWord(line string) string {
	word, _, _ := strings.Cut(Gist(line), " ")
	return word
}

func howFar(line string) (done, all float64, ok bool) {
	m := far.FindStringSubmatch(Gist(line))
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
