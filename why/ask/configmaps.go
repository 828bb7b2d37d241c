package ask

import (
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
			much := cluster.MayAllowMuch(*v)
			if name == "" || left == 0 || !much && !cluster.MayNameLine(*v) && !cluster.MissesVariable(*v) && !cluster.MayHaveTopic(*v) && v.Cause != answer.ProbeCommandFailed {
				continue
			}
			left--
			pod, err := oneOf[v1.Pod](ctx, q, space, name)
			if err != nil {
				continue
			}
			given := q.configMaps(ctx, pod)
			if much {
				cluster.ShowSize(v, pod, given)
				continue
			}
			if cluster.MayNameLine(*v) {
				cluster.ShowLine(v, pod, given)
				cluster.ShowEmpty(v, pod, given)
				cluster.ShowUnread(v, pod, given)
			}
			if cluster.MissesVariable(*v) {
				cluster.SetVariable(v, pod, given)
			}
			cluster.ShowTopic(v, pod, given)
			cluster.ShowScript(v, pod, given)
		}
	}
}

// blamed is the pod that a verdict speaks of.
func blamed(a *answer.Answer, j int) (space, name string) {
	v := a.Verdicts[j]
	switch {
	case v.Pod != "":
		space, name, _ = strings.Cut(v.Pod, "/")
	case len(v.Hops) > 0: // what is no pod
	case a.Subject.Kind == "Pod":
		return a.Subject.Namespace, a.Subject.Name
	case j < len(a.Symptoms) && a.Symptoms[j].Pod != "":
		space, name, _ = strings.Cut(a.Symptoms[j].Pod, "/")
	}
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
