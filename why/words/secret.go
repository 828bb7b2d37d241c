package words

import "regexp"

// secret fits what may hold what nobody else is to read, secretName a name that only what is a secret has.
var (
	secret     = regexp.MustCompile(`(?i)passw|passphrase|secret|token|credential|api[_-]?key|private|://[^/\s:@]*:[^/\s@]+@`)
	secretName = regexp.MustCompile(`(?i)(?:^|[_. -])(?:\w*key|auth)(?:[_. -]|$)`)
)

// MayHoldSecret says whether a text, such as a line of a configuration, may hold what nobody else is to read.
func MayHoldSecret(text string) bool { return secret.MatchString(text) }

// MayBeSecret says the same of a setting by its name and value.
func MayBeSecret(name, value string) bool {
	return secretName.MatchString(name) || secret.MatchString(name) || secret.MatchString(value)
}
