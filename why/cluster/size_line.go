package cluster

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/words"
)

// ofMemory are the causes for which a setting that allows too much memory may be the reason.
var ofMemory = []answer.Cause{answer.MemoryLimit, answer.MemoryLimitChild, answer.PodMemoryLimit}

// MayAllowMuch says whether a verdict is about a memory limit that was hit.
func MayAllowMuch(v answer.Verdict) bool { return slices.Contains(ofMemory, v.Cause) }

// ShowSize has what to do about a memory limit begin with the line of a ConfigMap which allows a container
// most memory, where that is more than three quarters of its limit.
func ShowSize(v *answer.Verdict, pod *v1.Pod, all []v1.ConfigMap) {
	for _, c := range blamedContainers(*v, pod) {
		limit, has := c.Resources.Limits[v1.ResourceMemory]
		if !has {
			continue
		}
		var most line
		var name string
		allows := limit.Value() / 4 * 3
		for _, l := range givenTo(pod, &c, all) {
			if n, bytes, ok := words.SizeLine(l.text); ok && bytes > allows && !code.MatchString(l.key) && !comment.MatchString(l.text) {
				most, name, allows = l, n, bytes
			}
		}
		if name == "" {
			continue
		}
		v.AddFirst(kubectl.Edit(fmt.Sprintf("lower %s, which allows %s where the limit is %s: %s; then start the pod again", name, resource.NewQuantity(allows, resource.BinarySI), limit.String(), most.where()), "ConfigMap", pod.Namespace, most.configMap))
		return
	}
}
