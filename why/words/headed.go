package words

import (
	"regexp"
	"strings"
)

var (
	// bareHead fits a line that is but the heading of the next, or a field with nothing in it, fieldName
	// one that is a field's by its form, field one that has something.
	bareHead  = regexp.MustCompile(`^[A-Za-z][\w-]*:$`)
	fieldName = regexp.MustCompile(`^[A-Za-z]\w*_\w+:`)
	field     = regexp.MustCompile(`^[A-Za-z][\w-]*: `)
)

// below is the line that says what a heading leads to: the next that is not empty; -1 where a line is no
// heading, or nothing is below it but other fields.
func below(lines []string, i int) int {
	head := Gist(lines[i])
	if !bareHead.MatchString(head) {
		return -1
	}
	for j := i + 1; j < len(lines); j++ {
		switch said := Gist(lines[j]); {
		case said == "":
		case bareHead.MatchString(said), fieldName.MatchString(head) && field.MatchString(said):
			return -1
		default:
			return j
		}
	}
	return -1
}

// headed is what a line says, with what is below it where it is but the heading of that.
func headed(lines []string, i int) string {
	if j := below(lines, i); j >= 0 {
		return strings.TrimSpace(Gist(lines[i]) + " " + Gist(lines[j]))
	}
	return Gist(lines[i])
}
