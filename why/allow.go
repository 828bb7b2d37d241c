package why

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/words"
)

// refusal fits what an error says of the file that it names before or behind that.
var refusal = regexp.MustCompile(`(?i) denied|accessdeniedexception|read-only file system`)

// topPath fits a path right below the root beside a refusal, relativePath a name that an error has of a file in the working
// directory.
var (
	topPath      = regexp.MustCompile(`(?i)(?:denied:? ['"]?|exception: |\bmkdir\W{1,3}|@ \w+ - |\b(?:open|create|write)\w*(?: \w+)?\W{1,2})(/[\w.@+-]+)(?:$|['"]|\)|: (?:permission|read-only))`)
	relativePath = regexp.MustCompile(`(?i)denied @ \w+ - ([\w.@+-]+(?:/[\w.@+-]+)*)` +
		`|(?:denied|system)(?:: |, \w+ )['"]([\w.@+-]+(?:/[\w.@+-]+)*)['"]` +
		`|\b(?:dir|mkdir|directory|folder) ['"]?([\w.@+-]+(?:/[\w.@+-]+)*)['"]?: (?:permission denied|read-only)` +
		`|\b(?:open|create|write|unlink)\w* ['"]?([\w@+-]*[./\d_-][\w.@+/-]*)['"]?: (?:permission denied|read-only)` +
		`|AccessDeniedException: ([\w.@+-]+(?:/[\w.@+-]+)*)(?:$|[\s:])`)
)

// inCode fits a line of a file, which the program could read, and the path of a request.
var inCode = regexp.MustCompile(`/[^\s:'"]+(?::\d+\b|: line \d+\b)|\b(?:GET|HEAD|POST|PUT|PATCH|DELETE)\W{1,3}/\S*|(?i:\b(?:request to|url|uri|route|endpoint)\W{1,3}/\S*)`)

// pathBeside is the path that fits behind the refusal in words, or else the last before it; empty where there is none.
func pathBeside(said string, fits *regexp.Regexp) string {
	before, after := said, ""
	if at := refusal.FindStringIndex(said); at != nil && at[0] > 0 {
		before, after = said[:at[0]], said[at[0]:]
	}
	m := fits.FindStringSubmatch(after)
	if all := fits.FindAllStringSubmatch(before, -1); m == nil && len(all) > 0 {
		m = all[len(all)-1]
	}
	if m == nil {
		return ""
	}
	return mounts.Clean(strings.TrimRight(m[1], ".-"))
}

// refusedFile is the file or directory that words say they were refused, from the root, or else as a program in an unknown
// working directory names it.
func (h *inquiry) refusedFile(container, said string) string {
	said = inCode.ReplaceAllString(said, "")
	if file := pathBeside(said, aPath); file != "" {
		return file
	}
	if m := topPath.FindStringSubmatch(said); m != nil {
		return mounts.Clean(m[1])
	}
	m := relativePath.FindStringSubmatch(said)
	if m == nil {
		return ""
	}
	name := path.Clean(strings.Join(m[1:], ""))
	if wd := h.spec(container).WorkingDir; wd != "" {
		return path.Join(wd, name)
	}
	return name
}

// refusedPlace is that file, and the directory that the program needs: the one that words call so, or else the file's own.
func (h *inquiry) refusedPlace(container, said string) (file, dir string) {
	file = h.refusedFile(container, said)
	dir = path.Dir(file)
	switch m := aFolder.FindStringSubmatch(said); {
	case m != nil:
		dir = mounts.Clean(m[1])
		if !path.IsAbs(file) {
			file = path.Join(dir, path.Base(file))
		}
	case (dir == "/" || ofMany.MatchString(dir)) && !strings.Contains(path.Base(file), "."):
		dir = file
	}
	return file, dir
}

// naming is the line of a process's last ones that names the file that it was refused: the one that says most, or else the
// last that fits.
func (e ending) naming(said string, fits ...*knowledge.Known) string {
	if file, _ := e.h.refusedPlace(e.run.Container, said); file != "" {
		return said
	}
	for _, line := range slices.Backward(e.saidAtLast()) {
		if knowledge.Any(line, fits...) && e.h.refusedFile(e.run.Container, line) != "" {
			return line
		}
	}
	return said
}

