package logline

import (
	"regexp"
	"slices"
)

// hash and entry are what Ruby writes of a hash behind what is said, and an entry of it.
var (
	hash  = regexp.MustCompile(` ?\{:?"?\w+"?(=>|: ).*\}$`)
	entry = regexp.MustCompile(`:(\w+)(?:=>|: )("(?:[^"\\]|\\.)*"|[^,}]*)`)
)

// hashed is a line that ends with a hash of Ruby's that has a reason, with no more of it than that.
func hashed(line string) string {
	at := hash.FindStringIndex(line)
	if at == nil {
		return line
	}
	for _, e := range entry.FindAllStringSubmatch(line[at[0]:], -1) {
		if e[1] == "message" || slices.Contains(reasonsIn, e[1]) {
			return line[:at[0]] + ": " + unquoted(e[2])
		}
	}
	return line
}
