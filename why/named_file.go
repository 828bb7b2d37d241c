package why

import (
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/mounts"
)

// aPath fits a file that words name, from the root.
var aPath = regexp.MustCompile("(?:^|[\\s\"'`(=\\[<:])(/[\\w.@+-]+(?:/[\\w.@+-]+)+)")

// fromHere fits one from the folder that a program runs in.
var fromHere = regexp.MustCompile("(?:^|[\\s\"'`(=\\[<])((?:\\./)?[\\w@+-][\\w.@+-]*(?:/[\\w.@+-]+)+)(?:$|[\\s\"'`)\\]>:,])")

// namedFile adds where a file comes from that a container's words name, and what to do there:
// it is in one of its volumes mostly; or else where its spec gives it what they name. What else the
// pod gives it that they are about is laid beside them.
func (h *inquiry) namedFile(f *finding, container, said string) {
	if fixes := h.ofNamedFile(container, said); len(fixes) > 0 {
		f.fixes = append(fixes, f.fixes...)
	} else {
		h.namedSetting(f, container, said)
	}
	if at := deniedAt(said); knowledge.Refused.In(said) && at != "" && f.cause == answer.AppExitError { // as its image has it run
		if _, volume := h.volumeOf(container, at); volume == nil {
			f.first(h.mayThen(container, said))
		}
	}
	h.given(f, container, said)
}

// ofNamedFile are what to do about the first file of a volume that words name.
func (h *inquiry) ofNamedFile(container, said string) []answer.Fix {
	var kept []answer.Fix
	for line := range strings.SplitSeq(said, " / ") { // as [logline.Story.Reason] puts them together
		for _, file := range h.pathsIn(container, line) {
			mount, volume := h.volumeOf(container, file)
			if volume == nil {
				continue
			}
			fixes := h.fileFixes(file, mount, volume, line)
			switch {
			case len(fixes) == 0:
			case knowledge.Refused.In(line) && readable(volume): // of a copy that was refused, the other file goes before it
				kept = fixes
			default:
				return fixes
			}
		}
	}
	return kept
}

// pathsIn are the first files that a line names, those from the container's own folder at last.
func (h *inquiry) pathsIn(container, line string) []string {
	var all []string
	for _, m := range aPath.FindAllStringSubmatch(line, mostPaths) {
		all = append(all, mounts.Clean(strings.TrimRight(m[1], ".-")))
	}
	if spec := h.spec(container); spec.WorkingDir != "" {
		for _, m := range fromHere.FindAllStringSubmatch(line, mostPaths) {
			all = append(all, mounts.Clean(path.Join(spec.WorkingDir, m[1])))
		}
	}
	return all
}

// readable says whether everybody may read what is in a volume of a ConfigMap or a Secret. Nobody may write it.
func readable(volume *v1.Volume) bool {
	mode := defaultMode(volume)
	return (volume.ConfigMap != nil || volume.Secret != nil) && (mode == nil || *mode&0o004 != 0)
}

// raisingFile adds where the file comes from in whose code something was raised, where nothing else
// is known to change.
func (h *inquiry) raisingFile(f *finding, container string, at logline.Spot) {
	if !path.IsAbs(at.File) || f.advice.Text != "" || slices.ContainsFunc(f.fixes, changes) {
		return
	}
	file := mounts.Clean(at.File)
	mount, volume := h.volumeOf(container, file)
	if volume == nil {
		return
	}
	if kind, name, key := mounts.Key(file, mount, volume); kind != "" {
		f.first(kubectl.Edit(fmt.Sprintf("if %s, where that was raised, is at fault, correct it: it is %s of %s %s", file, key, kind, name), kind, h.Pod.Namespace, name))
	}
}

// mostPaths is how many files are looked at that words name.
const mostPaths = 4