// deniedAt is the folder that words say that they were refused, empty where they name none: the path behind the
// refusal, or else the last before it.
func deniedAt(said string) string {
	if file := pathBeside(said, aPath); file != "" {
		return path.Dir(file)
	}
	return ""
}

// privileged matches a port that takes root or a capability to listen on.
var privileged = regexp.MustCompile(`(?i)\b(?:bind|listen)\w*\b.{0,60}?(?::|\bport )(\d{1,3}|10[01]\d|102[0-3])(?:[^.\d]|$)`)

// systems are folders of an image that nothing is to be mounted over.
var systems = regexp.MustCompile(`^/(?:$|(?:etc|usr|bin|sbin|lib\w*|proc|sys|dev)(?:/|$))`)

// aFolder fits a folder that is called one.
var aFolder = regexp.MustCompile(`(?i)\b(?:dir|directory|folder)\b[ :"'(]{1,3}(/[\w.@+-]+(?:/[\w.@+-]+)*)`)

// changesUser fits what only root may do: to go on as another user.
var changesUser = regexp.MustCompile(`(?i)\bassume identity\b|\bset(?:res)?[ug]id\b|\bsetgroups\b|\binitgroups\b|\b(?:switch|change|drop|set)\w*\b.{0,20}\b(?:user|uid|group|gid|privileges?)\b`)

// ofStreams fits a terminal, and the standard streams of a process.
var ofStreams = regexp.MustCompile(`^/dev/(?:std(?:in|out|err)|fd/|pts/|tty|console)|^/proc/(?:self|\d+)/fd/`)

// mayThen is what lets a container do what it was refused: at a port, or with a file.
func (h *inquiry) mayThen(container, said string) answer.Fix {
	if m := privileged.FindStringSubmatch(said); m != nil {
		return h.specFix(fmt.Sprintf("have it listen on a port above 1023 in place of %s, and set containerPort, probes and the Service's targetPort to that; or add capability NET_BIND_SERVICE, which helps a user other than root only if the program's file has it, too", m[1]))
	}
	if changesUser.MatchString(said) {
		return h.specFix("remove the user switch from its configuration or arguments (it already runs as non-root), or start it as root (runAsUser: 0), which may switch users")
	}
	if add := h.addFixes(h.spec(container), said); add != nil && strings.Contains(said, "Operation not permitted") {
		return add[0]
	}
	if file, at := h.refusedPlace(container, said); file != "" {
		return h.mayOpen(container, file, at, said)
	}
	of := "a volume"
	if own := h.filledBy(h.spec(container)); len(own) > 0 && len(own) <= mostSources {
		of = strings.Join(own, " or ")
	}
	return h.specFix(fmt.Sprintf("find in its log or configuration which file or port was refused; for a file of %s, set %s; for a directory of the image, mount an emptyDir there; for a port, use one above 1023", of, h.groupField(h.spec(container)))).As(answer.StepAllowAny, nil)
}

// ofMany fits folders in which programs have one of their own each.
var ofMany = regexp.MustCompile(`^/(?:var(?:/(?:lib|log|cache|spool))?|opt|srv|home|mnt)$`)

