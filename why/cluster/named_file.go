package cluster

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
)

// atNameLine and lineOfName fit a line of a file that is named without its folder.
var (
	atNameLine = regexp.MustCompile(`(?:^|[\s"'(\[=,;<` + "`" + `])([\w@+-][\w@+-]*(?:\.[\w@+-]+)+)["'\])` + "`" + `]?(?::|[:,]? (?:on |at )?line[ :]|; lineNumber: |\(|:line )(\d{1,6})\b`)
	lineOfName = regexp.MustCompile(`\bline (\d{1,6})\b[^/\n]{0,20}\b(?:of|in)\b (?:file )?["'` + "`" + `]?([\w@+-]+(?:\.[\w@+-]+)+)(?:[^\w/.]|\.?$|\.\s)`)
)

// byName is the first line that a text names by its number and its file's name alone, where one key of the
// ConfigMaps has that name.
func (o owner) byName(text string) (line, bool) {
	for _, n := range named(text, atNameLine, lineOfName) {
		if l, ok := numberedLine(o.lines, func(key string) bool { return key == n[0] }, n[1]); ok {
			return l, true
		}
	}
	return line{}, false
}

// numberedLine is the line with a number of the only key that fits, where it has one that is not empty.
func numberedLine(lines []line, fits func(key string) bool, number string) (at line, ok bool) {
	n, _ := strconv.Atoi(number)
	var of line
	for _, l := range lines {
		switch {
		case !fits(l.key):
		case of.key != "" && (of.key != l.key || of.configMap != l.configMap):
			return line{}, false
		default:
			of = l
			if max(l.number, 1) == n && strings.TrimSpace(l.text) != "" {
				at, ok = l, true
			}
		}
	}
	return at, ok
}

// templated is a line of a template from which a file was made that words name, and the container that is
// given that.
type templated struct {
	line
	owner
	lacks []string // variables of the line that the container is not given
}

// template is the line of a template that words name by the file that was made of it: one that is no key of a
// ConfigMap, while one key is called like it with another ending or beginning. It is often an init
// container that makes it.
func (o owner) template(quoted string, said []string) (templated, bool) {
	for _, text := range append([]string{quoted}, said...) {
		for _, n := range named(text, atLine, lineOf) {
			file := mounts.Clean(n[0])
			if _, volume := mounts.Volume(o.pod, o.container, file); volume != nil && (volume.ConfigMap != nil || volume.Secret != nil) {
				continue
			}
			if t, ok := o.madeOf(path.Base(file), n[1]); ok {
				return t, true
			}
		}
	}
	return templated{}, false
}

// madeOf is the line of the template of a file, as the container itself is given it, or else another of its pod.
func (o owner) madeOf(file, number string) (templated, bool) {
	fits := func(key string) bool { return isTemplate(key, file) }
	for _, c := range append([]v1.Container{*o.container}, o.pod.Spec.InitContainers...) {
		made := ownerOf(o.pod, &c, o.all)
		if l, ok := numberedLine(made.lines, fits, number); ok {
			return templated{l, made, made.unset(l.text)}, true
		}
	}
	return templated{}, false
}

// ofTemplates are endings that tools give what they make a file of.
var ofTemplates = []string{".template", ".templ", ".tmpl", ".tpl", ".j2", ".jinja", ".jinja2", ".in", ".erb", ".gotmpl", ".mustache", ".hbs"}

// isTemplate says whether a key is called like a file, with another ending or beginning.
func isTemplate(key, file string) bool {
	stem := strings.TrimSuffix(file, path.Ext(file))
	if !strings.Contains(file, ".") {
		return false
	}
	if rest, ok := strings.CutPrefix(key, file); ok {
		return strings.HasPrefix(rest, ".") && rest != "."
	}
	if before, ok := strings.CutSuffix(key, file); ok {
		return strings.HasSuffix(before, ".") || strings.HasSuffix(before, "-") || strings.HasSuffix(before, "_")
	}
	return stem != "" && slices.Contains(ofTemplates, strings.TrimPrefix(key, stem)) && strings.HasPrefix(key, stem)
}

