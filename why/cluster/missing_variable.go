package cluster

import (
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

// missed are the variables that words miss.
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
	which := prose.Some(lacks)
	if neither.MatchString(quoted) {
		which = strings.Join(lacks, " or ")
	}
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
