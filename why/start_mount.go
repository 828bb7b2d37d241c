package why

import (
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// startMount: the runtime cannot mount what it has.
func startMount(c notStarted) *finding {
	if !c.says(knowledge.Mounting) || c.says(knowledge.ExecFailed) {
		return nil
	}
	f := c.finds(answer.VolumeFailed, fair).
		says("A volume could not be mounted into container %s: %s.", c.run.Container, prose.Brief(c.message, kept)).
		fix(c.h.describeFix())
	at, why := words.MountFailed(c.message)
	if at == "" {
		return f
	}
	f.text = fmt.Sprintf("A volume could not be mounted at %s into container %s: %s.", at, c.run.Container, quote(why, kept))
	mount, volume := c.h.volumeOf(c.run.Container, path.Clean(at))
	if volume == nil || mount.MountPath != path.Clean(at) {
		return f
	}
	what := "volume " + volume.Name
	if mount.SubPath != "" {
		what = fmt.Sprintf("subPath %s of %s", mount.SubPath, what)
	}
	f.text = fmt.Sprintf("Container %s does not start, because %s could not be mounted at %s: %s.", c.run.Container, what, at, quote(why, kept))
	if strings.HasPrefix(why, words.NotDirectory) {
		c.misfit(f, what, mount, volume)
	}
	return f
}

// misfit says what is mounted where: one is a directory there, and the other none. The kernel says
// the same of both ways (mount(2), ENOTDIR).
func (c notStarted) misfit(f *finding, what string, mount v1.VolumeMount, volume *v1.Volume) {
	kind, name, items := mounts.Source(volume)
	directory := fmt.Sprintf("Container %s does not start, because a directory is to be mounted at %s, where the image has a file (not a directory): %s.", c.run.Container, mount.MountPath, what)
	within := func(i v1.KeyToPath) bool {
		return i.Path == mount.SubPath || strings.HasPrefix(i.Path, mount.SubPath+"/")
	}
	switch {
	case mount.SubPath == "" && volume.HostPath == nil:
		f.text, f.weight = directory, strong
		fix := "mount it where the image has a directory, or nothing"
		if kind != "" {
			fix = fmt.Sprintf("if one key of %s %s is to be that file, give the mount that key for its subPath; else %s", kind, name, fix)
		}
		f.fixes = []answer.Fix{c.h.specFix(fix)}
	case mount.SubPath == "", kind == "", len(items) > 0 && slices.ContainsFunc(items, within):
		f.because = append(f.because, "One of what is mounted and what the image has there is a directory, and the other is not.")
		f.first(c.h.specFix("mount a file onto a file, or a directory onto a directory; what a volume does not have is made as a directory there"))
	case len(items) > 0:
		f.text, f.weight = directory, strong
		f.because = append(f.because, fmt.Sprintf("What a subPath names and a volume does not have is made as a directory: the items of volume %s have no path %s.", volume.Name, mount.SubPath))
		f.fixes = []answer.Fix{c.h.specFix(fmt.Sprintf("have the subPath name one of the paths that the items of volume %s have, or add %s to them", volume.Name, mount.SubPath))}
	default:
		f.text, f.weight = directory, strong
		f.because = append(f.because, fmt.Sprintf("What a subPath names and a volume does not have is made as a directory: most likely %s %s has no key %s.", kind, name, mount.SubPath))
		f.fixes = []answer.Fix{
			c.h.inspect(fmt.Sprintf("see which keys %s %s has", kind, name), c.h.kubectl("describe %s %s", strings.ToLower(kind), name)),
			c.h.specFix(fmt.Sprintf("have the subPath name a key that it has, or add %s to it and make the pod anew; if it has that key, it is the image that has a directory at %s", mount.SubPath, mount.MountPath)),
		}
	}
}
