package level0

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// notConfiguredBy reads a message of CreateContainerConfigError, which stands for a missing
// ConfigMap as well as for a user that may not be root.
func notConfiguredBy(message string) (answer.Cause, bool) {
	if _, ok := words.SubPathVariable(message); ok {
		return answer.VolumeFailed, true
	}
	switch {
	case knowledge.RunsAsRoot.In(message):
		return answer.SecurityRefused, true
	case knowledge.NoSuchKey.In(message), words.VolumeObjectMissing(message):
		return answer.ConfigMissing, true
	case knowledge.Mounting.In(message):
		return answer.VolumeFailed, true
	}
	return "", false
}

// notRunBy reads what the runtime says of a container that it could not create or run: a
// file that was not found is its program's only where it says that it tried to run it.
func notRunBy(pod *v1.Pod, k *v1.Container, message string) (answer.Cause, bool) {
	mounts := func(m v1.VolumeMount) bool { return strings.Contains(message, `"`+m.MountPath+`"`) }
	switch {
	case strings.Contains(message, `exec: "`) && knowledge.NoProgram.In(message), knowledge.ExecFormat.In(message), knowledge.WorkingDirectory.In(message):
		return answer.AppStartFailed, true
	case knowledge.InitOOM.In(message) && (k == nil || !slices.ContainsFunc(k.VolumeMounts, func(m v1.VolumeMount) bool { return inMemory(pod, m.Name) })):
		return answer.MemoryLimit, true
	case knowledge.SecurityModule.In(message):
		return answer.SecurityRefused, true
	case knowledge.Mounting.In(message) && k != nil && slices.ContainsFunc(k.VolumeMounts, mounts):
		return answer.VolumeFailed, true
	}
	return "", false
}

// inMemory says whether a volume of a pod is kept in memory.
func inMemory(pod *v1.Pod, volume string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(vol v1.Volume) bool {
		return vol.Name == volume && vol.EmptyDir != nil && vol.EmptyDir.Medium == v1.StorageMediumMemory
	})
}

// noImageBy reads what registries say, as the runtime hands it on. An unreachable one was
// asked nothing. The image's own name says nothing.
func noImageBy(image, reason, message string) (answer.Cause, bool) {
	name, _, _ := strings.Cut(image, "@")
	message = strings.ReplaceAll(message, name, "IMAGE")
	switch {
	case reason == "ErrImageNeverPull":
		return answer.ImagePolicyNever, true
	case reason == "InvalidImageName":
		return answer.ImageNotFound, true
	case knowledge.RegistryAway.In(message):
		return answer.ImageRegistryUnreachable, !knowledge.NotAuthorized.In(message)
	case knowledge.NotAuthorized.In(message):
		return answer.ImageUnauthorized, true
	case knowledge.NoSuchImage.In(message) && !knowledge.NotThatImage.In(message), strings.Contains(message, "no match for platform"):
		return answer.ImageNotFound, true
	}
	return "", false
}

// complaint is what the last words of a process say of what it lacked. Without a cause
// they leave open whether it ended for want of it; Possible is the cause then.
type complaint struct {
	cause, possible answer.Cause
	text            string
}

// spokenLines is how far back words may bear on an end.
const spokenLines = 4

// complains reads the last few lines of a log: the one that says most of why the process
// ended, or else one that tells of something that it lacked, which it may have got over.
func (c *podCase) complains(k *v1.Container, lines []string) (complaint, bool) {
	telling := words.Read(lines).Primary()
	open, found, looked := complaint{}, false, 0
	for i, line := range slices.Backward(lines) {
		if strings.TrimSpace(line) == "" || i > 0 && logline.IsFrame(lines[i-1], line) {
			continue
		}
		if of, ok := c.lacked(k, line); ok {
			if i == telling {
				return of, true
			}
			if !found {
				open, found = complaint{possible: cmp.Or(of.cause, of.possible), text: of.text}, true
			}
		}
		if looked++; looked == spokenLines {
			break
		}
	}
	return open, found
}

// lacked reads one line.
func (c *podCase) lacked(k *v1.Container, line string) (complaint, bool) {
	if what, where, ok := words.Unreached(line); ok {
		text := "that it could not reach something that it needs (" + what + ")"
		if where != "" {
			text = fmt.Sprintf("that it could not reach %s, which it needs (%s)", where, what)
		}
		return complaint{cause: answer.DependencyDown, text: text}, true
	}
	refused := complaint{possible: answer.SecurityRefused, text: "that it was refused something"}
	switch {
	case knowledge.PortUsed.In(line):
		return complaint{cause: answer.AppExitError, text: "that the port that it wants is taken"}, true
	case knowledge.NoSpace.In(line):
		return complaint{cause: answer.DiskFull, text: "that a disk has no room left"}, true
	case knowledge.NoMemory.In(line) && !words.NoFork(line):
		return complaint{cause: answer.AppExitError, text: "that it could get no more memory: by the runtime's word there was no OOM kill, so it is not the container's limit that ended it"}, true
	case words.NoFork(line):
		return complaint{cause: answer.ProcessLimit, text: "that it could make no process"}, true
	case knowledge.Any(line, knowledge.ReadOnly, knowledge.NoTemporary):
		refused.text = "that it could not write"
		if context := k.SecurityContext; context != nil && context.ReadOnlyRootFilesystem != nil && *context.ReadOnlyRootFilesystem {
			refused.cause = answer.SecurityRefused
		}
		return refused, true
	case knowledge.Refused.In(line):
		if c.fewerRights(k) {
			refused.cause = answer.SecurityRefused
		}
		if user := c.userOf(k); user != nil {
			refused.text += fmt.Sprintf(" (it runs as user %d)", *user)
		}
		return refused, true
	}
	return complaint{}, false
}

// userOf is the user that the spec has a container run as; nil where its image says that.
func (c *podCase) userOf(k *v1.Container) *int64 {
	if own := k.SecurityContext; own != nil && own.RunAsUser != nil {
		return own.RunAsUser
	}
	if pod := c.Pod.Spec.SecurityContext; pod != nil {
		return pod.RunAsUser
	}
	return nil
}

// fewerRights says whether a container has less than its image may have been made for.
func (c *podCase) fewerRights(k *v1.Container) bool {
	user, own := c.userOf(k), k.SecurityContext
	return user != nil && *user != 0 || own != nil && own.Capabilities != nil && len(own.Capabilities.Drop) > 0
}

// short cuts a message to what a person reads.
func short(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if runes := []rune(message); len(runes) > 300 {
		return string(runes[:300]) + "…"
	}
	return message
}
