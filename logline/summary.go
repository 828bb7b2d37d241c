package logline

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
)

var (
	// hidden is what a page in HTML does not show, tag what is left of it.
	hidden = regexp.MustCompile(`(?is)<(style|script|head)\b.*?</(style|script|head)>|<!--.*?-->`)
	title  = regexp.MustCompile(`(?is)<title>(.*?)</title>`)
	tag    = regexp.MustCompile(`(?s)<[^>]*>?`)
	// failing is a value of a health check that does not stand for success.
	failing = regexp.MustCompile(`(?i)\b(fail(ed|ing|ure)?|down|error|errored|unhealthy|unavailable|refused|timed? ?out|critical|not ok|nok|disconnected|unreachable|outofservice|out_of_service|(?-i:closed)|denied|not found|no such|cannot|unable to|\w+(error|exception))\b|(?-i:\bE(CONN[A-Z]+|NOTFOUND|TIMEDOUT|AI_[A-Z]+|PIPE|(HOST|NET)UNREACH|MFILE|NOSPC|ACCES|PERM|ROFS)\b)`)
)

// Summary returns what an answer of an application says: a page without its tags, the members of an
// object in JSON that tell of a failure, or the line that says most.
func Summary(output string, hints Hints) string {
	text := strings.TrimSpace(output)
	switch {
	case strings.HasPrefix(text, "{"):
		if failed := failures(text); failed != "" {
			return failed
		}
	case strings.HasPrefix(text, "<"):
		shown := tag.ReplaceAllString(hidden.ReplaceAllString(text, " "), " ")
		return once(Title(output), stock.ReplaceAllString(strings.Join(strings.Fields(html.UnescapeString(shown)), " "), ""))
	case strings.Contains(text, "\n"):
		if said := Parse(strings.Split(text, "\n"), hints).summary(); said != "" {
			return said
		}
	}
	return text
}

// summary is the same of an answer of several lines.
func (s *Story) summary() string {
	toolFails := func(l line) bool { return s.has(&l, ToolFails) && !howToUse.MatchString(l.text) }
	i, fails := s.Primary(), slices.IndexFunc(s.lines, toolFails)
	if i < 0 {
		return ""
	}
	if fails >= 0 && !Complains(s.lines[i].text, s.hints) {
		i = fails // what follows is how it is to be used
	}
	if s.lines[i].severity < Error { // an answer is no story whose end counts
		if failed := s.newestOfGravest(Error); failed >= 0 {
			i = failed
		}
	}
	if i > 0 && s.has(&s.lines[i-1], Credentials) && s.has(&s.lines[i], Credentials) {
		return s.lines[i-1].trimmed + " / " + s.lines[i].trimmed // the first failure, and what follows of it
	}
	return s.headed(i)
}

// stock is what Apache and Werkzeug put on each of their pages for an error.
var stock = regexp.MustCompile(`\bThe server (encountered an internal error or misconfiguration|encountered an internal error and was unable|is temporarily unable to service your request)\b.*$`)

// once is what a page shows, with its title where that says no other than it begins with:
// many have it as a heading too.
func once(title, shown string) string {
	shown = strings.TrimSpace(shown)
	rest, titled := strings.CutPrefix(shown, title)
	if title == "" || !titled && shown != "" {
		return shown
	}
	rest = strings.TrimSpace(rest)
	between := " "
	for i := range title { // "503 Service Unavailable", and "Service Unavailable" below it
		if more, ok := strings.CutPrefix(rest, title[i:]); ok && strings.Contains(title[i:], " ") {
			rest, between = strings.TrimSpace(more), ": "
			break
		}
	}
	if rest == "" {
		return title
	}
	return title + between + rest
}

// Title is what a page in HTML, as servers make one of an error, calls itself; empty where the
// answer is none.
func Title(output string) string {
	if m := title.FindStringSubmatch(output); m != nil && strings.HasPrefix(strings.TrimSpace(output), "<") {
		return strings.Join(strings.Fields(html.UnescapeString(m[1])), " ")
	}
	return ""
}

// signature is how a server signs its own page of an error: nginx and its kin below a line,
// Apache as an address.
var signature = regexp.MustCompile(`(?i)<hr>\s*<center>([a-z][\w-]*(?:/[\w.]+)?)</center>|<address>(Apache(?:/[\w.]+)?)[^<]* Server at `)

// SignedBy is the server that made a page of an error, by the name that it gives itself there;
// empty where the answer is no such page.
func SignedBy(output string) string {
	if m := signature.FindStringSubmatch(output); m != nil {
		return m[1] + m[2]
	}
	return ""
}

// failures are the members of an object, however deep, that tell of a failure or of its
// reason, by their path; where they are no more than the word for one, with all else that it
// says; empty where none does, or where it is no object.
func failures(text string) string {
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return ""
	}
	var all []string
	failuresIn(object, "", &all)
	if len(all) > 0 && !slices.ContainsFunc(all, func(one string) bool { return !bareMember.MatchString(one) }) {
		besidesIn(object, "", &all)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

var (
	// bareMember fits a member whose value is a word or number, such as the status itself.
	bareMember = regexp.MustCompile(`^\S+: [\w-]*$`)
	// good fits the value of a member that is well, incidental the name of one that says nothing of why.
	good       = regexp.MustCompile(`(?i)^(up|ok|okay|healthy|pass(ed|ing)?|success(ful)?|green|alive|running|ready|enabled|connected)$`)
	incidental = regexp.MustCompile(`(?i)^(time|timestamp|date|version|uptime|id|path|requestid|request_id|trace_?id|build|commit|hostname|host|pid)$`)
)

// besidesIn adds the members that a health check has beside its status, without those that are well.
func besidesIn(value any, path string, all *[]string) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if !incidental.MatchString(name) {
				besidesIn(inner, strings.TrimPrefix(path+"."+name, "."), all)
			}
		}
	case []any:
		for _, inner := range v {
			besidesIn(inner, path, all)
		}
	case string:
		if said := strings.Join(strings.Fields(v), " "); said != "" && !good.MatchString(said) {
			*all = append(*all, path+": "+said)
		}
	case float64:
		*all = append(*all, fmt.Sprintf("%s: %v", path, v))
	}
}

func failuresIn(value any, path string, all *[]string) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if text, ok := inner.(string); ok && text != "" && slices.Contains(reasonsIn, strings.ToLower(name)) && !failing.MatchString(text) {
				*all = append(*all, strings.TrimPrefix(path+"."+name, ".")+": "+text)
				continue
			}
			failuresIn(inner, strings.TrimPrefix(path+"."+name, "."), all)
		}
	case []any:
		for _, inner := range v {
			failuresIn(inner, path, all)
		}
	case string:
		if failing.MatchString(v) {
			*all = append(*all, fmt.Sprintf("%s: %s", path, strings.Join(strings.Fields(v), " ")))
		}
	case bool:
		if !v {
			*all = append(*all, path+": false")
		}
	}
}

var howToUse = regexp.MustCompile(`(?i)^usage: `)
