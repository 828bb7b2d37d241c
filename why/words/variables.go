package words

import (
	"regexp"
	"slices"
)

// variable fits what is called like an environment variable.
var variable = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)

// NotExpanded is said by supervisord of a variable of its configuration that its environment does not have.
var NotExpanded = fits("supervisord 4.2, options.py, expand", `\bcontains names \('(?:ENV_)?(\w+)'\) which cannot be expanded`,
	"Error: Format string 'SECRET=\"%(ENV_AUTH_URL)s\"' for 'program:api.environment' contains names ('ENV_AUTH_URL') which cannot be expanded. Available names: ENV_HOME, ENV_PATH, group_name, here")

// Variables are the names in a text that are such of environment variables, each once: of one that supervisord
// misses that one alone, and not all that it has.
func Variables(text string) (names []string) {
	if missed := NotExpanded.Find(text); missed != nil {
		return missed
	}
	for _, name := range variable.FindAllString(text, -1) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
