package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
)

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
