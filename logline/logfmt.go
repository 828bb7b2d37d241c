package logline

import (
	"encoding/json"
	"regexp"
	"strings"
)

// pair is one member in logfmt.
var pair = regexp.MustCompile(`(?:^|\s)([\w.@-]+)=("(?:[^"\\]|\\.)*"?|\S*)`)

// unquoted returns the value of a member in logfmt.
func unquoted(value string) string {
	var text string
	if strings.HasPrefix(value, `"`) && json.Unmarshal([]byte(value), &text) == nil {
		return text
	}
	return strings.Trim(value, `"`)
}

// membersOfLogfmt reads the members of a line in logfmt.
func membersOfLogfmt(line string) map[string]string {
	m := map[string]string{}
	for _, p := range pair.FindAllStringSubmatch(line, -1) {
		m[p[1]] = unquoted(p[2])
	}
	return m
}
