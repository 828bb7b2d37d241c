package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// complete puts into the steps about a missing ConfigMap, Secret or key what only the API shows: the keys that the pod takes
// from it, and the objects or keys that exist.
func (q *question) complete(ctx context.Context, v *answer.Verdict, pod *v1.Pod, refs map[reference]bool) {
	v.Fixes = slices.Clone(v.Fixes)
	for n, f := range v.Fixes {
		kind, rest, _ := strings.Cut(f.Target, "/")
		space, name, _ := strings.Cut(rest, "/")
		if name == "" || space != pod.Namespace {
			continue
		}
		taken := keysTaken(refs, kind, name)
		keys, err := q.keysOf(ctx, space, reference{kind: map[string]string{"secret": "Secret"}[kind], name: name})
		switch lacks := slices.DeleteFunc(slices.Clone(taken), func(key string) bool { return slices.Contains(keys, key) }); {
		case f.ID == answer.StepCreateObject && len(taken) > 0:
			v.Fixes[n] = kubectl.CreateObject(f.Target, taken, f.Slots[answer.SlotThen])
		case f.ID == answer.StepAddKey && err == nil && len(lacks) == 1:
			v.Fixes[n] = kubectl.AddKey(f.Target, lacks[0], f.Slots[answer.SlotThen])
		case f.ID == answer.StepSeeObjects && err == nil && len(keys) > 0:
			v.Fixes[n] = kubectl.EditTemplate(space, pod, fmt.Sprintf("if the key has another name: use one that %s %s has: %s", kind, name, prose.Some(keys)))
		case f.ID == answer.StepSeeObjects && v.HasStep(answer.StepCreateObject):
			if others := q.names(ctx, kind, space, ""); len(others) > 0 {
				v.Fixes[n] = kubectl.EditTemplate(space, pod, fmt.Sprintf("if the name is wrong: use a %s that exists: %s", kind, prose.Some(others)))
			}
		}
	}
}

// keysTaken returns the keys that a pod takes from a ConfigMap or Secret by their names.
func keysTaken(refs map[reference]bool, kind, name string) (keys []string) {
	for r := range refs {
		if strings.EqualFold(r.kind, kind) && r.name == name && r.key != "" {
			keys = append(keys, r.key)
		}
	}
	slices.Sort(keys)
	return keys
}
