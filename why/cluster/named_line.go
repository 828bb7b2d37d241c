package cluster

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/redact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// line is one of a key of a ConfigMap; number is 0 where the key has no more than that one.
type line struct {
	configMap, key string
	number         int
	text           string
}

// owner is a container of a pod, and the lines of the ConfigMaps that it is given, of all of its pod.
type owner struct {
	pod       *v1.Pod
	container *v1.Container
	all       []v1.ConfigMap
	lines     []line
}

// Matter is what a verdict may be about in the configuration of the pod that it blames.
type Matter struct {
	quoted string   // what it quotes of the program that is to blame
	last   []string // the last words of that
	memory bool     // a setting that allows too much memory
	line   bool     // a line that its words name, or have
	missed []string // the variables that they miss
	script bool     // what a probe's script reads
	topic  *topic
}

// MatterOf returns what a verdict may be about in a configuration; is is false where that is nothing.
func MatterOf(v answer.Verdict) (m Matter, is bool) {
	if v.Pod == "" && len(v.Hops) > 0 { // it blames what is no pod
		return m, false
	}
	m.quoted, m.last = ownWords(v)
	m.memory, m.script, m.topic = slices.Contains(ofMemory, v.Cause), v.Cause == answer.ProbeCommandFailed, m.topicOf(v)
	if slices.Contains(about, v.Cause) {
		m.line = m.quoted != ""
		m.missed = missed(strings.Join(append([]string{m.quoted}, m.last...), "\n"))
	}
	m.line = m.line || lacksEntry(v) && v.HasStep(answer.StepAddEntry)
	return m, m.memory || m.line || len(m.missed) > 0 || m.script || m.topic != nil
}

// shown is a verdict that gets what of a pod's configuration it is about, and the containers that it may blame.
type shown struct {
	Matter
	v      *answer.Verdict
	owners []owner
}

// In has what to do about the pod that a verdict blames begin with what the verdict is about in the pod's configuration.
func (m Matter) In(v *answer.Verdict, pod *v1.Pod, all []v1.ConfigMap) {
	s := m.shownIn(v, pod, all)
	if m.memory {
		s.showSize()
		return
	}
	if m.line {
		s.showLine()
		s.showEmpty()
		s.showUnread()
	}
	s.showMissed()
	s.showTopic()
	s.showScript()
}

func (m Matter) shownIn(v *answer.Verdict, pod *v1.Pod, all []v1.ConfigMap) shown {
	s := shown{Matter: m, v: v}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		if v.Container == "" || v.Container == c.Name {
			s.owners = append(s.owners, ownerOf(pod, &c, all))
		}
	}
	return s
}

// only is the container that the verdict is about: where another pod's leads to it, the only one there is. ok is false where
// nobody knows.
func (s shown) only() (o owner, ok bool) {
	if len(s.owners) != 1 {
		return o, false
	}
	return s.owners[0], true
}

// about are the causes of which a program's words may be about its configuration.
var about = []answer.Cause{
	answer.AppExitError, answer.AppExitSuccess, answer.AppCrashSignal, answer.AppStartFailed, answer.AppUnhealthy, answer.AppNotListening,
	answer.InitFailed, answer.ChildProcessEnded, answer.DependencyDown,
}

// ownWords are what a verdict quotes of the program that is to blame, and its last words.
func ownWords(v answer.Verdict) (quoted string, last []string) {
	told, last := v.Told, v.LastWords
	if n := len(v.Hops); n > 0 {
		told, last = v.Hops[n-1].Told, nil // those are of who asks it
	}
	all := append(reasons(told), inner(told)...)
	if len(all) == 0 && v.Cause == answer.DependencyDown && len(v.Hops) > 0 {
		all = append(all, told.Words()) // whom the pod where the way ends does not reach
	}
	story := words.Read(last)
	if !story.Troubled() {
		return strings.Join(all, "\n"), last
	}
	return strings.Join(append(all, story.Reason()), "\n"), last
}

