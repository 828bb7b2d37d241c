package redact

import (
	"regexp"
	"strings"
)

// hooks are the beginnings of URLs whose end is a secret, without their scheme.
var hooks = []string{
	"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
	".webhook.office.com/", "outlook.office.com/webhook/", "hooks.zapier.com/hooks/catch/", "api.telegram.org/bot",
	"events.pagerduty.com/integration/", "open.feishu.cn/open-apis/bot/v2/hook/", "hooks.mattermost.com/hooks/", "maker.ifttt.com/trigger/", "hc-ping.com/",
}

// hook masks the rest of such a URL.
func (s *scanner) hook(from int) {
	if to := urlEnd(s.text, from); to-from >= 8 {
		s.mask(from, trimRight(s.text, from, to))
	}
}

// urlEnd is where a URL ends.
func urlEnd(text string, from int) int {
	for i := from; i < len(text); i++ {
		if c := text[i]; c <= ' ' || strings.IndexByte("\"'<>`\\|^", c) >= 0 {
			return i
		}
	}
	return len(text)
}

// host fits what follows the "@" of a URL.
var host = regexp.MustCompile(`^(?:[\w.-]+|\[[0-9a-fA-F:.%]+\]|\$[\w({})]+)(?::[\w$({})]*)?(?:[/?#,;:)\]}.]|$)`)

// webSchemes are those whose authority ends at the first slash, whatever follows.
var webSchemes = map[string]bool{"http": true, "https": true, "ws": true, "wss": true}

// url masks the password of a URL, or the token in a user's place (RFC 3986, 3.2.1). Passwords of databases have
// slashes in them that nobody escaped.
func (s *scanner) url(i int) {
	from := i + len("://")
	info := s.userinfo(from, urlEnd(s.text[:min(len(s.text), from+longestUserinfo)], from))
	user, password, has := strings.Cut(info, ":")
	switch {
	case info == "":
		return
	case has && webSchemes[s.schemeBefore(i)] && (strings.ContainsAny(user, "/?#") || isPort.MatchString(password)):
		return // a path
	case has && strings.ContainsAny(user, "/?#"):
		return
	case !has:
		if !strings.ContainsAny(user, "/?#") && looksSecret(user, 16) {
			s.mask(from, from+len(user))
		}
		return
	}
	if looksSecret(user, 20) && !isObject(user) {
		s.mask(from, from+len(user))
	}
	if password != "" && !known(password) {
		s.mask(from+len(user)+1, from+len(info))
	}
}

var isPort = regexp.MustCompile(`^\d{1,5}(?:[/?#]|$)`)

// longestUserinfo bounds how far behind "://" an "@" and its host are looked for.
const longestUserinfo = 1024

// userinfo is what stands before the last "@" that a host follows.
func (s *scanner) userinfo(from, to int) string {
	for at := strings.LastIndexByte(s.text[from:to], '@'); at >= 0; at = strings.LastIndexByte(s.text[from:from+at], '@') {
		if host.MatchString(s.text[from+at+1 : to]) {
			return s.text[from : from+at]
		}
	}
	return ""
}

// schemeBefore is the scheme before "://", in lower case.
func (s *scanner) schemeBefore(i int) string {
	from := i
	for from > 0 && isLetter(s.text[from-1]) && i-from < 12 {
		from--
	}
	return strings.ToLower(s.text[from:i])
}

var (
	// goMySQL fits what follows the "@" in a DSN of Go's MySQL driver.
	goMySQL = regexp.MustCompile(`^@(?:tcp|unix|udp|cloudsql)?\(`)
	// oracleHost fits it in one of Oracle.
	oracleHost = regexp.MustCompile(`^@(?://|[\w.-]+:1521\b)`)
	// plainHost fits a host behind user:password@.
	plainHost = regexp.MustCompile(`^@(?:[\w-]+\.)*[\w-]+(?::\d+)?(?:[/?\s"',;)]|$)`)
)

// atSign masks the password before an "@" that no "://" precedes.
func (s *scanner) atSign(i int) {
	from := i
	for from > s.done && i-from < longestName*2 && !isBlank(s.text[from-1]) && !isLine(s.text[from-1]) && strings.IndexByte("\"'`(<=,", s.text[from-1]) < 0 {
		from--
	}
	before, after := s.text[from:i], s.text[i:min(len(s.text), i+100)]
	user, password, has := strings.Cut(strings.TrimPrefix(before, "jdbc:oracle:thin:"), ":")
	slashUser, slashPassword, slash := strings.Cut(before[strings.LastIndexByte(before, ':')+1:], "/")
	switch {
	case strings.Contains(before, "://"):
	case has && goMySQL.MatchString(after):
		s.maskSecret(i-len(password), i)
	case slash && slashUser != "" && !strings.ContainsAny(slashPassword, "/") && (oracleHost.MatchString(after) || strings.HasPrefix(before, "jdbc:oracle:")):
		s.maskSecret(i-len(slashPassword), i)
	case has && user != "" && plainHost.MatchString(after) && !strings.HasPrefix(after, "@sha") && looksSecret(password, 6) && !strings.ContainsAny(user, "/"):
		s.maskSecret(i-len(password), i)
	}
}

// maskSecret masks a part that is not known to be none.
func (s *scanner) maskSecret(from, to int) {
	if from < to && !known(s.text[from:to]) {
		s.mask(from, to)
	}
}
