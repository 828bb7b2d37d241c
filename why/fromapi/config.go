package fromapi

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/mounts"
)

// rootCertificates is in every namespace, and in every pod's token volume.
const rootCertificates = "kube-root-ca.crt"

// sources are the ConfigMaps of a container by name, and whether it takes something of Secrets.
type sources struct {
	maps    []string
	secrets bool
}

func sourcesOf(all []mounts.Taken) (s sources) {
	for _, t := range all {
		if t.Kind == "Secret" {
			s.secrets = true
		} else if t.Name != "" && t.Name != rootCertificates {
			s.maps = append(s.maps, t.Name)
		}
	}
	return s
}

// variablesOf are what a container's variables are taken from.
func variablesOf(k *v1.Container) sources { return sourcesOf(mounts.Variables(k)) }

// filesOf are what the files of a container's volumes are taken from.
func filesOf(pod *v1.Pod, k *v1.Container) sources {
	var all []mounts.Taken
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if slices.ContainsFunc(k.VolumeMounts, func(m v1.VolumeMount) bool { return m.Name == volume.Name }) {
			all = append(all, mounts.Files(volume)...)
		}
	}
	return sourcesOf(all)
}

// ConfigMaps returns the names of those that a pod's containers read, sorted.
func ConfigMaps(pod *v1.Pod) (all []string) {
	for _, k := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		all = slices.Concat(all, variablesOf(&k).maps, filesOf(pod, &k).maps)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ConfigMapFiles are those that a pod's containers read as files, which follow a change.
func ConfigMapFiles(pod *v1.Pod) (all []string) {
	for _, k := range pod.Spec.Containers {
		all = append(all, filesOf(pod, &k).maps...)
	}
	return all
}

// unwatched are the containers that take something of which nobody could see a change: of a Secret, which
// nobody may ask for when it was changed without being shown it, or of a ConfigMap that may not be read.
func (t *teller) unwatched() map[string]history.Sources {
	all := map[string]history.Sources{}
	blind := func(s sources) bool {
		return s.secrets || slices.ContainsFunc(s.maps, func(name string) bool { return t.Changed[name].IsZero() })
	}
	for _, k := range slices.Concat(t.Pod.Spec.InitContainers, t.Pod.Spec.Containers) {
		if s := (history.Sources{Variables: blind(variablesOf(&k)), Files: blind(filesOf(t.Pod, &k))}); s != (history.Sources{}) {
			all[k.Name] = s
		}
	}
	return all
}
