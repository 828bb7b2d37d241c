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

// MissesVariable says whether words that a verdict quotes miss a variable.
func MissesVariable(v answer.Verdict) bool {
	quoted, last := ownWords(v)
	return slices.Contains(about, v.Cause) && len(missed(strings.Join(append([]string{quoted}, last...), "\n"))) > 0
}

// SetVariable has what to do about a pod that is to blame begin with the variables that its words miss, where
// nothing gives them to the container and no step names them yet.
func SetVariable(v *answer.Verdict, pod *v1.Pod, all []v1.ConfigMap) {
	quoted, last := ownWords(*v)
	c := blamedContainer(*v, pod)
	if c == nil {
		return
	}
	var lacks []string
	for _, name := range missed(strings.Join(append([]string{quoted}, last...), "\n")) {
		if lacksVariable(name, c, all) && !slices.ContainsFunc(v.Fixes, func(f answer.Fix) bool { return slices.Contains(f.Variables, name) }) {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) == 0 {
		return
	}
	v.DropSteps(func(f answer.Fix) bool { return f.ID == answer.StepGiveSetting })
	which := prose.Whether(neither.MatchString(quoted), strings.Join(lacks, " or "), prose.Some(lacks))
	v.AddFirst(setIn(pod, c, which, lacks))
}

// blamedContainer is the container that a verdict is about: where another pod's leads to it, the only one there
// is; nil where nobody knows.
func blamedContainer(v answer.Verdict, pod *v1.Pod) *v1.Container {
	if all := blamedContainers(v, pod); len(all) == 1 {
		return &all[0]
	}
	return nil
}

// blamedContainers are those that a verdict may be about.
func blamedContainers(v answer.Verdict, pod *v1.Pod) []v1.Container {
	return slices.DeleteFunc(slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers), func(c v1.Container) bool {
		return v.Container != "" && v.Container != c.Name
	})
}

// setIn is the step that gives a container variables, as which it calls them.
func setIn(pod *v1.Pod, c *v1.Container, which string, variables []string) answer.Fix {
	return kubectl.EditTemplate(pod.Namespace, pod, "set "+which+" in the env of container "+c.Name).As(answer.StepSetVariables, nil).About(variables...)
}

// lacksVariable says whether nothing of a container's spec gives it a variable: not its env, nor its command, nor
// a ConfigMap. Where that may be in a Secret, or a ConfigMap that may not be read, nobody knows.
func lacksVariable(name string, c *v1.Container, all []v1.ConfigMap) bool {
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
		i := slices.IndexFunc(all, func(m v1.ConfigMap) bool { return m.Name == from.ConfigMapRef.Name })
		key, ok := strings.CutPrefix(name, from.Prefix)
		if i < 0 || !ok {
			return i < 0
		}
		_, has := all[i].Data[key]
		return has
	})
}

// asWord fits what a shell takes for one word, with variables in it.
var asWord = regexp.MustCompile(`[\w./:@%+,=-]*\$\{?[A-Z][A-Z0-9_]*\}?[\w./:@%+,=${}-]*`)

// leastMade is how much of a word has to stand there beside its variables for it to be found in what a program says.
const leastMade = 6

// ShowEmpty has what to do begin with the variable that a command or script makes a word of and that the container is
// not given, where a program's words have that word without it: "/app/shop-.jar" of "/app/shop-${VERSION}.jar".
func ShowEmpty(v *answer.Verdict, pod *v1.Pod, all []v1.ConfigMap) {
	quoted, _ := ownWords(*v)
	c := blamedContainer(*v, pod)
	if c == nil || quoted == "" {
		return
	}
	lines := givenTo(pod, c, all)
	for _, arg := range append(append([]string{}, c.Command...), c.Args...) {
		for text := range strings.SplitSeq(arg, "\n") {
			lines = append(lines, line{text: text})
		}
	}
	for _, l := range lines {
		for _, word := range asWord.FindAllString(l.text, -1) {
			name, ok := madeEmpty(word, quoted, c, all)
			if !ok || comment.MatchString(l.text) {
				continue
			}
			where := ofCommand(l.text)
			if l.configMap != "" {
				where = l.where()
			}
			v.AddFirst(setIn(pod, c, fmt.Sprintf("%s, which %s wants and nothing gives it,", name, where), []string{name}))
			return
		}
	}
}

