package redact

import (
	"regexp"
	"strings"
)

// named masks the value of a name.
func (s *scanner) named(n name) {
	if len(s.spans) > 0 && n.from < s.spans[len(s.spans)-1].to {
		return
	}
	at := s.text[n.right:]
	i := 0
	for i < len(at) && i < 6 && strings.IndexByte("\\\"'`])", at[i]) >= 0 {
		i++
	}
	switch before := s.text[max(0, n.left-longestBefore):n.left]; {
	case imageBefore.MatchString(before) && image.MatchString(s.text[n.left:min(len(s.text), n.left+longestImage)]): // token-api:v2
		return
	case (n.word == "secret" || n.word == "key") && notThere.MatchString(before) && keyOfSecret.MatchString(at[:min(len(at), longestName)]):
		return
	}
	quoted := i > 0
	k := i
	for k < len(at) && isBlank(at[k]) {
		k++
	}
	switch sep := separator(at[k:]); {
	case sep > 0:
		k += sep
		s.assigned(n, n.right+k, quoted, k > 0 && isBlank(at[k-1]) || k < len(at) && isBlank(at[k]))
	case k < len(at) && at[k] == '>' && (quoted || s.opensTag(n)):
		s.element(n, n.right+k+1)
	case k < len(at) && at[k] == '|' && k > i, k < len(at) && at[k] == ',' && quoted && s.isFlag(n):
		s.cell(n, n.right+k+1)
	case s.pair(n, n.right):
	case typed.MatchString(at[:min(len(at), 50)]):
		s.assigned(n, n.right+strings.IndexByte(at, '=')+1, quoted, true)
	case k < len(at) && at[k] == ',' && quoted:
		s.argumentAfter(n, n.right+k+1)
	case !quoted && k > i:
		s.spaced(n, n.right+i, n.right+k)
	}
}

const longestBefore, longestImage = 24, 256

