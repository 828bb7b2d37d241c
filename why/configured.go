package why

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
)

// ofItsOwn are the causes for which a program's configuration is worth a look where nothing better is known.
var ofItsOwn = []answer.Cause{answer.AppExitError, answer.AppExitSuccess, answer.AppUnhealthy, answer.AppNotListening, answer.ChildProcessEnded, answer.InitFailed, answer.DependencyDown}

// configuredBy adds what configures the container that is to blame, where nobody knows anything to change:
// there is what people look at next.
func (h *inquiry) configuredBy(v *answer.Verdict) {
	c := h.Spec(v.Container)
	changes := func(f answer.Fix) bool { return f.Risk != answer.Inspect }
	if c == nil || !slices.Contains(ofItsOwn, v.Cause) || slices.ContainsFunc(v.Fixes, changes) {
		return
	}
	var maps, all []string
	add := func(kind, name, how string) {
		if kind == "ConfigMap" && !slices.Contains(maps, name) {
			maps = append(maps, name)
		}
		if one := fmt.Sprintf("%s %s (%s)", kind, name, how); !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	for _, m := range c.VolumeMounts {
		if _, volume := h.volumeOf(c.Name, path.Clean(m.MountPath)); volume != nil {
			if kind, name, _ := mounts.Source(volume); kind != "" {
				add(kind, name, "at "+m.MountPath)
			}
		}
	}
	for _, e := range c.EnvFrom {
		switch {
		case e.ConfigMapRef != nil:
			add("ConfigMap", e.ConfigMapRef.Name, "variables")
		case e.SecretRef != nil:
			add("Secret", e.SecretRef.Name, "variables")
		}
	}
	var own []string
	for _, e := range c.Env {
		switch from := e.ValueFrom; {
		case from == nil:
			own = append(own, e.Name)
		case from.ConfigMapKeyRef != nil:
			add("ConfigMap", from.ConfigMapKeyRef.Name, "variable "+e.Name)
		case from.SecretKeyRef != nil:
			add("Secret", from.SecretKeyRef.Name, "variable "+e.Name)
		}
	}
	if n := len(own); n > 0 && n <= mostOwn {
		all = append(all, "variable "+prose.Some(own)+" of the spec")
	}
	if len(all) == 0 {
		return
	}
	command := h.kubectl("get pod %s -o yaml", h.Pod.Name)
	if len(maps) > 0 {
		command = h.kubectl("get configmap %s -o yaml", strings.Join(maps, " "))
	}
	v.Fixes = append(v.Fixes, kubectl.Inspect(fmt.Sprintf("%s container %s: %s", kubectl.Compare, c.Name, prose.Some(all)), command))
}

// mostOwn is how many variables of a spec are named.
const mostOwn = 4