// mayOpen is what lets the user of a container use a file, or a directory.
func (h *inquiry) mayOpen(container, file, at, said string) answer.Fix {
	spec, user := h.spec(container), h.itsUser(container)
	mount, volume := h.volumeOf(container, at)
	var text string
	switch {
	case ofStreams.MatchString(file) && (strings.HasPrefix(file, "/dev/pts/") || strings.HasPrefix(file, "/dev/tty") || file == "/dev/console"):
		text = fmt.Sprintf("set tty: true for container %s: without it there is no terminal %s; or have it log to standard error, or to a file that %s may write", container, file, user)
	case ofStreams.MatchString(file):
		text = fmt.Sprintf("start container %s as the user that it changes to (runAsUser): %s belongs to the user that it starts as; or have it log to a file that this user may write", container, file)
	case volume != nil && (volume.ConfigMap != nil || volume.Secret != nil):
		if fixes := h.fileFixes(spec, file, mount, volume, said); len(fixes) > 0 {
			return fixes[0].As(answer.StepAllowUser, nil)
		}
		text = fmt.Sprintf("have the program write to another volume, such as an emptyDir: volume %s (at %s) is read-only", volume.Name, mount.MountPath)
	case volume != nil:
		return h.giveVolume(spec, volume, " (mounted at "+mount.MountPath+")")
	case !path.IsAbs(file):
		return h.mayOpenHere(spec, file)
	case at == file && path.Dir(file) == "/" && !aFolder.MatchString(said):
		text = fmt.Sprintf("mount an emptyDir at %s, or a claim if it has to outlive the pod: in / only root may make it", file)
	case strings.HasPrefix(at, "/dev") || strings.HasPrefix(at, "/proc") || strings.HasPrefix(at, "/sys"):
		text = fmt.Sprintf("%s belongs to the node: give it to container %s with the device plugin that offers it, or with privileged: true, which gives access to the whole node", file, container)
	case systems.MatchString(at):
		text = fmt.Sprintf("let %s use %s, which is part of the image and belongs to root: have the program use a path in a volume instead, or use an image that is made for this user", user, file)
	default:
		text = fmt.Sprintf("let %s write to %s, which is part of the image: mount an emptyDir there (which hides what the image has in it), have the program write elsewhere, or use an image that is made for this user", user, at)
	}
	return h.specFix(text).As(answer.StepAllowUser, nil)
}

// mayOpenHere is the same for a file that is named from a working directory that the spec does not tell.
func (h *inquiry) mayOpenHere(spec *v1.Container, file string) answer.Fix {
	own := h.filledBy(spec)
	text := fmt.Sprintf("let %s use %s, which is relative to its working directory: ", h.itsUser(spec.Name), file)
	if len(own) == 1 {
		text += fmt.Sprintf("if that is in %s, give it %s; ", own[0], h.groupField(spec))
	}
	return h.specFix(text+"if it is part of the image, set workingDir to a directory of a volume that it may write, such as an emptyDir, or have its configuration name a path there").As(answer.StepAllowUser, nil)
}

// filledBy are the volumes of a container that containers fill, and where they are mounted.
func (h *inquiry) filledBy(spec *v1.Container) (all []string) {
	for m, v := range h.mounted(spec.Name) {
		if v.EmptyDir != nil || v.PersistentVolumeClaim != nil || v.HostPath != nil {
			all = append(all, fmt.Sprintf("volume %s (at %s)", v.Name, m.MountPath))
		}
	}
	return all
}

// itsUser names the user that a container runs as, as far as its spec tells.
func (h *inquiry) itsUser(container string) string {
	if user := h.userOf(h.spec(container)); user != 0 {
		return fmt.Sprintf("user %d", user)
	}
	return "its user"
}

// groupField is the field of a pod that gives its volumes to the group of a container's user.
func (h *inquiry) groupField(spec *v1.Container) string {
	pod, _ := h.contexts(spec)
	group := " (the group of its user)"
	if user := h.userOf(spec); pod.FSGroup != nil || user != 0 {
		group = fmt.Sprintf(": %d", ptr.Deref(pod.FSGroup, user))
	}
	return fmt.Sprintf("fsGroup%s in the pod's securityContext", group)
}

// giveVolume lets the user of a container write to a volume. Kubelet changes no owner of a hostPath.
func (h *inquiry) giveVolume(spec *v1.Container, volume *v1.Volume, what string) answer.Fix {
	pod, _ := h.contexts(spec)
	once := "change its owner once in an init container that runs as root (chown -R)"
	text := fmt.Sprintf("give %s volume %s%s: ", h.itsUser(spec.Name), volume.Name, what)
	switch {
	case volume.HostPath != nil:
		text += fmt.Sprintf("%s, or on the node, where it is %s; fsGroup does nothing for a hostPath", once, volume.HostPath.Path)
	case pod.FSGroup != nil:
		text += fmt.Sprintf("%s; the pod's fsGroup (%d) alone is not enough", once, *pod.FSGroup)
	default:
		text += fmt.Sprintf("set %s, or %s", h.groupField(spec), once)
	}
	return h.specFix(text).As(answer.StepAllowUser, nil)
}

