package cluster

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/mounts"
)

// Setting is a text that configures a pod, and where it stands; ConfigMap is empty for one of the pod's spec.
type Setting struct{ Where, Text, ConfigMap string }

// Settings are the commands and the environment of a pod's containers.
func Settings(pod *v1.Pod) []Setting {
	var all []Setting
	for _, c := range append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...) {
		for _, e := range c.Env {
			all = append(all, Setting{Where: "variable " + e.Name, Text: e.Value})
		}
		all = append(all, Setting{Where: "command", Text: strings.Join(append(slices.Clone(c.Command), c.Args...), " ")})
	}
	return all
}

// ConfigMaps are the names of those that a pod takes its configuration from.
func ConfigMaps(pod *v1.Pod) []string {
	var all []string
	for i := range pod.Spec.Volumes {
		if kind, name, _ := mounts.Source(&pod.Spec.Volumes[i]); kind == "ConfigMap" {
			all = append(all, name)
		}
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, t := range mounts.Variables(&c) {
			if t.Kind == "ConfigMap" {
				all = append(all, t.Name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// aDatabase fits the names of what leads to one.
var aDatabase = regexp.MustCompile(`(?i)db|database|sql|postgres|mysql|maria|mongo|conn|url|uri|dsn`)

// SameSecret names the database that two pods ask by the same key of a Secret, given to both in the same variable;
// "" where there is none.
func SameSecret(a, b *v1.Pod) string {
	mine, others := secretKeys(a), secretKeys(b)
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		from := mine[name]
		other, ok := others[name]
		if key := from.Keys[0]; ok && other.Name == from.Name && other.Keys[0] == key && aDatabase.MatchString(name+" "+key) {
			return fmt.Sprintf("the database that key %s of Secret %s names", key, from.Name)
		}
	}
	return ""
}

// secretKeys are the variables of a pod's containers that are keys of Secrets.
func secretKeys(pod *v1.Pod) map[string]mounts.Taken {
	keys := map[string]mounts.Taken{}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, t := range mounts.Variables(&c) {
			if t.Kind == "Secret" && len(t.Keys) > 0 {
				keys[t.Variable] = t
			}
		}
	}
	return keys
}
