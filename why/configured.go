package why

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
)

// ofItsOwn are the causes for which a program's configuration is worth a look where nothing better is known.
var ofItsOwn = []answer.Cause{answer.AppExitError, answer.AppExitSuccess, answer.AppUnhealthy, answer.AppNotListening, answer.ChildProcessEnded, answer.InitFailed, answer.DependencyDown}

// mostOwn is how many variables of a spec are named.
const mostOwn = 4

// configuredBy adds what configures the container that is to blame, where nobody knows anything to change:
// there is what people look at next.
func (h *inquiry) configuredBy(v *answer.Verdict) {
	c := h.Spec(v.Container)
	if c == nil || !slices.Contains(ofItsOwn, v.Cause) || slices.ContainsFunc(v.Fixes, changes) {
		return
	}
	var maps, all []string
	for _, s := range h.sources(c) {
		if s.kind == "ConfigMap" && !slices.Contains(maps, s.name) {
			maps = append(maps, s.name)
		}
		if one := fmt.Sprintf("%s %s (%s)", s.kind, s.name, s.as); !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	var own []string
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			own = append(own, e.Name)
		}
	}
	if len(own) > 0 && len(own) <= mostOwn {
		all = append(all, "variable "+prose.Some(own)+" of the spec")
	}
	if len(all) == 0 {
		return
	}
	command := h.kubectl("get pod %s -o yaml", h.Pod.Name)
	if len(maps) > 0 {
		command = h.kubectl("get configmap %s -o yaml --ignore-not-found", shell.Words(maps...)) // an optional one may be missing
	}
	v.Fixes = append(v.Fixes, kubectl.Inspect(fmt.Sprintf("compare its words with what configures container %s: %s", c.Name, prose.Some(all)), command).As(answer.StepCompare, nil))
}

// ofItsConfiguration says in brackets which ConfigMap configures a container, where that is one alone and mounted.
func (h *inquiry) ofItsConfiguration(container string) string {
	name := h.onlyConfigMap(container)
	for _, s := range h.sources(h.spec(container)) {
		if s.name == name && strings.HasPrefix(s.as, "at ") {
			return fmt.Sprintf(" (its configuration is ConfigMap %s, %s)", name, s.as)
		}
	}
	return ""
}

// source is a ConfigMap or Secret from which a container has something, and as what.
type source struct{ kind, name, as string }

// sources are those of a container's files and variables.
func (h *inquiry) sources(c *v1.Container) (all []source) {
	for m, volume := range h.mounted(c.Name) {
		if kind, name, _ := mounts.Source(volume); kind != "" {
			all = append(all, source{kind, name, "at " + m.MountPath})
		}
	}
	for _, e := range c.EnvFrom {
		if kind, name := takenAsWhole(e); kind != "" {
			all = append(all, source{kind, name, "variables"})
		}
	}
	for _, e := range c.Env {
		if kind, name, _ := takenByKey(e.ValueFrom); kind != "" {
			all = append(all, source{kind, name, "variable " + e.Name})
		}
	}
	return all
}

// takenByKey is the ConfigMap or Secret, and its key, of which a variable is; kind is empty where it is of neither.
func takenByKey(from *v1.EnvVarSource) (kind, name, key string) {
	switch {
	case from == nil:
	case from.ConfigMapKeyRef != nil:
		return "ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key
	case from.SecretKeyRef != nil:
		return "Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key
	}
	return "", "", ""
}

// takenAsWhole is the one whose keys are variables.
func takenAsWhole(from v1.EnvFromSource) (kind, name string) {
	switch {
	case from.ConfigMapRef != nil:
		return "ConfigMap", from.ConfigMapRef.Name
	case from.SecretRef != nil:
		return "Secret", from.SecretRef.Name
	}
	return "", ""
}
