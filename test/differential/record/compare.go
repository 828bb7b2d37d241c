package record

import "strings"

// Difference is a line that the two sides do not share. A side that lacks the
// line has an empty value.
type Difference struct{ Key, Real, Ours string }

// Compare lists the differences between the lines of the real stack and ours, in
// the order of the real ones; what only we have comes last.
func Compare(real, ours []Line) []Difference {
	values := map[string]string{}
	for _, line := range ours {
		values[line.Key] = line.Value
	}
	known := map[string]bool{}
	var found []Difference
	for _, line := range real {
		known[line.Key] = true
		value, ok := values[line.Key]
		if value != line.Value && (ok || !strings.HasSuffix(line.Key, IfBoth)) {
			found = append(found, Difference{line.Key, line.Value, value})
		}
	}
	for _, line := range ours {
		if !known[line.Key] && line.Value != "" && !strings.HasSuffix(line.Key, IfBoth) {
			found = append(found, Difference{line.Key, "", line.Value})
		}
	}
	return found
}
