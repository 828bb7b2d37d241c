package redact

import (
	"regexp"
	"strings"
)

// secret reports whether a value behind a separator is one, by its name and its own looks. loose: a
// blank parts it from the separator, as in prose.
func (s *scanner) secret(n name, v value, loose bool) (to int, ok bool) {
	text := s.text[v.from:v.to]
	if known(text) || n.plural && isNumber(text) {
		return 0, false
	}
	if parses[wordBefore(s.text, n.left)] && !v.quoted {
		return v.to, !v.nested && looksSecret(text, 8)
	}
	if v.nested {
		return v.to, n.grade != weak && !ofObject.MatchString(text) && strings.ContainsFunc(text, isAlnum)
	}
	if parses[wordBefore(s.text, n.left)] || n.grade == weak {
		return v.to, secretValue(n, text)
	}
	if v.quoted || !loose {
		return v.to, !explains(text)
	}
	rest := s.text[v.from:s.lineEnd(v.from)]
	if isProse(rest) || explainer(text) {
		return 0, false
	}
	if strings.HasPrefix(n.word, "pass") && onlyWords.MatchString(rest) {
		return v.from + len(strings.TrimRight(rest, " \t")), true // a phrase
	}
	return v.to, true
}

// secretValue reports whether a whole value is a secret, by its name and its own looks.
func secretValue(n name, text string) bool {
	switch {
	case known(text) || n.plural && isNumber(text):
		return false
	case n.grade != weak:
		return !explains(text)
	case n.word == "key" || n.word == "sig" || n.word == "signature":
		return looksSecret(text, 16) && !isObject(text)
	}
	return looksSecret(text, 8) && !isObject(text)
}

// ofObject fits objects that are called like a secret and hold none: references and schemas.
var ofObject = regexp.MustCompile(`secretName|secretKeyRef|expirationSeconds|^[\[{\s]*["']?(?:name|type)["']?\s*:`)

// onlyWords fits a phrase.
var onlyWords = regexp.MustCompile(`^[a-z]{2,}(?: [a-z]{2,}){2,}\s*$`)

// parses are words before "token" that make it one of a parser, and "secret" or "cookie" one that is not
// there.
var parses = set(`unexpected invalid unknown illegal missing bad expected unrecognized undefined next syntax malformed no
	reserved duplicate unsupported`)

// answers say whether there is a secret, of what type it is, or that it is hidden.
var answers = set(`yes no true false null none nil undefined empty on off n/a nan <nil> <none> <empty> <unset> string str int integer
	bool boolean bytes object number text varchar any optional required hidden masked redacted removed filtered omitted`)

// explaining are words of sentences about secrets. A value that has one of them is a sentence.
var explaining = set(`not no cannot could should must without because due unbound undeclared unresolved variable
	expired expires expire invalid missing required unexpected unknown wrong bad incorrect malformed unsupported
	illegal unrecognized mismatch mismatched failed fails fail failure failing error errors denied refused rejected
	forbidden unauthorized unauthenticated authenticated authentication
	found find empty unset null undefined unavailable absent gone revoked disabled enabled
	large long short small too already exists exist existing
	read reading write written load loaded loading parse parsed parsing decode decoded decoding verify verified verification
	validated validation check checked checking refresh refreshed refreshing rotate rotated rotating rotation renew renewed create created
	creating delete deleted deleting update updated updating use used uses using send sent received accepted
	permission permissions scope scopes insufficient allowed only need needs needed want wants expected got given
	provided specified configured ignored skipped ok okay success successful successfully eof timeout retrying waiting`)

// joining are words of sentences of any kind. Nobody quotes such a sentence as a value.
var joining = set(`a an the of to in on at by for from with is are was were be been has have had do does did and or but if it its
	this that than then when while as can may will would after before since until during set default stored
	file directory such end input line character timed out connection lookup user namespace minutes seconds hours days setup wait`)

func set(list string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(list) {
		all[w] = true
	}
	return all
}

// explainer reports whether a single word explains something.
func explainer(word string) bool { return explaining[bareWord(word)] }

func bareWord(word string) string { return strings.ToLower(strings.Trim(word, `.,;:!?"'()[]`)) }

const longestSentence = 240

// explains reports whether a text is a sentence that explains something, or the beginning of one, and its first
// word no secret.
func explains(text string) bool { return isSentence(text, explainer) }

// isProse is explains of a text without quotes, where any sentence is one.
func isProse(text string) bool {
	return isSentence(text, func(w string) bool { return explainer(w) || joining[bareWord(w)] })
}

func isSentence(text string, has func(word string) bool) bool {
	text = text[:min(len(text), longestSentence)]
	first, rest, more := strings.Cut(text, " ")
	if looksSecret(first, 6) && !strings.HasSuffix(first, ":") && !isObject(first) {
		return false
	}
	if ofFile.MatchString(text) {
		return true
	}
	if !more {
		return explainer(first)
	}
	found := has(first)
	for w := range strings.FieldsSeq(rest) {
		found = found || has(w)
	}
	return found
}

// ofFile fits what is wrong with a file that is called like a secret (strerror(3), and its names in Erlang and
// Node.js): "open /etc/registry/.htpasswd: no such file or directory".
var ofFile = regexp.MustCompile(`(?i)^(?:no such file or directory|permission denied|operation not permitted|read-only file system|is a directory|not a directory|file exists|input/output error|no space left on device|e(?:acces|noent|perm|rofs|isdir|notdir|exist|io|nospc))\b`)

// reference fits what stands in a secret's place: a variable, a template, a format, a placeholder, a path.
var reference = regexp.MustCompile(`^(?:\$\{[^}]*\}|\$\([^)]*\)|\$[A-Z][A-Z0-9_]*|\{\{.*\}\}|<[\w -]*>|%[svqdxT+]+|[*•.#-]+|x{3,}|X{3,}|\[?(?i:redacted|hidden|masked|filtered|removed|not kept|protected)\]?|(?:/[a-z0-9._-]+){2,}/?)$`)

// known reports whether a value is no secret whatever its name: a mark, an answer, a reference, a
// punctuation.
func known(text string) bool {
	return text == Mark || answers[strings.ToLower(strings.TrimRight(text, ").,;"))] || reference.MatchString(text) || !strings.ContainsFunc(text, isAlnum)
}

func isAlnum(r rune) bool { return r > 0x7f || r < 0x80 && (isLetter(byte(r)) || isDigit(byte(r))) }

func isNumber(text string) bool {
	return strings.Trim(text, "0123456789.,") == ""
}

// isHeading reports whether a word heads a column of a table.
func isHeading(word string) bool { return strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == "" }
