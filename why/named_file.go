package why

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/words"
)

// aPath fits a file that words name, from the root.
var aPath = regexp.MustCompile("(?:^|[\\s\"'`(=\\[<:])(/[\\w.@+-]+(?:/[\\w.@+-]+)+)")

// version is the folder in which a kubelet keeps the files of one state of a volume.
var version = regexp.MustCompile(`\.\.\d{4}_[\d_]+\.\d+/`)

// namedFile adds where a file comes from that a container's words name, and what to do there:
// it is in one of its volumes mostly; or else where its spec gives it what they name.
func (h *inquiry) namedFile(f *finding, container, said string) {
	for line := range strings.SplitSeq(said, " / ") { // as [words.Reason] puts them together
		for _, m := range aPath.FindAllStringSubmatch(line, mostPaths) {
			file := path.Clean(version.ReplaceAllString(strings.TrimRight(m[1], ".-"), ""))
			mount, volume := h.volumeOf(container, file)
			if volume == nil {
				continue
			}
			if fixes := h.fileFixes(file, mount, volume, line); len(fixes) > 0 {
				f.fixes = append(fixes, f.fixes...)
				return
			}
		}
	}
	h.namedSetting(f, container, said)
}

// mostPaths is how many files are looked at that words name.
const mostPaths = 4

// volumeOf is the volume of a container that a file is in, and how it is mounted; nil where it
// is in none.
func (h *inquiry) volumeOf(container, file string) (mount v1.VolumeMount, volume *v1.Volume) {
	c := h.Spec(container)
	if c == nil || h.Object == nil {
		return mount, nil
	}
	for _, m := range c.VolumeMounts {
		at := path.Clean(m.MountPath)
		if len(at) > len(mount.MountPath) && (file == at || strings.HasPrefix(file, strings.TrimSuffix(at, "/")+"/")) {
			mount = m
			mount.MountPath = at
		}
	}
	for i, v := range h.Object.Spec.Volumes {
		if v.Name == mount.Name && mount.MountPath != "" {
			volume = &h.Object.Spec.Volumes[i]
		}
	}
	return mount, volume
}

// fileFixes are what to do about a file of a volume.
func (h *inquiry) fileFixes(file string, mount v1.VolumeMount, volume *v1.Volume, said string) []answer.Fix {
	kind, name, key := keyOf(file, mount, volume)
	switch {
	case words.Refused.In(said) && kind != "":
		return []answer.Fix{h.specFix(fmt.Sprintf("let its user read %s, which is of %s %s: give volume %s a defaultMode for that (0444, or 0440 with the pod's fsGroup)", file, kind, name, volume.Name))}
	case words.Refused.In(said):
		return []answer.Fix{h.specFix(fmt.Sprintf("give its user volume %s, in which %s is (the pod's fsGroup, or chown once in an init container)", volume.Name, file))}
	case kind == "":
		return nil
	case words.NoFile.In(said):
		return []answer.Fix{kubectl.Inspect(fmt.Sprintf("see whether %s %s, mounted at %s, has %s", kind, name, mount.MountPath, key), h.kubectl("describe %s %s", strings.ToLower(kind), name))}
	}
	return []answer.Fix{{
		Text: fmt.Sprintf("if %s, which its words name, is at fault, correct it: it is %s of %s %s", file, key, kind, name), Risk: answer.Restarts,
		Command: h.kubectl("edit %s %s", strings.ToLower(kind), name),
	}}
}

// keyOf is the ConfigMap or Secret that a file is of, and its key there; kind is empty where it
// is of neither.
func keyOf(file string, mount v1.VolumeMount, volume *v1.Volume) (kind, name, key string) {
	kind, name, items := source(volume)
	if kind == "" {
		return "", "", ""
	}
	key = strings.TrimPrefix(path.Join(mount.SubPath, strings.TrimPrefix(file, mount.MountPath)), "/")
	for _, i := range items {
		if i.Path == key {
			key = i.Key
		}
	}
	if key == "" {
		return "", "", "" // the folder itself
	}
	return kind, name, key
}

// source is the ConfigMap or Secret that a volume is of; kind is empty where it is of neither.
func source(volume *v1.Volume) (kind, name string, items []v1.KeyToPath) {
	switch {
	case volume.ConfigMap != nil:
		return "ConfigMap", volume.ConfigMap.Name, volume.ConfigMap.Items
	case volume.Secret != nil:
		return "Secret", volume.Secret.SecretName, volume.Secret.Items
	}
	return "", "", nil
}