// mounted yields how the volumes of a container are mounted, with the volumes.
func (h *inquiry) mounted(container string) iter.Seq2[v1.VolumeMount, *v1.Volume] {
	return func(yield func(v1.VolumeMount, *v1.Volume) bool) {
		for _, m := range h.spec(container).VolumeMounts {
			if _, v := h.volumeOf(container, path.Clean(m.MountPath)); v != nil && !yield(m, v) {
				return
			}
		}
	}
}

// volumeOf is the volume of a container that a file is in, and how it is mounted; nil where it
// is in none.
func (h *inquiry) volumeOf(container, file string) (v1.VolumeMount, *v1.Volume) {
	return mounts.Volume(h.Object, h.Spec(container), file)
}

// fileFixes are what to do about a file of a volume.
func (h *inquiry) fileFixes(file string, mount v1.VolumeMount, volume *v1.Volume, said string) []answer.Fix {
	kind, name, key := mounts.Key(file, mount, volume)
	switch {
	case knowledge.Refused.In(said) && kind != "" && readable(volume):
		return []answer.Fix{h.specFix(fmt.Sprintf("have it write elsewhere than to %s, which is of %s %s and which its user may only read (copy it into an emptyDir first); if it is to be run, volume %s needs a defaultMode for that (0555)", file, kind, name, volume.Name))}
	case knowledge.Refused.In(said) && kind != "":
		return []answer.Fix{h.specFix(fmt.Sprintf("let its user read %s, which is of %s %s: give volume %s a defaultMode for that (0444, or 0440 with the pod's fsGroup)", file, kind, name, volume.Name)).As(answer.StepAllowUser, nil)}
	case knowledge.Refused.In(said):
		return []answer.Fix{h.specFix(fmt.Sprintf("give its user volume %s, in which %s is (the pod's fsGroup, or chown once in an init container)", volume.Name, file))}
	case kind == "" && knowledge.NoFile.In(said) && (volume.EmptyDir != nil || volume.PersistentVolumeClaim != nil):
		return []answer.Fix{h.specFix(fmt.Sprintf("see that volume %s has %s before it starts (an init container that writes it there, or copies what the image has at %s, which the volume hides), or mount it elsewhere", volume.Name, file, mount.MountPath))}
	case kind == "":
		return nil
	case knowledge.NoFile.In(said) && kind == "ConfigMap" && mount.SubPath == "" && overPrograms.MatchString(mount.MountPath):
		return []answer.Fix{h.specFix(fmt.Sprintf("mount file by file: %s %s at %s covers the whole folder, and hides what the image has there (%s, if it has no such key): mount each of its keys with subPath, or add the others to it", kind, name, mount.MountPath, key)).As(answer.StepMountFiles, nil)}
	case knowledge.NoFile.In(said):
		return []answer.Fix{kubectl.Inspect(fmt.Sprintf("see whether %s %s, mounted at %s, has %s", kind, name, mount.MountPath, key), h.kubectl("describe %s %s", strings.ToLower(kind), name))}
	}
	if mode := defaultMode(volume); mode != nil && *mode&0o004 == 0 && knowledge.NotOpened.In(said) {
		return []answer.Fix{h.specFix(fmt.Sprintf("let its user read %s: volume %s has defaultMode %04o, so that root alone may, and many servers give up being root before they read; 0444, or 0440 with the pod's fsGroup", file, volume.Name, *mode)).As(answer.StepAllowUser, nil)}
	}
	return []answer.Fix{kubectl.Edit(fmt.Sprintf("if %s, which its words name, is at fault, correct it: it is %s of %s %s", file, key, kind, name), kind, h.Pod.Namespace, name)}
}

// overPrograms fits folders in which images have configuration of their own.
var overPrograms = regexp.MustCompile(`^/(?:etc|usr|opt|var/lib)/`)

// defaultMode is the mode that a volume's spec gives its files; nil where it gives none.
func defaultMode(volume *v1.Volume) *int32 {
	switch {
	case volume == nil:
	case volume.Secret != nil:
		return volume.Secret.DefaultMode
	case volume.ConfigMap != nil:
		return volume.ConfigMap.DefaultMode
	}
	return nil
}
