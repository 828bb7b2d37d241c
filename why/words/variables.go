package words

import (
	"regexp"
	"slices"

	"whylet.dev/whylet/knowledge"
)

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
