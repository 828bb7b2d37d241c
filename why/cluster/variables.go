package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// lookedUp and notSet fit words that a variable is missed, of which nobody else says that they are about a setting.
var (
	lookedUp = regexp.MustCompile(`\b(?:os\.environ|process\.env|ENV|environ)\[['"]([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)['"]\]|\bKeyError: ['"]([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)['"]`)
	notSet   = regexp.MustCompile(`\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b['"}` + "`" + `]? (?:is not|was not|has not been|isn't|must be|needs to be|has to be|should be) (?:set|defined|given|provided|configured|specified)\b|\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b['"}` + "`" + `]? (?:is|was) (?:unset|undefined|missing|required)\b`)
	// neither fits words that none of two is set.
	neither = regexp.MustCompile(`(?i:\bneither) \$?\{?([A-Z][A-Z0-9_]+)\}? (?i:nor) \$?\{?([A-Z][A-Z0-9_]+)\}? (?:is|are|was|were) (?:set|defined|given)\b`)
	// ofFile fits words that may be about a setting of a file just as well.
	ofFile = regexp.MustCompile(`(?i)\b(?:settings?|options?|property|properties)\b`)
)

func missed(said string) (all []string) {
	add := func(names ...string) {
		for _, name := range names {
			if name != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	for text := range strings.SplitSeq(strings.ReplaceAll(said, `\"`, `"`), "\n") {
		for _, fits := range []*regexp.Regexp{lookedUp, notSet, neither} {
			for _, m := range fits.FindAllStringSubmatch(text, -1) {
				add(m[1:]...)
			}
		}
		if knowledge.SettingMissing.In(text) && !ofFile.MatchString(text) {
			if names := words.Variables(text); len(names) == 1 { // of several nobody knows which
				add(names...)
			}
		}
	}
	return all
}

// showMissed begins with the variables that the words miss, where nothing gives them to the container and no step names
// them yet.
func (s shown) showMissed() {
	o, ok := s.only()
	lacks := slices.DeleteFunc(slices.Clone(s.missed), func(name string) bool {
		return !ok || !o.lacks(name) || slices.ContainsFunc(s.v.Fixes, func(f answer.Fix) bool { return slices.Contains(f.Variables, name) })
	})
	if len(lacks) == 0 {
		return
	}
	s.v.DropSteps(func(f answer.Fix) bool { return f.ID == answer.StepGiveSetting })
	which := prose.Whether(neither.MatchString(s.quoted), strings.Join(lacks, " or "), prose.Some(lacks))
	s.v.AddFirst(o.set(which, lacks))
}

// set is the step that gives a container variables, as which it calls them.
func (o owner) set(which string, variables []string) answer.Fix {
	return kubectl.EditTemplate(o.pod.Namespace, o.pod, "set "+which+" in the env of container "+o.container.Name).As(answer.StepSetVariables, nil).About(variables...)
}

// lacks says whether nothing of a container's spec gives it a variable: not its env, nor its command, nor
// a ConfigMap. Where that may be in a Secret, or a ConfigMap that may not be read, nobody knows.
func (o owner) lacks(name string) bool {
	c := o.container
	if slices.ContainsFunc(c.Env, func(e v1.EnvVar) bool { return e.Name == name }) {
		return false
	}
	if slices.ContainsFunc(slices.Concat(c.Command, c.Args), func(arg string) bool { return strings.Contains(arg, name+"=") }) {
		return false
	}
	return !slices.ContainsFunc(c.EnvFrom, func(from v1.EnvFromSource) bool {
		if from.ConfigMapRef == nil {
			return true
		}
		of := first(o.all, func(m v1.ConfigMap) bool { return m.Name == from.ConfigMapRef.Name })
		key, ok := strings.CutPrefix(name, from.Prefix)
		if of == nil || !ok {
			return of == nil
		}
		_, has := of.Data[key]
		return has
	})
}

// asWord fits what a shell takes for one word, with variables in it.
var asWord = regexp.MustCompile(`[\w./:@%+,=-]*\$\{?[A-Z][A-Z0-9_]*\}?[\w./:@%+,=${}-]*`)

// leastMade is how much of a word has to stand there beside its variables for it to be found in what a program says.
const leastMade = 6

// showEmpty begins with the variable that a command or script makes a word of and that the container is not given, where a
// program's words have that word without it: "/app/shop-.jar" of "/app/shop-${VERSION}.jar".
func (s shown) showEmpty() {
	o, ok := s.only()
	if !ok || s.quoted == "" {
		return
	}
	lines := slices.Clone(o.lines)
	for _, arg := range slices.Concat(o.container.Command, o.container.Args) {
		for text := range strings.SplitSeq(arg, "\n") {
			lines = append(lines, line{text: text})
		}
	}
	for _, l := range lines {
		for _, word := range asWord.FindAllString(l.text, -1) {
			name, ok := o.madeEmpty(word, s.quoted)
			if !ok || comment.MatchString(l.text) {
				continue
			}
			where := ofCommand(l.text)
			if l.configMap != "" {
				where = l.where()
			}
			s.v.AddFirst(o.set(fmt.Sprintf("%s, which %s wants and nothing gives it,", name, where), []string{name}))
			return
		}
	}
}

// madeEmpty is the variable of a word that is not given, where words have the word without it.
func (o owner) madeEmpty(word, quoted string) (name string, ok bool) {
	fits, last, beside := "", 0, 0
	for _, m := range inTemplate.FindAllStringSubmatchIndex(word, -1) {
		before := word[last:m[0]]
		fits += regexp.QuoteMeta(before)
		beside += len(before)
		of := inTemplate.FindStringSubmatch(word[m[0]:m[1]])
		if one := of[1] + of[2]; o.lacks(one) {
			name = one
		} else {
			fits += `\S*?`
		}
		last = m[1]
	}
	fits += regexp.QuoteMeta(word[last:])
	beside += len(word[last:])
	if name == "" || beside < leastMade {
		return "", false
	}
	return name, regexp.MustCompile(`(?:^|[^\w./-])` + fits + `(?:$|[^\w/-])`).MatchString(quoted)
}

// variableRead fits a variable that code reads from its environment.
const variableRead = `(?:\bos\.environ(?:\.get)?|\bgetenv|\bprocess\.env|\bENV(?:\.fetch)?|\bSystem\.getenv)[.(\[]{1,2}['"]?([A-Z][A-Z0-9_]{2,})`

// readOf fits the variables that code reads from its environment, without another value where they are not set.
var readOf = regexp.MustCompile(variableRead + `['"]?\s*(?:[)\]},;]|$)`)

// mostRead is how many variables are told that nothing sets: of more nobody knows which are wanted.
const mostRead = 2

// showUnread names the variables of which code in its ConfigMaps, or at the end of its log, has an address, where a
// container asks its own pod for what is not there.
func (s shown) showUnread() {
	o, ok := s.only()
	at := s.v.Step(answer.StepGiveAddress)
	if !ok || at < 0 {
		return
	}
	for _, text := range s.v.LastWords {
		if m := readOf.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
			s.v.Fixes = slices.Clone(s.v.Fixes)
			s.v.Fixes[at].Text = kubectl.GiveAddress(s.v.Fixes[at].Slots, "in variable "+m[1]+", which its code reads there")
			return
		}
	}
	var lacks []string
	for _, l := range o.lines {
		for _, m := range readOf.FindAllStringSubmatch(l.text, -1) {
			if code.MatchString(l.key) && !comment.MatchString(l.text) && o.lacks(m[1]) && !slices.Contains(lacks, m[1]) {
				lacks = append(lacks, m[1])
			}
		}
	}
	if len(lacks) > 0 && len(lacks) <= mostRead {
		s.v.AddFirst(o.set(prose.Some(lacks)+", which its code reads and nothing gives it,", lacks))
	}
}

// readInScript fits the variables that a shell's script reads without another value for them, given those that it
// gives itself.
var (
	readInScript  = regexp.MustCompile(`\$(?:\{([A-Z][A-Z0-9_]{2,})\}|([A-Z][A-Z0-9_]{2,}))`)
	givenInScript = regexp.MustCompile(`\b([A-Z][A-Z0-9_]{2,})=|\b(?:read|for|export)\s+([A-Z][A-Z0-9_]{2,})\b|\$\{([A-Z][A-Z0-9_]{2,}):?[-=]`)
)

// shellsOwn are variables that a shell or the runtime gives each script.
var shellsOwn = []string{"PATH", "HOME", "HOSTNAME", "PWD", "OLDPWD", "USER", "UID", "EUID", "PPID", "RANDOM", "SECONDS", "IFS", "SHELL", "TERM", "LANG", "LINENO", "BASH_SOURCE"}

// showScript names the variables that the script of a failing probe reads and its container is given nothing for,
// where they are few.
func (s shown) showScript() {
	o, ok := s.only()
	if !ok || !s.script {
		return
	}
	for _, p := range []*v1.Probe{o.container.LivenessProbe, o.container.ReadinessProbe, o.container.StartupProbe} {
		if p == nil || p.Exec == nil {
			continue
		}
		command := strings.Join(p.Exec.Command, " ")
		script, where := command, "its command"
		for _, l := range o.lines {
			if strings.Contains(command, "/"+l.key) && !comment.MatchString(l.text) {
				script, where = script+"\n"+l.text, fmt.Sprintf("key %s in ConfigMap %s", l.key, l.configMap)
			}
		}
		lacks := o.readsNone(script)
		if len(lacks) == 0 || len(lacks) > mostRead || slices.ContainsFunc(s.v.Fixes, func(f answer.Fix) bool {
			return f.ID == answer.StepSetVariables && slices.Contains(f.Variables, lacks[0])
		}) {
			continue
		}
		s.v.AddFirst(o.set(fmt.Sprintf("%s, which the probe reads (%s) and the pod does not set (unless its image does),", strings.Join(lacks, " and "), where), lacks))
		return
	}
}

// readsNone are the variables that a script reads and that neither it nor its container's spec gives.
func (o owner) readsNone(script string) (lacks []string) {
	given := slices.Clone(shellsOwn)
	for _, m := range givenInScript.FindAllStringSubmatch(script, -1) {
		given = append(given, m[1]+m[2]+m[3])
	}
	for _, m := range readInScript.FindAllStringSubmatch(script, -1) {
		name := m[1] + m[2]
		service := strings.HasSuffix(name, "_SERVICE_HOST") || strings.HasSuffix(name, "_SERVICE_PORT") || strings.HasSuffix(name, "_PORT")
		if !service && !slices.Contains(given, name) && !slices.Contains(lacks, name) && o.lacks(name) {
			lacks = append(lacks, name)
		}
	}
	return lacks
}
