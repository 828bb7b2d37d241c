package logline

import (
	"regexp"
	"slices"
	"strings"
)

// belowFile reports whether a line is the source below a place in a traceback of Python's.
func belowFile(before, text string) bool {
	return strings.HasPrefix(text, "    ") && strings.HasPrefix(strings.TrimSpace(before), `File "`)
}

// class fits what may be the line below a traceback.
var class = regexp.MustCompile(`^[A-Za-z_][\w.]*(: |$)`)

// belowTraceback reports whether a line is the one that a traceback of Python's ends with.
func belowTraceback(lines []string, i int) bool {
	if i < 2 || !strings.HasPrefix(lines[i-1], "  ") || !class.MatchString(lines[i]) {
		return false
	}
	// The place, its source, and what of that is underlined.
	return slices.ContainsFunc(lines[max(0, i-3):i], func(line string) bool { return strings.HasPrefix(line, `  File "`) })
}

// endsTraceback is [belowTraceback] of a line of the log.
func (s *Story) endsTraceback(i int) bool {
	if i < 2 || !strings.HasPrefix(s.lines[i-1].text, "  ") {
		return false
	}
	from := max(0, i-3)
	var around [4]string
	for j := from; j <= i; j++ {
		around[j-from] = s.lines[j].text
	}
	return belowTraceback(around[:i-from+1], i-from)
}