var (
	// imageBefore fits what stands before the name of an image.
	imageBefore = regexp.MustCompile(`(?i)\bimage\\?["']?[:= ] ?\\?["']?$`)
	// image fits the last part of an image's name with its tag, and what ends them.
	image = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*:\w[\w.-]{0,127}(?:[\s"'\\,;:@)\]}]|$)`)
	// notThere and keyOfSecret fit what stands around "secret" or "key" where kubelet names a key that does not
	// exist: "references non-existent secret key: X".
	notThere    = regexp.MustCompile(`(?i)\b(?:non-?existent|missing|no such) (?:secret )?$`)
	keyOfSecret = regexp.MustCompile(`^(?: key)?: [A-Za-z0-9][\w.-]{0,30}(?:\s|$)`)
	// ofSecret fits what is done to a Secret that is named next.
	ofSecret = regexp.MustCompile(`(?i)\b(?:in|of|from|to|get|getting|read|reading|fetch|fetching|find|finding|mount|mounting|sync|syncing|create|creating|update|updating|delete|deleting) $`)
	// secretObject fits the name of a Secret, its namespace before it, and saidOfSecret what is said of one.
	secretObject = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(?:/[a-z0-9][a-z0-9.-]*)?$`)
	saidOfSecret = regexp.MustCompile(`^["']? (?:not found|(?:is|was) (?:not found|forbidden|invalid|immutable)|already exists|does not exist|not registered|has no key|in (?:the )?namespace)\b`)
)

// namesSecret reports whether a word behind "secret" is the name of a Secret of Kubernetes, by what is said
// of it: secret "postgres15" not found.
func (s *scanner) namesSecret(n name, v value) bool {
	return n.word == "secret" && n.left == n.from && secretObject.MatchString(s.text[v.from:v.to]) &&
		(saidOfSecret.MatchString(s.text[v.to:min(len(s.text), v.to+longestBefore)]) || ofSecret.MatchString(s.text[max(0, n.left-longestBefore):n.left]))
}

// separators are what assigns a value to a name in one language or another, the longest first.
var separators = []string{":::=", "::=", "||=", ":=", "?=", ".=", "+=", "=>", "==", "->", ":", "="}

// typed fits the type of what is declared, up to its value: password string = "X".
var typed = regexp.MustCompile(`^ +:? ?[\w.*\[\]<>]{1,30} *:?= *["'\x60]`)

// separator is how long what stands between a name and its value is; 0 where there is
// none.
func separator(at string) int {
	if strings.HasPrefix(at, "::") && !strings.HasPrefix(strings.TrimLeft(at, ":"), "=") {
		return 0 // a namespace of Ruby, C++ or Rust
	}
	for _, sep := range separators {
		if strings.HasPrefix(at, sep) {
			return len(sep)
		}
	}
	if len(at) >= 3 && at[0] == '%' && (fold(at[:3], "%3d") || fold(at[:3], "%3a")) {
		return 3
	}
	return 0
}

// assigned masks what stands behind a separator.
func (s *scanner) assigned(n name, from int, quoted, loose bool) {
	for from < len(s.text) && (isBlank(s.text[from]) || s.text[from] == '>') {
		from++
	}
	if from >= len(s.text) || isLine(s.text[from]) {
		return
	}
	if n.grade == header && !quoted && s.headerLine(n, from) {
		return
	}
	v := s.value(n, from)
	if v.from >= v.to {
		return
	}
	if to, ok := s.secret(n, v, loose); ok {
		s.mask(v.from, to)
	}
}

// headerLine masks a header to the end of its line, or of the quotes that it stands in.
func (s *scanner) headerLine(n name, from int) bool {
	if c := s.text[from]; c == '"' || c == '\'' || c == '[' || c == '{' {
		return false
	}
	to := s.lineEnd(from)
	if q, at := s.quoteAround(n.left); q != 0 {
		if end := closing(s.text, at+1, q); end > from && end < to {
			to = end
		}
	}
	for to > from && isBlank(s.text[to-1]) {
		to--
	}
	line := s.text[from:to]
	first, _, _ := strings.Cut(line, " ")
	if !isScheme(first) && !strings.Contains(first, "=") && isProse(line) {
		return true
	}
	if to > from && !known(line) {
		s.mask(from, to)
	}
	return true
}

// element masks the content of an XML element.
func (s *scanner) element(n name, from int) {
	to := strings.IndexByte(s.text[from:], '<')
	if to < 0 {
		to = s.lineEnd(from) - from
	}
	v := strings.TrimSpace(s.text[from : from+to])
	if v != "" && secretValue(n, v) {
		s.mask(from, from+to)
	}
}

// cell masks the next cell of a table, or the next of a list of arguments.
func (s *scanner) cell(n name, from int) {
	for from < len(s.text) && isBlank(s.text[from]) {
		from++
	}
	if from >= len(s.text) || isLine(s.text[from]) {
		return
	}
	v := s.value(n, from)
	if word := s.text[v.from:v.to]; v.from < v.to && word[0] != '-' && (v.quoted || len(word) >= 6) && !known(word) && !isHeading(word) && !explains(word) {
		s.mask(v.from, v.to)
	}
}

// leastArgument and leastDigits are from when on a string that may be the name of an object is none.
const leastArgument, leastDigits = 24, 5

// argumentAfter masks the string behind the string of a name, in a call or a list, if it looks like a
// secret: setProperty("password", "X").
func (s *scanner) argumentAfter(n name, from int) {
	for from < len(s.text) && isBlank(s.text[from]) {
		from++
	}
	if from >= len(s.text) {
		return
	}
	v := s.value(n, from)
	if word := s.text[v.from:v.to]; v.quoted && looksSecret(word, 6) && (!isObject(word) || n.grade == strong && n.word != "secret" && len(word) >= leastArgument && count(word).digits >= leastDigits) {
		s.mask(v.from, v.to)
	}
}

// opensTag reports whether a name stands in an XML tag's beginning.
func (s *scanner) opensTag(n name) bool { return n.left > 0 && s.text[n.left-1] == '<' }

var (
	// pairAfter fits what stands between a name that is itself a value, and what it is set to.
	pairAfter = regexp.MustCompile(`^\\*["']?\s*[,;|]?\s*(?:\\*["']?(?i:value|val|content|data)\\*["']?\s*(?:=>|[:=])[ \t]*)`)
	// pairBefore fits the same where the value stands first.
	pairBefore = regexp.MustCompile(`(?i)["']value\\?["']?\s*[:=]\s*\\?("(?:[^"\\]|\\.)*|'[^']*)\\?["']\s*,\s*\\?["'](?:name|key)\\?["']\s*[:=]\s*\\?["']$`)
)

const longestPair = 600

// pair masks the value of a name that is a value itself: {"name":"DB_PASSWORD","value":"X"}.
func (s *scanner) pair(n name, right int) bool {
	ahead := s.text[right:min(len(s.text), right+80)]
	if m := pairAfter.FindStringIndex(ahead); m != nil && right+m[1] < len(s.text) {
		v := s.value(n, right+m[1])
		if v.from < v.to && secretValue(n, s.text[v.from:v.to]) {
			s.mask(v.from, v.to)
		}
		return true
	}
	if n.left == 0 || s.text[n.left-1] != '"' && s.text[n.left-1] != '\'' {
		return false
	}
	begin := max(0, n.left-longestPair)
	m := pairBefore.FindStringSubmatchIndex(s.text[begin:n.left])
	if m == nil {
		return false
	}
	if from, to := begin+m[2]+1, begin+m[3]; from < to && secretValue(n, s.text[from:to]) {
		s.mask(from, to)
	}
	return true
}

// spaced masks a value that only blanks part from its name: --password X, password is X.
func (s *scanner) spaced(n name, blank, from int) {
	if from >= len(s.text) || isLine(s.text[from]) || n.grade == weak && !s.isFlag(n) {
		return
	}
	v := s.value(n, from)
	word := s.text[v.from:v.to]
	switch {
	case v.from >= v.to || word[0] == '-' || known(word) || s.namesSecret(n, v):
		return
	case s.isFlag(n):
		if !explainer(word) {
			s.mask(v.from, v.to)
		}
		return
	case strings.Contains(s.text[blank:from], "\t"):
		if len(word) >= 6 && !isHeading(word) && !explains(word) {
			s.mask(v.from, v.to)
		}
		return
	case looksSecret(word, 6) && !isObject(word):
		s.mask(v.from, v.to)
		return
	}
	s.told(n, from)
}

// isFlag reports whether a name is a flag of a command.
func (s *scanner) isFlag(n name) bool { return s.text[n.left] == '-' }

var (
	// isSaid fits the words between a name and its value in a sentence.
	isSaid = regexp.MustCompile(`^(?i:(?:is|was|are|has been|will be)(?: now)?(?: (?:re)?set to| changed to)?|(?:re)?set to|changed to|=):? +`)
	// sentence fits words up to a colon, and what stands behind it alone.
	sentence = regexp.MustCompile(`^[\w@.'"-]+(?: [\w@.'"-]+){0,6}: +(\S+)\s*(?:\n|$)`)
)

// told masks a value that a sentence tells: "password is X", "password for admin: X".
func (s *scanner) told(n name, from int) {
	ahead := s.text[from:min(len(s.text), from+200)]
	if m := isSaid.FindStringIndex(ahead); m != nil && from+m[1] < len(s.text) {
		v := s.value(n, from+m[1])
		word := s.text[v.from:v.to]
		if v.quoted && !explains(word) && !known(word) || looksSecret(word, 6) {
			s.mask(v.from, v.to)
		}
		return
	}
	if m := sentence.FindStringSubmatchIndex(ahead); m != nil && looksSecret(ahead[m[2]:m[3]], 8) && !isObject(ahead[m[2]:m[3]]) {
		s.mask(from+m[2], from+m[3])
	}
}