// madeEmpty is the variable of a word that is not given, where words have the word without it.
func madeEmpty(word, quoted string, c *v1.Container, all []v1.ConfigMap) (name string, ok bool) {
	fits, last, beside := "", 0, 0
	for _, m := range inTemplate.FindAllStringSubmatchIndex(word, -1) {
		before := word[last:m[0]]
		fits += regexp.QuoteMeta(before)
		beside += len(before)
		of := inTemplate.FindStringSubmatch(word[m[0]:m[1]])
		if one := of[1] + of[2]; lacksVariable(one, c, all) {
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

// readOf fits the variables that code reads from its environment, without another value where they are not set.
var readOf = regexp.MustCompile(`(?:\bos\.environ(?:\.get)?|\bgetenv|\bprocess\.env|\bENV(?:\.fetch)?|\bSystem\.getenv)[.(\[]{1,2}['"]?([A-Z][A-Z0-9_]{2,})['"]?\s*(?:[)\]},;]|$)`)

// mostRead is how many variables are told that nothing sets: of more nobody knows which are wanted.
const mostRead = 2

// ShowUnread names the variables of which code in its ConfigMaps, or at the end of its log, has an address, where a
// container asks its own pod for what is not there.
func ShowUnread(v *answer.Verdict, pod *v1.Pod, all []v1.ConfigMap) {
	c := blamedContainer(*v, pod)
	at := v.Step(answer.StepGiveAddress)
	if c == nil || at < 0 {
		return
	}
	for _, text := range v.LastWords {
		if m := readOf.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
			v.Fixes = slices.Clone(v.Fixes)
			v.Fixes[at].Text = kubectl.GiveAddress(v.Fixes[at].Slots, "in variable "+m[1]+", which its code reads there")
			return
		}
	}
	var lacks []string
	for _, l := range givenTo(pod, c, all) {
		for _, m := range readOf.FindAllStringSubmatch(l.text, -1) {
			if code.MatchString(l.key) && !comment.MatchString(l.text) && lacksVariable(m[1], c, all) && !slices.Contains(lacks, m[1]) {
				lacks = append(lacks, m[1])
			}
		}
	}
	if len(lacks) > 0 && len(lacks) <= mostRead {
		v.AddFirst(setIn(pod, c, prose.Some(lacks)+", which its code reads and nothing gives it,", lacks))
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

// ShowScript names the variables that the script of a failing probe reads and its container is given nothing for,
// where they are few.
func ShowScript(v *answer.Verdict, pod *v1.Pod, all []v1.ConfigMap) {
	c := blamedContainer(*v, pod)
	if c == nil || v.Cause != answer.ProbeCommandFailed {
		return
	}
	for _, p := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p == nil || p.Exec == nil {
			continue
		}
		command := strings.Join(p.Exec.Command, " ")
		script, where := command, "its command"
		for _, l := range givenTo(pod, c, all) {
			if strings.Contains(command, "/"+l.key) && !comment.MatchString(l.text) {
				script, where = script+"\n"+l.text, fmt.Sprintf("key %s in ConfigMap %s", l.key, l.configMap)
			}
		}
		lacks := readsNone(script, c, all)
		if len(lacks) == 0 || len(lacks) > mostRead || slices.ContainsFunc(v.Fixes, func(f answer.Fix) bool {
			return f.ID == answer.StepSetVariables && slices.Contains(f.Variables, lacks[0])
		}) {
			continue
		}
		v.AddFirst(setIn(pod, c, fmt.Sprintf("%s, which the probe reads (%s) and the pod gives nothing for, if its image does not either,", strings.Join(lacks, " and "), where), lacks))
		return
	}
}

// readsNone are the variables that a script reads and that neither it nor its container's spec gives.
func readsNone(script string, c *v1.Container, all []v1.ConfigMap) (lacks []string) {
	given := slices.Clone(shellsOwn)
	for _, m := range givenInScript.FindAllStringSubmatch(script, -1) {
		given = append(given, m[1]+m[2]+m[3])
	}
	for _, m := range readInScript.FindAllStringSubmatch(script, -1) {
		name := m[1] + m[2]
		service := strings.HasSuffix(name, "_SERVICE_HOST") || strings.HasSuffix(name, "_SERVICE_PORT") || strings.HasSuffix(name, "_PORT")
		if !service && !slices.Contains(given, name) && !slices.Contains(lacks, name) && lacksVariable(name, c, all) {
			lacks = append(lacks, name)
		}
	}
	return lacks
}
