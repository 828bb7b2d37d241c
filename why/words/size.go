package words

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	// bounds fits the name of a setting that says how much memory something may take.
	bounds = regexp.MustCompile(`(?i)mem|heap|buffer|cache|pool|table[_-]?size|xmx|space[_-]?size`)
	// size fits a size with its unit, as configurations write one.
	size = regexp.MustCompile(`^["']?(\d{1,9}(?:\.\d{1,3})?) ?([kmgt])(?:i?b)?["']?[;,]?$`)
	// sizeLine fits a line that gives such a setting its value.
	sizeLine = regexp.MustCompile(`^\s*(?:-D)?["']?([\w.-]{3,60})["']?\s*(?:=|:|\s)\s*(\S+(?: [kmgtKMGT]i?[bB]?)?)\s*(?:#.*)?$`)
)

// SizeSetting is how many bytes a setting allows, by its name and value; ok is false where it is none of
// memory, or its value has no unit.
func SizeSetting(name, value string) (bytes int64, ok bool) {
	m := size.FindStringSubmatch(strings.ToLower(strings.TrimSpace(value)))
	if m == nil || !bounds.MatchString(name) {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	bytes = int64(n * float64(int64(1)<<(10*(strings.Index("kmgt", m[2])+1))))
	return bytes, bytes > 0
}

// SizeLine is the same of a line of a configuration, with the setting's name.
func SizeLine(line string) (name string, bytes int64, ok bool) {
	m := sizeLine.FindStringSubmatch(line)
	if m == nil {
		return "", 0, false
	}
	bytes, ok = SizeSetting(m[1], m[2])
	return m[1], bytes, ok
}
