package level0

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// outside is what a container is configured from: ConfigMaps by name, and Secrets, of
// which nobody may ask when they were changed without being shown them.
type outside struct {
	maps    []string
	secrets bool
}

func (o *outside) add(configMap string, secret bool) {
	if configMap != "" && configMap != rootCertificates {
		o.maps = append(o.maps, configMap)
	}
	o.secrets = o.secrets || secret
}

// rootCertificates is in every namespace, and in every pod's token volume.
const rootCertificates = "kube-root-ca.crt"

// variablesOf is what a container's variables are taken from: each start reads it anew.
func variablesOf(k *v1.Container) (o outside) {
	for _, e := range k.Env {
		if from := e.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			o.add(from.ConfigMapKeyRef.Name, false)
		} else if from != nil && from.SecretKeyRef != nil {
			o.add("", true)
		}
	}
	for _, from := range k.EnvFrom {
		if from.ConfigMapRef != nil {
			o.add(from.ConfigMapRef.Name, false)
		} else if from.SecretRef != nil {
			o.add("", true)
		}
	}
	return o
}

// filesOf is what the files of a container's volumes are taken from: they change while it
// runs.
func filesOf(pod *v1.Pod, k *v1.Container) (o outside) {
	for _, vol := range pod.Spec.Volumes {
		if !slices.ContainsFunc(k.VolumeMounts, func(m v1.VolumeMount) bool { return m.Name == vol.Name }) {
			continue
		}
		if vol.ConfigMap != nil {
			o.add(vol.ConfigMap.Name, false)
		}
		o.add("", vol.Secret != nil)
		if vol.Projected == nil {
			continue
		}
		for _, source := range vol.Projected.Sources {
			if source.ConfigMap != nil {
				o.add(source.ConfigMap.Name, false)
			}
			o.add("", source.Secret != nil)
		}
	}
	return o
}

// ConfigMaps are those that a pod's containers read, by name.
func ConfigMaps(pod *v1.Pod) []string {
	var all []string
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			all = slices.Concat(all, variablesOf(&list[i]).maps, filesOf(pod, &list[i]).maps)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mayHaveChanged says whether some of it may have been changed since the pod was started.
func (c *podCase) mayHaveChanged(o outside) bool {
	return o.secrets || slices.ContainsFunc(o.maps, func(name string) bool {
		at, known := c.Changed[name]
		return !known || !at.Before(started(c.Pod))
	})
}

// configured says whether a container reads files that may have been changed since its pod
// was started.
func (c *podCase) configured(name string) bool {
	k := c.container(name)
	return k != nil && c.mayHaveChanged(filesOf(c.Pod, k))
}

// As for who sees the node (why, rule_config.go): what was well for proven, and fails within
// settles of a change, fails because of it.
const (
	proven  = time.Minute
	settles = 3 * time.Minute
)

// changeIn is the last change of some ConfigMaps, if it was within a span of time, and long
// enough after the pod's start.
func (c *podCase) changeIn(o outside, from, until time.Time) (name string, at time.Time) {
	for _, one := range o.maps {
		if t := c.Changed[one]; t.After(at) {
			name, at = one, t
		}
	}
	if at.Before(from) || at.After(until) || at.Sub(started(c.Pod)) < proven {
		return "", time.Time{}
	}
	return name, at
}

// changedThenEnded is about a container that ends at each start since a ConfigMap was changed
// of which its variables or files are.
func (c *podCase) changedThenEnded(k *v1.Container, t *v1.ContainerStateTerminated, begins string) (answer.Verdict, bool) {
	of, files := variablesOf(k), filesOf(c.Pod, k)
	of.maps = append(of.maps, files.maps...)
	first := t.FinishedAt.Add(-c.ifAlike(k.Name, t)) // the first that can have failed so
	name, at := c.changeIn(of, first.Add(-settles), t.StartedAt.Add(slack))
	if name == "" {
		return answer.Verdict{}, false
	}
	v := because(answer.ConfigChanged, "api-config-then-exit", k.Name, fmt.Sprintf("%s, at each start since ConfigMap %s was changed, %s ago; it had run for longer before.", begins, name, prose.Span(c.Now.Sub(at))), c.changeFix(name), c.logsBefore(k.Name))
	v.Contributing = []answer.Note{{Cause: answer.AppExitError, Text: fmt.Sprintf("it ends by itself with exit code %d", t.ExitCode)}}
	v.Chain = []answer.Link{link(at, fromStatus, "ConfigMap "+name+" was changed")}
	return v, true
}

// changedThenNo is about a container that says no since a ConfigMap was changed of which its
// files are.
func (c *podCase) changedThenNo(name, kind, begins string) (answer.Verdict, bool) {
	k, ready := c.container(name), condition(c.Pod, v1.PodReady)
	if k == nil || kind != "Readiness" || !c.wasReady(name) {
		return answer.Verdict{}, false
	}
	p := c.probe(name, kind)
	failed := ready.LastTransitionTime.Add(-time.Duration(max(p.FailureThreshold, 1)) * c.period(name, kind))
	object, at := c.changeIn(filesOf(c.Pod, k), failed.Add(-settles), ready.LastTransitionTime.Time)
	if object == "" {
		return answer.Verdict{}, false
	}
	v := because(answer.ConfigChanged, "api-config-then-no", name, fmt.Sprintf("%s. It had been ready until ConfigMap %s was changed, %s ago.", begins, object, prose.Span(c.Now.Sub(at))), c.changeFix(object), c.logs(name))
	v.Contributing = []answer.Note{{Cause: answer.AppUnhealthy, Text: "the application itself says since then that it is not well"}}
	return v, true
}

func (c *podCase) changeFix(configMap string) answer.Fix {
	return answer.Fix{Text: "see what it is now, and who changed it", Command: fmt.Sprintf("kubectl -n %s get configmap %s -o yaml --show-managed-fields", c.Pod.Namespace, configMap), Risk: answer.Inspect}
}
