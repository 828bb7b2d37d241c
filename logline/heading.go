package logline

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
func (s *Story) below(i int) int {
	head := s.lines[i].message
	if !bareHead.MatchString(head) {
		return -1
	}
	for j := i + 1; j < len(s.lines); j++ {
		switch said := s.lines[j].message; {
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
func (s *Story) headed(i int) string {
	if j := s.below(i); j >= 0 {
		return strings.TrimSpace(s.lines[i].message + " " + s.lines[j].message)
	}
	return s.lines[i].message
}