// inTemplate fits a variable of a template, as shells and envsubst write one: not one with a value of its own for
// where it is not set.
var inTemplate = regexp.MustCompile(`\$(?:\{([A-Z][A-Z0-9_]*)\}|([A-Z][A-Z0-9_]*)\b)`)

// unset are the variables of a line that a container is not given.
func (o owner) unset(text string) (lacks []string) {
	for _, m := range inTemplate.FindAllStringSubmatch(text, -1) {
		if name := m[1] + m[2]; !slices.Contains(lacks, name) && o.lacks(name) {
			lacks = append(lacks, name)
		}
	}
	return lacks
}

// show has what to do about a pod begin with the line of the template, and with the variables that it has and
// nobody sets.
func (t templated) show(v *answer.Verdict) {
	more := ""
	if len(t.lacks) > 0 {
		subject, is := "variable "+t.lacks[0], "is"
		if len(t.lacks) > 1 {
			subject, is = "variables "+prose.Some(t.lacks), "are"
		}
		more = fmt.Sprintf("; %s, which the line has, %s not set in the container's env", subject, is)
	}
	t.line.show(v, t.pod, more)
	if len(t.lacks) > 0 {
		v.Fixes = slices.Insert(v.Fixes, 1, t.set(prose.Some(t.lacks), t.lacks))
	}
}

// entry is how PostgreSQL says that no line of its pg_hba.conf lets one in, entries how that file is called: the
// right line is none that is there.
const entry, entries = "no pg_hba.conf entry", "pg_hba"

// lacksEntry says whether words are that a database has no line that lets one in.
func lacksEntry(v answer.Verdict) bool {
	has := func(text string) bool { return strings.Contains(text, entry) }
	return has(v.Words()) || slices.ContainsFunc(v.LastWords, has) || slices.ContainsFunc(v.Hops, func(h answer.Hop) bool { return has(h.Words()) })
}

// nameEntries says in the steps that add a line to the file of who may log in at a database where that file is, as
// far as a ConfigMap of its pod has it.
func (s shown) nameEntries() {
	for _, o := range s.owners {
		l := first(o.lines, func(l line) bool { return strings.Contains(l.key, entries) })
		if l == nil {
			continue
		}
		s.v.Fixes = slices.Clone(s.v.Fixes)
		for j := range s.v.Fixes {
			if f := &s.v.Fixes[j]; f.ID == answer.StepAddEntry {
				f.Text += fmt.Sprintf(" (key %s of ConfigMap %s)", l.key, l.configMap)
				f.Command = kubectl.Command(o.pod.Namespace, "edit configmap %s", l.configMap)
			}
		}
		return
	}
}

// ofBinding fits an address at which a program is to listen, in words that it cannot have that, with its port.
var ofBinding = regexp.MustCompile(`(?:^|[^\w.:-])((?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.]*\]|\*|::)?(:\d{2,5}))\b`)

// portLine is the only line with the address of a listener that cannot be had, or else with its port: there
// stands a name in place of the address that the words have, or another form of it.
func portLine(said string, given []line) (at int, ok bool) {
	if !knowledge.Any(said, knowledge.NotMyAddress, knowledge.PortUsed) {
		return 0, false
	}
	var address, port string
	for _, m := range ofBinding.FindAllStringSubmatch(said, -1) {
		if port != "" && m[2] != port {
			return 0, false
		}
		address, port = m[1], m[2]
	}
	if port == "" {
		return 0, false
	}
	for _, text := range []string{address, port} {
		whole, n := regexp.MustCompile(regexp.QuoteMeta(text)+`(?:\D|$)`), 0
		for i, l := range given {
			if whole.MatchString(l.text) {
				at, n = i, n+1
			}
		}
		if n == 1 {
			return at, true
		}
	}
	return 0, false
}
