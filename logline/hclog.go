package logline

import (
	"regexp"
	"strings"
)

var (
	// valueName and valueLine are the lines in which hclog, the logger of Vault, Consul and Nomad, writes a value that
	// has several (github.com/hashicorp/go-hclog, intlogger.go).
	valueName = regexp.MustCompile(`^\s+\w+=$`)
	valueLine = regexp.MustCompile(`^\s+\|(?: (.*))?$`)
)

// joinValues makes one message of a value's lines, at the first of them.
func (s *Story) joinValues() {
	for i := 0; i < len(s.lines); i++ {
		if !valueName.MatchString(s.lines[i].text) {
			continue
		}
		var value []string
		for j := i + 1; j < len(s.lines); j++ {
			m := valueLine.FindStringSubmatch(s.lines[j].text)
			if m == nil {
				break
			}
			if s.lines[j].message, s.lines[j].said = "", patterns.Scan(""); m[1] != "" {
				value = append(value, m[1])
			}
		}
		if len(value) > 0 {
			l := &s.lines[i]
			l.message, l.logged = strings.Join(value, " "), false
			l.said = patterns.Scan(l.message)
		}
	}
}
