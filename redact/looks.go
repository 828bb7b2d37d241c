package redact

import (
	"regexp"
	"strings"
)

// looksSecret reports whether a word is at least so long and mixed as words of prose, names and
// numbers are not.
func looksSecret(word string, least int) bool {
	if len(word) < least || strings.ContainsAny(word, " \t\n") || harmless.MatchString(word) {
		return false
	}
	c := count(word)
	switch {
	case c.letters > 0 && c.digits > 0:
		return true
	case c.upper > 0 && c.lower > 0 && len(word) >= 8:
		return c.changes*10 >= len(word)*4
	}
	return c.letters > 0 && strings.ContainsAny(word[:len(word)-1], "!@#$%^*~?")
}

// harmless fits words of digits and letters that explain: addresses, versions, times, sizes, codes, paths,
// files, mail addresses.
var harmless = regexp.MustCompile(`^(?:` +
	`[\d.:/,-]+` + // 10.0.0.1:5432, 2026/11/28
	`|v?\d+(?:\.\d+)+[\w.+-]*` + // 1.2.3-rc1
	`|v\d+(?:alpha|beta)\d+` +
	`|(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|[smhdwkMGTKPBi%]|[KMGTP]i?B?|bytes?|bit)){1,4}` + // 1h2m3.5s, 10Mi
	`|\d{4}-\d\d-\d\d[T\d:.Z+-]*` +
	`|0x[0-9a-fA-F]+` +
	`|[A-Z]+[_-]?\d{1,5}:?` + // ORA-01017
	`|(?i:x509|utf-?8|sha\d+|md5|ipv[46]|base64|oauth2?|http/\d.*|http2|h2c|aes-?\d+.*|rs256|es256|hs256|ed25519|k8s|s3|ec2|p12|pkcs\d+.*|scram-sha-.*|bcrypt|argon2\w*|gpt-?\d.*):?` +
	`|\.{0,2}/[\w./~-]*` + // a path
	`|[a-z][a-z0-9+.-]*://.*` + // a URL, which is looked at by itself
	`|[\w./-]+\.(?:go|py|js|ts|rb|java|php|sh|ya?ml|json|toml|conf|cfg|ini|xml|txt|pem|crt|key|sql|so|jar|html?)(?::\d+)*[:,]?` +
	`|[\w.+-]+@[\w-]+(?:\.[\w-]+)+` + // a mail address
	`)$`)

// object fits names of Kubernetes' objects and domains, with a namespace or without.
var object = regexp.MustCompile(`^(?:[a-z0-9]+(?:[-.][a-z0-9]+)*/)?[a-z][a-z0-9]*(?:[-.][a-z0-9]+)+(?::\d+)?[:,.;]?$`)

// uid fits what is random, and no name.
var uid = regexp.MustCompile(`^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)

// isObject reports whether a word may be the name of an object.
func isObject(word string) bool { return object.MatchString(word) && !uid.MatchString(word) }

// counts are how many characters of each class a word has, and how often one class follows another.
type counts struct{ upper, lower, letters, digits, changes int }

func count(word string) (c counts) {
	var last byte
	for i := range len(word) {
		class := byte('.')
		switch b := word[i]; {
		case isUpper(b):
			class, c.upper = 'A', c.upper+1
		case isLower(b):
			class, c.lower = 'a', c.lower+1
		case isDigit(b):
			class, c.digits = '1', c.digits+1
		}
		if i > 0 && class != last {
			c.changes++
		}
		last = class
	}
	c.letters = c.upper + c.lower
	return c
}

// leastRandom is from how many characters on a word without a name is taken for a secret, if no word, path
// or digest looks like it.
const leastRandom = 32

// inRandom are the characters of base64, both kinds of it.
var inRandom = table("-_/+=~")

// inToken are those of RFC 6750's tokens.
var inToken = table("-_.~+/=")

func table(more string) (t [256]bool) {
	for c := range t {
		t[c] = isLetter(byte(c)) || isDigit(byte(c)) || strings.IndexByte(more, byte(c)) >= 0
	}
	return t
}

// random masks a long word of random characters.
func (s *scanner) random(from, to int) {
	if to-from < leastRandom || from < s.done {
		return
	}
	if word := strings.TrimRight(s.text[from:to], "="); strings.Contains(word, "=") {
		from += strings.LastIndexByte(word, '=') + 1
	}
	if to-from >= leastRandom && looksRandom(s.text[from:to]) && !isDigest(s.text, from) {
		s.mask(from, to)
	}
}

// looksRandom: random characters change their class at every other place, CamelCase at every fourth.
func looksRandom(word string) bool {
	c := count(word)
	return c.upper > 1 && c.lower > 1 && c.digits > 1 && c.changes*100 >= len(word)*38
}

// isDigest reports whether what stands at a place is called a digest: sha512-…, SHA256:….
func isDigest(text string, from int) bool {
	before := strings.ToLower(text[max(0, from-7):min(len(text), from+7)])
	return strings.Contains(before, "sha256") || strings.Contains(before, "sha384") || strings.Contains(before, "sha512")
}
