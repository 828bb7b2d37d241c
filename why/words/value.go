package words

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whylet.dev/whylet/knowledge"
)

// Has says whether a text has a value, and not as a part of another.
func Has(text, value string) bool {
	for rest := text; value != ""; {
		i := strings.Index(rest, value)
		if i < 0 {
			return false
		}
		before, after := rest[:i], rest[i+len(value):]
		if !strings.ContainsFunc(before[max(0, len(before)-1):], inName) && !strings.ContainsFunc(after[:min(1, len(after))], inName) {
			return true
		}
		rest = after
	}
	return false
}

// inName says whether a character goes on with a value.
func inName(r rune) bool {
	return r == '_' || r == '-' || r == '/' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// took fits how long a request took, as a log has it.
var took = regexp.MustCompile(`(?i)\b(?:duration|latency|took|in|elapsed|response_time)[=: "]{1,3}(\d{1,6}(?:\.\d{1,9})?) ?(ms|s)\b`)

// TookFor is how long a line of a log says that a request for a path took; ok is false where it says none.
func TookFor(line, path string) (d time.Duration, ok bool) {
	m := took.FindStringSubmatch(line)
	asked := slices.ContainsFunc(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\"'=?,", r) }), func(word string) bool { return word == path })
	if m == nil || !asked {
		return 0, false
	}
	d, err := time.ParseDuration(m[1] + strings.ToLower(m[2]))
	return d, err == nil
}

// variable fits what is called like an environment variable.
var variable = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)

// Variables are the names in a text that are such of environment variables, each once: of one that supervisord
// misses that one alone, and not all that it has.
func Variables(text string) (names []string) {
	if slots := knowledge.NotExpanded.Slots(text); slots != nil {
		return []string{slots["variable"]}
	}
	for _, name := range variable.FindAllString(text, -1) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

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