// showLine begins with the line of a ConfigMap which the words are about: the one that they name by its number, or the only
// one that has what they quote.
func (s shown) showLine() {
	if s.v.HasStep(answer.StepAllowUser, answer.StepMountFiles, answer.StepNoLinks) {
		return
	}
	if lacksEntry(*s.v) {
		s.nameEntries()
		return
	}
	for _, o := range s.owners {
		at, ok := o.numbered(s.quoted, s.last)
		if t, is := o.template(s.quoted, s.last); !ok && is {
			t.show(s.v)
			return
		}
		if !ok {
			at, ok = o.emptied(s.quoted)
		}
		if !ok || code.MatchString(at.key) { // where a value is read that stands elsewhere, maybe
			if given, has := quotedBy(s.quoted, o.lines); has {
				at, ok = given, true
			}
		}
		if !ok || code.MatchString(at.key) && words.OfAnother(s.quoted) {
			continue
		}
		if code.MatchString(at.key) {
			o.showCode(at, s.v, s.quoted)
			return
		}
		at.show(s.v, o.pod, proposed(s.quoted))
		return
	}
}

// proposal fits what words propose in place of what they call wrong.
var proposal = regexp.MustCompile(`(?i)\bdid you mean:? ((?:[^?\n]|\?\S){3,60}?)(?: maybe)? ?\?(?:\s|$)`)

// proposed repeats what words propose; empty where they propose nothing. Python's guess about an import of itself is no help.
func proposed(said string) string {
	m := proposal.FindStringSubmatch(said)
	if m == nil || strings.HasPrefix(m[1], "one of") || strings.Contains(said, "circular import") {
		return ""
	}
	return ": the message proposes " + m[1]
}

// show has what to do about a pod begin with the line, with what more is to be said of it.
func (l line) show(v *answer.Verdict, pod *v1.Pod, more string) {
	correct := l.edit("correct "+l.where()+", which the error is about"+more, pod)
	v.DropSteps(func(f answer.Fix) bool { return f.Target == correct.Target || slices.Contains(vague, f.ID) })
	v.AddFirst(correct.As(answer.StepCorrectLine, nil))
}

// vague are the steps in place of which a line is named.
var vague = []answer.StepID{answer.StepCompare, answer.StepReaddress, answer.StepCorrect}

// edit is the step that edits the ConfigMap that has the line.
func (l line) edit(text string, pod *v1.Pod) answer.Fix {
	return kubectl.Edit(text, "ConfigMap", pod.Namespace, l.configMap, pod)
}

// where tells which line that is, and what it has.
func (l line) where() string {
	where := prose.Whether(l.number > 0, fmt.Sprintf("line %d of %s", l.number, l.key), "key "+l.key)
	has := ""
	if text := strings.TrimSpace(l.text); !redact.Holds(text) && !redact.IsSetting(l.key, text) {
		has = fmt.Sprintf(" (“%s”)", prose.Brief(text, 120))
	}
	return fmt.Sprintf("%s in ConfigMap %s%s", where, l.configMap, has)
}

// ownerOf is a container with the lines of the ConfigMaps that it mounts or has its variables from.
func ownerOf(pod *v1.Pod, c *v1.Container, all []v1.ConfigMap) owner {
	keys := map[string]map[string]bool{} // nil: all of them
	for _, m := range c.VolumeMounts {
		if _, volume := mounts.Volume(pod, c, path.Clean(m.MountPath)); volume != nil && volume.ConfigMap != nil {
			keys[volume.ConfigMap.Name] = nil
		}
	}
	for _, t := range mounts.Variables(c) {
		switch some, has := keys[t.Name]; {
		case t.Kind != "ConfigMap":
		case len(t.Keys) == 0, has && some == nil:
			keys[t.Name] = nil
		case has:
			some[t.Keys[0]] = true
		default:
			keys[t.Name] = map[string]bool{t.Keys[0]: true}
		}
	}
	o := owner{pod: pod, container: c, all: all}
	for _, m := range all {
		some, has := keys[m.Name]
		for _, key := range slices.Sorted(maps.Keys(m.Data)) {
			if !has || some != nil && !some[key] {
				continue
			}
			lines := strings.Split(strings.TrimSuffix(m.Data[key], "\n"), "\n")
			for i, text := range lines {
				l := line{m.Name, key, i + 1, text}
				if len(lines) == 1 {
					l.number = 0
				}
				o.lines = append(o.lines, l)
			}
		}
	}
	return o
}

