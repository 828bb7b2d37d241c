package probe

import (
	"bytes"
	"regexp"
)

// Redact replaces what looks like a secret: the values of names like Authorization,
// token or password, the passwords in URLs, private keys in PEM, and tokens that are
// told by their shape. A health endpoint or a log has no business printing them, but
// some print their whole configuration. A secret of no known shape is not found where
// it is called something else.
//
// What explains things stays: digests, commit hashes, UIDs and ids of containers have
// none of these shapes.
func Redact(text []byte) []byte {
	if bytes.Contains(text, []byte("PRIVATE KEY")) {
		text = privateKey.ReplaceAll(text, redacted)
	}
	text = urlPassword.ReplaceAll(text, []byte("$1[redacted]@"))
	for _, s := range shapes {
		text = s.redact(text)
	}
	return redactNamed(text)
}

var redacted = []byte("[redacted]")

// privateKey is a block of RFC 7468, or what is left of one whose end or beginning
// was cut off. It may be in one line, with its newlines escaped.
var privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)` +
	`|(?:[\w+/=]{16,76}(?:\\n|\s)+)*[\w+/=]*(?:\\n|\s)*-----END [A-Z ]*PRIVATE KEY-----`)

// urlPassword is user:password@ before the host of a URL (RFC 3986, 3.2.1).
var urlPassword = regexp.MustCompile(`(://[^\s:/@]*:)[^\s/"'<>]+@`)

// shape is a kind of token that says by its first characters what it is. These stay.
type shape struct {
	prefix string
	// least and most bound what follows; most 0: no bound.
	least, most int
	fits        func(rest []byte) bool
}

// The issuers document these prefixes, RFC 7519 and RFC 6750 the first ones: "eyJ" is
// base64 of a JSON object's beginning.
var shapes = []shape{
	{"eyJ", 16, 0, isJWT},
	{"Bearer ", 16, 0, hasDigit},
	{"bearer ", 16, 0, hasDigit},
	{"Basic ", 12, 0, hasDigit},
	{"basic ", 12, 0, hasDigit},
	{"AKIA", 16, 16, isUpper},
	{"ASIA", 16, 16, isUpper}, // AWS
	{"ghp_", 30, 0, hasDigit},
	{"gho_", 30, 0, hasDigit},
	{"ghu_", 30, 0, hasDigit},
	{"ghs_", 30, 0, hasDigit},
	{"ghr_", 30, 0, hasDigit},
	{"github_pat_", 22, 0, hasDigit},
	{"glpat-", 20, 0, hasDigit},
	{"xoxa-", 10, 0, hasDigit},
	{"xoxb-", 10, 0, hasDigit},
	{"xoxp-", 10, 0, hasDigit},
	{"xoxr-", 10, 0, hasDigit},
	{"xoxs-", 10, 0, hasDigit},
	{"sk_live_", 16, 0, hasDigit},
	{"rk_live_", 16, 0, hasDigit},
	{"AIza", 35, 0, hasDigit},
}

// redact replaces tokens of this shape.
func (s shape) redact(text []byte) []byte {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(s.prefix))
		if i < 0 {
			return text
		}
		start := from + i + len(s.prefix)
		end := start
		for end < len(text) && inToken(text[end]) {
			end++
		}
		from = start
		rest := bytes.TrimRight(text[start:end], ".")
		inside := start > len(s.prefix) && isWord(text[start-len(s.prefix)-1])
		if inside || len(rest) < s.least || s.most > 0 && len(rest) > s.most || !s.fits(rest) {
			continue
		}
		text = bytes.Join([][]byte{text[:start], text[start+len(rest):]}, redacted)
		from = start + len(redacted)
	}
}

// inToken: the characters of RFC 6750's tokens.
func inToken(c byte) bool { return isWord(c) || bytes.IndexByte([]byte("-.~+/="), c) >= 0 }

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// hasDigit tells a token from words: "Bearer authentication-required".
func hasDigit(rest []byte) bool { return bytes.ContainsAny(rest, "0123456789") }

func isUpper(rest []byte) bool {
	return bytes.Equal(rest, bytes.ToUpper(rest)) && !bytes.ContainsAny(rest, "-.~+/=_")
}

// isJWT: three parts or more, or two of JSON where the end was cut off.
func isJWT(rest []byte) bool {
	return bytes.Count(rest, []byte(".")) >= 2 || bytes.Contains(rest, []byte(".eyJ"))
}

// secretNames are endings of names whose values are never kept, in lower case.
var secretNames = []string{
	"authorization", "token", "password", "passwd", "secret", "apikey", "api-key", "api_key",
	"cookie", "credential", "credentials", "private-key", "private_key", "privatekey", "access-key", "access_key", "accesskey",
	"secret-key", "secret_key", "secretkey", "passphrase",
}

// answers say whether there is a secret, and not which.
var answers = map[string]bool{"YES": true, "NO": true, "true": true, "false": true}

// ofFile fits what is wrong with a file that is called like a secret (strerror(3), and its names in Erlang and
// Node.js): "open /etc/registry/.htpasswd: no such file or directory".
var ofFile = regexp.MustCompile(`(?i)^(?:no such file or directory|permission denied|operation not permitted|read-only file system|is a directory|not a directory|file exists|input/output error|no space left on device|e(?:acces|noent|perm|rofs|isdir|notdir|exist|io|nospc))\b`)

// redactNamed replaces the values of names that stand for a secret.
func redactNamed(text []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(text); i++ {
		if text[i] != ':' && text[i] != '=' || !secretName(text[:i]) {
			continue
		}
		from := i + 1
		for from < len(text) && (text[from] == ' ' || text[from] == '"' || text[from] == '\'') {
			from++
		}
		to := from
		for to < len(text) && bytes.IndexByte([]byte("\r\n\"',&;}"), text[to]) < 0 {
			to++
		}
		if value := text[from:to]; answers[string(bytes.TrimRight(value, ")."))] || ofFile.Match(value) { // MariaDB: "(using password: NO)"
			i = to
			continue
		}
		out = append(append(out, text[done:from]...), "[redacted]"...)
		done, i = to, to
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// secretName says whether the text ends with a name that stands for a secret,
// quoted or not.
func secretName(before []byte) bool {
	before = bytes.TrimRight(before, " \"'")
	for _, name := range secretNames {
		rest := len(before) - len(name)
		if rest >= 0 && fold(before[rest:], name) {
			return rest == 0 || before[rest-1] != '/' // the file /etc/passwd is no secret
		}
	}
	return false
}
