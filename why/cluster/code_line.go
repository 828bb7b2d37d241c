package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/redact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
)

// unparsed matches messages about code that its language cannot parse, or that uses a name that nothing defines.
var unparsed = regexp.MustCompile(`(?i)\b(?:syntax ?error|parse error|indentationerror|nameerror)\b`)

// reads matches the environment variables that a line of code reads.
var reads = regexp.MustCompile(variableRead + `\b`)

// showCode adds what to do about a line of code in a ConfigMap. Such a line is where the error was raised, and seldom the
// mistake: if no other step is precise, the variables that it reads come first.
func (o owner) showCode(at line, v *answer.Verdict, quoted string) {
	if unparsed.MatchString(quoted) {
		at.show(v, o.pod, "")
		return
	}
	correct := at.edit(fmt.Sprintf("%s raises the error: correct the setting, file or address that it uses; if those are right, correct the line%s", at.where(), proposed(quoted)), o.pod)
	see := kubectl.Inspect("see where in its own code that was: "+at.where(), kubectl.Command(o.pod.Namespace, "get configmap %s -o yaml", at.configMap))
	variables := o.readBy(at)
	imprecise := func(f answer.Fix) bool {
		return f.Target == correct.Target || f.ID == answer.StepCorrect || f.ID == answer.StepCompare || f.ID == answer.StepGiveSetting && len(variables) > 0
	}
	precise := slices.ContainsFunc(v.Fixes, func(f answer.Fix) bool { return changes(f) && !imprecise(f) })
	v.DropSteps(imprecise)
	switch {
	case precise:
		v.Fixes = append(v.Fixes, see)
	case len(variables) > 0:
		correct.Text = fmt.Sprintf("if all of that is right: correct %s, which raises the error", at.where())
		v.Fixes = slices.Concat(variables, []answer.Fix{correct}, v.Fixes)
	default:
		v.Fixes = append(v.Fixes, correct)
	}
}

// readBy returns a step for each environment variable that a line reads, without those that have a default and are not set.
func (o owner) readBy(at line) (steps []answer.Fix) {
	for _, m := range reads.FindAllStringSubmatch(at.text, mostRead) {
		required := slices.ContainsFunc(readOf.FindAllStringSubmatch(at.text, -1), func(of []string) bool { return of[1] == m[1] })
		if !o.lacks(m[1]) || required {
			steps = append(steps, o.correctVariable(m[1], fmt.Sprintf(", which line %d of %s reads", max(at.number, 1), at.key)))
		}
	}
	return steps
}

// correctVariable returns the step that corrects a variable of the container where its value is kept.
func (o owner) correctVariable(name, why string) answer.Fix {
	if o.lacks(name) {
		return o.set(name+why+" and the pod does not set (unless its image does),", []string{name})
	}
	wrong := func(has string) string {
		return fmt.Sprintf("if the value of variable %s%s, is wrong: correct it%s", name, why, has)
	}
	if i := slices.IndexFunc(o.container.Env, func(e v1.EnvVar) bool { return e.Name == name && e.ValueFrom == nil }); i >= 0 {
		has := ""
		if value := o.container.Env[i].Value; !redact.IsSetting(name, value) && value != "" {
			has = fmt.Sprintf("; it is “%s”%s", prose.Brief(value, mostValue), o.madeOfKeys(value))
		}
		return kubectl.EditTemplate(o.pod.Namespace, o.pod, wrong(has)).About(name)
	}
	for _, t := range mounts.Variables(o.container) {
		if t.Variable == name || t.Variable == "" && o.gives(t, name) {
			key := name
			if len(t.Keys) > 0 {
				key = t.Keys[0]
			}
			has := fmt.Sprintf("; it is key %s of %s %s%s", key, t.Kind, t.Name, o.valueOf(t, key))
			return kubectl.Edit(wrong(has), t.Kind, o.pod.Namespace, t.Name, o.pod).About(name)
		}
	}
	return kubectl.EditTemplate(o.pod.Namespace, o.pod, wrong("")).About(name)
}

// inValue matches the variables that kubelet puts into the value of another one.
var inValue = regexp.MustCompile(`\$\(([A-Za-z_][\w.-]*)\)`)

// madeOfKeys names the keys of ConfigMaps and Secrets that kubelet puts into a value: “, where $(PASSWORD) is key password of
// Secret db”.
func (o owner) madeOfKeys(value string) string {
	var all []string
	for _, m := range inValue.FindAllStringSubmatch(value, -1) {
		for _, t := range mounts.Variables(o.container) {
			if t.Variable == m[1] {
				all = append(all, fmt.Sprintf("%s is key %s of %s %s", m[0], t.Keys[0], t.Kind, t.Name))
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return ", where " + prose.Some(all)
}

// mostValue is the longest value that a step shows.
const mostValue = 80

// gives reports whether a ConfigMap whose keys all become variables has a key of that name.
func (o owner) gives(t mounts.Taken, name string) bool {
	of := first(o.all, func(m v1.ConfigMap) bool { return t.Kind == "ConfigMap" && m.Name == t.Name })
	return of != nil && of.Data[name] != ""
}

// valueOf returns the value of a key in brackets, where it is of a ConfigMap and no secret.
func (o owner) valueOf(t mounts.Taken, key string) string {
	of := first(o.all, func(m v1.ConfigMap) bool { return t.Kind == "ConfigMap" && m.Name == t.Name })
	if of == nil || redact.IsSetting(key, of.Data[key]) || redact.Holds(of.Data[key]) {
		return ""
	}
	return fmt.Sprintf(" (now “%s”)", prose.Brief(strings.TrimSpace(of.Data[key]), mostValue))
}