// frame, atLine, inYAML and lineOf fit a line of a file, as languages, servers and parsers of YAML name one.
var (
	frame  = regexp.MustCompile(`^\s*File "(/[^"]+)", line (\d{1,6})`)
	atLine = regexp.MustCompile(`(/[\w.@+/-]*\w)["'\])]?(?::|,? (?:on |at )?line[ :]|; lineNumber: |\(|:line )(\d{1,6})\b`)
	inYAML = regexp.MustCompile(`(/[\w.@+/-]*\w\.(?:ya?ml|conf))\b[^\n]{0,80}?yaml: (?:unmarshal errors:[\s/]*)?line (\d{1,6})\b`)
	lineOf = regexp.MustCompile(`\bline (\d{1,6})\b[^/\n]{0,20}\b(?:of|in)\b[^/\n]{0,30}(/[\w.@+/-]*\w)`)
)

// ofEmpty fits words that something is empty which is not to be, and emptyValue a line whose value is.
var (
	ofEmpty    = regexp.MustCompile(`(?i)\b(?:empty|blank)\b`)
	emptyValue = regexp.MustCompile(`^\s*[\w.-]+\s*[:=]\s*(?:""|''|~|null)?\s*$`)
	quotesNone = regexp.MustCompile(`""|''`)
)

// emptied is the only line with an empty value of the keys that words name by their files, where the words are of
// one: in quotes, where there is such a line.
func (o owner) emptied(said string) (only line, ok bool) {
	if !ofEmpty.MatchString(said) {
		return line{}, false
	}
	for _, fits := range []func(string) bool{quotesNone.MatchString, func(string) bool { return true }} {
		n := 0
		for _, l := range o.lines {
			if strings.Contains(said, l.key) && !comment.MatchString(l.text) && emptyValue.MatchString(l.text) && fits(l.text) {
				only, n = l, n+1
			}
		}
		if n == 1 {
			return only, true
		}
	}
	return line{}, false
}

// numbered is the line of a ConfigMap that words name by its file and number: in what they say of
// the reason, else in the last words, the innermost of a stack.
func (o owner) numbered(quoted string, said []string) (line, bool) {
	if l, ok := o.in(quoted); ok {
		return l, true
	}
	var last line
	found := false
	for _, text := range said {
		if m := frame.FindStringSubmatch(text); m != nil { // the innermost is the last of them
			if l, ok := o.find(m[1], m[2]); ok {
				last, found = l, true
			}
		}
	}
	for i := 0; i < len(said) && !found; i++ {
		last, found = o.in(said[i])
	}
	return last, found
}

// named are the lines that a text names, each as a file and a number: those that fit at, and then those that fit of, which
// has the number first.
func named(text string, at, of *regexp.Regexp) (all [][2]string) {
	for _, m := range at.FindAllStringSubmatch(text, -1) {
		all = append(all, [2]string{m[1], m[2]})
	}
	for _, m := range of.FindAllStringSubmatch(text, -1) {
		all = append(all, [2]string{m[2], m[1]})
	}
	return all
}

// in is the first line that a text names.
func (o owner) in(text string) (line, bool) {
	for _, n := range slices.Concat(named(text, inYAML, lineOf), named(text, atLine, lineOf)) {
		if l, ok := o.find(n[0], n[1]); ok {
			return l, true
		}
	}
	return o.byName(text)
}

