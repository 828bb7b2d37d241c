package words

import "strings"

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
