package ask

import (
	"cmp"
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

// mostShown is of how many pods an answer shows the lines of their configuration.
const mostShown = 4

// showLines has answers show the lines of ConfigMaps that the words of the pods that are to blame
// are about, and the variables that these miss. A node does not know them, and a front does not read them: whoever asks may, or the
// answers stay as they are.
func (q *question) showLines(ctx context.Context, all []answer.Answer) {
	if q.options.AtDoor {
		return
	}
	left := mostShown
	for a := range pointers(all) {
		for j := range a.Verdicts {
			v := &a.Verdicts[j]
			space, name := blamed(a, j)
			about, is := cluster.MatterOf(*v)
			if name == "" || left == 0 || !is {
				continue
			}
			left--
			if pod, err := oneOf[v1.Pod](ctx, q, space, name); err == nil {
				about.In(v, pod, q.configMaps(ctx, pod))
			}
		}
	}
}

// blamed is the pod that a verdict speaks of; name is empty where that is none.
func blamed(a *answer.Answer, i int) (space, name string) {
	v := a.Verdicts[i]
	pod := cmp.Or(v.Pod, a.Symptoms[i].Pod)
	switch {
	case pod == "" && a.Subject.Kind == "Pod":
		return a.Subject.Namespace, a.Subject.Name
	case !strings.Contains(pod, "/"): // of the namespace of what was asked about
		return a.Subject.Namespace, pod
	}
	space, name, _ = strings.Cut(pod, "/")
	return space, name
}

// mostConfigMaps is how many ConfigMaps are read for one question.
const mostConfigMaps = 100

// configMaps are those that configure a pod; what may not be read is left out. At a door there are
// none.
func (q *question) configMaps(ctx context.Context, pod *v1.Pod) []v1.ConfigMap {
	if q.options.AtDoor {
		return nil
	}
	var all []v1.ConfigMap
	for _, name := range cluster.ConfigMaps(pod) {
		if !q.read.allowsOnce("ConfigMaps", pod.Namespace+"/"+name, mostConfigMaps) {
			continue
		}
		if c, err := oneOf[v1.ConfigMap](ctx, q, pod.Namespace, name); err == nil {
			all = append(all, *c)
		}
	}
	return all
}