// find is the line of a file with a number, where a ConfigMap has it and it is not empty.
func (o owner) find(file, number string) (line, bool) {
	file = mounts.Clean(file)
	mount, volume := mounts.Volume(o.pod, o.container, file)
	if volume == nil || volume.ConfigMap == nil {
		return line{}, false
	}
	_, name, key := mounts.Key(file, mount, volume)
	n, _ := strconv.Atoi(number)
	i := slices.IndexFunc(o.lines, func(l line) bool {
		return l.configMap == name && l.key == key && max(l.number, 1) == n
	})
	if i < 0 || strings.TrimSpace(o.lines[i].text) == "" {
		return line{}, false
	}
	return o.lines[i], true
}

// inQuotes fits what words quote, parted what they have between spaces, special what no common word has.
var (
	inQuotes = regexp.MustCompile("'([^'\n]{4,60})'|\"([^\"\n]{4,60})\"|`([^`\n]{4,60})`|“([^”\n]{4,60})”")
	parted   = regexp.MustCompile(`[^\s,;"'()<>\[\]{}` + "`" + `]+`)
	special  = regexp.MustCompile(`[[:alpha:]].*[\d/_=-]|[\d/_=-].*[[:alpha:]]|[[:alpha:]]\.[[:alpha:]]`)
)

// leastToken and mostLines bound what is taken for a value that words name: a short one is a word like
// others, and one that stands on many lines tells none.
const leastToken, mostLines = 5, 2

// tokens are the values that words may have from a configuration.
func tokens(said string) []string {
	var all []string
	for _, m := range inQuotes.FindAllStringSubmatch(said, -1) {
		all = append(all, strings.TrimSpace(strings.Join(m[1:], "")))
	}
	for _, word := range parted.FindAllString(said, -1) {
		if word = strings.Trim(word, ".:!?"); len(word) >= leastToken && special.MatchString(word) {
			all = append(all, word)
		}
		if _, value, ok := strings.Cut(word, "="); ok && len(value) >= leastToken && special.MatchString(value) {
			all = append(all, value)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// code and comment fit the keys and the lines that configure nothing.
var (
	code    = regexp.MustCompile(`(?i)\.(py|js|mjs|cjs|ts|rb|ru|php|pl|psgi|sh|bash|lua|sql|java|go|html?|css|md)$`)
	comment = regexp.MustCompile(`^\s*(#|//|;|--|<!--)`)
)

// everywhere fits the addresses of loopback and of all interfaces.
var everywhere = regexp.MustCompile(`^(?:127(?:\.\d+){3}|0\.0\.0\.0|::1?)$`)

// quotedBy is the line that has most of what words quote; none where several have.
func quotedBy(said string, given []line) (best line, ok bool) {
	scripts := map[string]bool{}
	for _, l := range given {
		if l.number <= 1 && strings.HasPrefix(l.text, "#!") {
			scripts[l.configMap+"/"+l.key] = true
		}
	}
	given = slices.DeleteFunc(slices.Clone(given), func(l line) bool {
		return code.MatchString(l.key) || comment.MatchString(l.text) || scripts[l.configMap+"/"+l.key]
	})
	score := make([]int, len(given))
	if i, has := portLine(said, given); has {
		score[i] = 1
	}
	for _, token := range tokens(said) {
		if everywhere.MatchString(token) {
			continue // it stands in every configuration
		}
		var has []int
		for i, l := range given {
			if words.Has(l.text, token) || l.key == token {
				has = append(has, i)
			}
		}
		for _, i := range has {
			if len(has) <= mostLines {
				score[i] += len(token)
			}
		}
	}
	most := 0
	for i, n := range score {
		switch {
		case n > most:
			best, ok, most = given[i], true, n
		case n == most:
			ok = false
		}
	}
	return best, ok && most > 0
}