// letWrite is what to do for a program whose root file system is read-only. Nothing can be mounted at / itself.
func (h *inquiry) letWrite(container, said string) answer.Fix {
	file, at := h.refusedPlace(container, said)
	const orNot = "; or set readOnlyRootFilesystem to false"
	const next = "; another directory may fail next (often /tmp, /run or a cache): mount one there, too"
	_, volume := h.volumeOf(container, file)
	switch {
	case knowledge.NoTemporary.In(said) && !knowledge.ReadOnly.In(said):
		return h.specFix("mount an emptyDir at /tmp" + orNot)
	case file == "" || volume != nil || strings.HasPrefix(at, "/proc") || strings.HasPrefix(at, "/sys") || strings.HasPrefix(at, "/dev"):
		return h.specFix("mount an emptyDir at the directory that it writes to (if that is / itself: have it write to /tmp, and mount one there)" + orNot)
	case !path.IsAbs(file):
		return h.specFix(fmt.Sprintf("mount an emptyDir at its working directory, to which %s is relative; or have its configuration name a path in a volume%s", file, orNot))
	case at == "/":
		return h.specFix(fmt.Sprintf("have it write %s to /tmp in place of /, and mount an emptyDir there%s%s", path.Base(file), next, orNot))
	case systems.MatchString(at):
		return h.specFix(fmt.Sprintf("have it write elsewhere than to %s, such as to an emptyDir; or have an init container copy what the image has at %s into one that is mounted there%s%s", file, at, next, orNot))
	}
	return h.specFix(fmt.Sprintf("mount an emptyDir at %s%s%s", at, next, orNot))
}

// toStart are the capabilities that servers need that begin as root and go on as another user.
var toStart = []string{"CHOWN", "SETGID", "SETUID"}

// addFix has a capability added to a container. A program that is refused one of those that it needs to start is refused
// the others next; and a process of another user than root has none of them.
func (h *inquiry) addFix(c *v1.Container, capability string) answer.Fix {
	all, more, starts := []string{capability}, "", slices.Contains(toStart, capability)
	if starts && !h.IsInit(c.Name) {
		for _, other := range toStart {
			if other != capability && !gives(c, other) {
				all = append(all, other)
			}
		}
		if !gives(c, "NET_BIND_SERVICE") {
			more = ", and NET_BIND_SERVICE for a port below 1024"
		}
	}
	text := fmt.Sprintf("add capability %s to the container (securityContext.capabilities.add)", capability)
	if len(all) > 1 || more != "" {
		text = fmt.Sprintf("add to container %s under securityContext.capabilities.add: [%s]%s (a server that begins as root needs them one after the other)", c.Name, strings.Join(all, ", "), more)
	}
	if user := h.userOf(c); user != 0 && starts {
		text += fmt.Sprintf(" and have it begin as root (runAsUser: 0): user %d gets none of them", user)
	}
	switch {
	case starts && h.IsInit(c.Name):
		text += fmt.Sprintf("; or remove it and set %s, which gives volumes to that group", h.groupField(c))
	case starts:
		text += "; or have it run as its own user from the start (runAsUser), without that step"
	default:
		text += "; or configure the program so that it does not need that"
	}
	return h.specFix(text)
}

// addFixes name the capability that what was refused needs (capabilities(7)), where the
// container's security context drops it.
func (h *inquiry) addFixes(c *v1.Container, said string) []answer.Fix {
	needs := words.NeededCapability(said)
	if needs == "" || c.SecurityContext == nil || c.SecurityContext.Capabilities == nil {
		return nil
	}
	dropped := func(d v1.Capability) bool { return d == "ALL" || string(d) == needs }
	if !slices.ContainsFunc(c.SecurityContext.Capabilities.Drop, dropped) {
		return nil
	}
	return []answer.Fix{h.addFix(c, needs)}
}
