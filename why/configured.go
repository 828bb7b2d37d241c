package why

import (
	"fmt"
	"path"
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
	changes := func(f answer.Fix) bool { return f.Risk != answer.Inspect }
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
	if own := ownVariables(c); len(own) > 0 && len(own) <= mostOwn {
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
	c := h.Spec(container)
	name := h.onlyConfigMap(container)
	if c == nil || name == "" {
		return ""
	}
	for _, s := range h.sources(c) {
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
	for _, m := range c.VolumeMounts {
		if _, volume := h.volumeOf(c.Name, path.Clean(m.MountPath)); volume != nil {
			if kind, name, _ := mounts.Source(volume); kind != "" {
				all = append(all, source{kind, name, "at " + m.MountPath})
			}
		}
	}
	for _, e := range c.EnvFrom {
		switch {
		case e.ConfigMapRef != nil:
			all = append(all, source{"ConfigMap", e.ConfigMapRef.Name, "variables"})
		case e.SecretRef != nil:
			all = append(all, source{"Secret", e.SecretRef.Name, "variables"})
		}
	}
	for _, e := range c.Env {
		switch from := e.ValueFrom; {
		case from == nil:
		case from.ConfigMapKeyRef != nil:
			all = append(all, source{"ConfigMap", from.ConfigMapKeyRef.Name, "variable " + e.Name})
		case from.SecretKeyRef != nil:
			all = append(all, source{"Secret", from.SecretKeyRef.Name, "variable " + e.Name})
		}
	}
	return all
}

// ownVariables are those whose value stands in the spec itself.
func ownVariables(c *v1.Container) (names []string) {
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			names = append(names, e.Name)
		}
	}
	return names
}
