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

// Progress is the last line of a log that says how far something came which is not done, where
// an earlier one says in the same words that it was less far; -1 where none does.
func Progress(lines []string) int {
	for i, line := range slices.Backward(lines) {
		done, all, ok := howFar(line)
		if !ok || done >= all {
			continue
		}
		same := number.ReplaceAllString(Gist(line), "#")
		for _, earlier := range lines[:i] {
			before, of, ok := howFar(earlier)
			if ok && before < done && of == all && number.ReplaceAllString(Gist(earlier), "#") == same {
				return i
			}
		}
		return -1
	}
	return -1
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
