package level0

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// waiting explains why a container waits, by kubelet's reason and its message.
func (c *podCase) waiting(st v1.ContainerStatus) answer.Verdict {
	w := st.State.Waiting
	var v answer.Verdict
	switch w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed":
		v = c.noImage(st)
	case "CreateContainerConfigError":
		v = c.notConfigured(st.Name, w.Message)
	case "CreateContainerError", "RunContainerError":
		v = c.notRun(st.Name, w.Message)
	case "PostStartHookError":
		v = because(answer.HookFailed, "api-hook", st.Name, fmt.Sprintf("The postStart hook of container %s failed: %s.", st.Name, strings.TrimSuffix(short(w.Message), ".")), c.describe())
	case "ContainerCreating", "":
		v = c.creating(st)
	default:
		v = unknown(st.Name, fmt.Sprintf("Container %s waits: %s. %s", st.Name, orNothing(w.Reason), w.Message), "what it waits for", c.describe())
	}
	if len(v.Chain) == 0 && w.Message != "" {
		v.Chain = []answer.Link{link(c.Now, fromStatus, strings.TrimSpace(w.Reason+": "+w.Message))}
	}
	return v
}

// notConfigured reads the message of a CreateContainerConfigError: it stands for a
// missing ConfigMap as well as for a user that may not be root.
func (c *podCase) notConfigured(name, message string) answer.Verdict {
	begins := fmt.Sprintf("Container %s cannot be configured: %s.", name, strings.TrimSuffix(message, "."))
	if cause, ok := notConfiguredBy(message); ok {
		return because(cause, "api-config", name, begins, configFix(cause))
	}
	return unknown(name, begins, "what was missing", c.describe())
}

func configFix(cause answer.Cause) answer.Fix {
	switch cause {
	case answer.SecurityRefused:
		return answer.Fix{Text: "give it a numeric user other than 0 (runAsUser), or an image that has one", Risk: answer.Restarts}
	case answer.ConfigMissing:
		return answer.Fix{Text: "create what is missing, or mark the reference optional; it is tried again by itself", Risk: answer.Safe}
	}
	return answer.Fix{Text: "correct the volume's path", Risk: answer.Restarts}
}

// notRun reads what the runtime says of a container that it could not create or run.
func (c *podCase) notRun(name, message string) answer.Verdict {
	begins := fmt.Sprintf("Container %s could not be started: %s.", name, strings.TrimSuffix(short(message), "."))
	if cause, ok := notRunBy(c.Pod, c.container(name), message); ok {
		return because(cause, "api-runtime-said", name, begins, c.describe())
	}
	v := unknown(name, begins, "what the runtime met", c.describe())
	if knowledge.InitOOM.In(message) {
		v.Possible = []answer.Cause{answer.MemoryLimit, answer.MemoryBackedVolume}
	}
	return v
}

// pullAgain is how old the last attempt to pull an image can be: they are five minutes
// apart at most, and may take as long.
const pullAgain = 10 * time.Minute

// noImage reads why there is no image. "Back-off pulling image" says nothing: the event
// of the attempt does, where it belongs to this wait.
func (c *podCase) noImage(st v1.ContainerStatus) answer.Verdict {
	w := st.State.Waiting
	message := w.Message
	v := answer.Verdict{}
	cause, ok := noImageBy(st.Image, w.Reason, message)
	if !ok {
		if e := c.newestEvent(st.Name, "Failed"); e != nil && strings.Contains(e.Message, st.Image) && c.Now.Sub(last(*e)) < pullAgain {
			message = e.Message
			cause, ok = noImageBy(st.Image, w.Reason, message)
			v.Chain = []answer.Link{link(last(*e), fromEvent, short(e.Message))}
		}
	}
	begins := fmt.Sprintf("The image %s of container %s cannot be had: %s.", st.Image, st.Name, strings.TrimSuffix(short(message), "."))
	if !ok {
		u := unknown(st.Name, begins, "what the registry answered", c.describe())
		u.Chain = v.Chain
		return u
	}
	b := because(cause, "api-image", st.Name, begins, imageFix(cause))
	if k := c.container(st.Name); k != nil && k.ImagePullPolicy == v1.PullAlways && c.onNode(k.Image) {
		b.Text += " The node has that image, and starts nothing of it because imagePullPolicy Always asks the registry each time."
		b.Fixes = append([]answer.Fix{{Text: "set imagePullPolicy to IfNotPresent, to use the image that is on the node", Risk: answer.Restarts}}, b.Fixes...)
	}
	b.Chain = v.Chain
	return b
}

// onNode says whether the node has an image, as far as its status tells: kubelet names the
// fifty largest there, with the registry and the tag that a short name stands for.
func (c *podCase) onNode(image string) bool {
	full := image
	if !strings.Contains(path.Base(full), ":") && !strings.Contains(full, "@") {
		full += ":latest"
	}
	return slices.ContainsFunc(c.Images, func(has v1.ContainerImage) bool {
		return slices.Contains(has.Names, full) || slices.Contains(has.Names, "docker.io/"+full) || slices.Contains(has.Names, "docker.io/library/"+full)
	})
}

func imageFix(cause answer.Cause) answer.Fix {
	switch cause {
	case answer.ImageUnauthorized:
		return answer.Fix{Text: "give the pod an imagePullSecret of this registry; some registries answer so for a name that is wrong, too", Risk: answer.Restarts}
	case answer.ImagePolicyNever:
		return answer.Fix{Text: "load the image onto the node, or set imagePullPolicy: IfNotPresent", Risk: answer.Restarts}
	case answer.ImageRegistryUnreachable:
		return answer.Fix{Text: "see whether the node reaches the registry; it is tried again by itself", Risk: answer.Inspect}
	}
	return answer.Fix{Text: "correct the image's name or tag", Risk: answer.Restarts}
}

// young is how long a container may be created before it is said that something holds it.
const young = 30 * time.Second

// creating is about a container that is being created: events say what holds it, if
// they are of now.
func (c *podCase) creating(st v1.ContainerStatus) answer.Verdict {
	since := started(c.Pod)
	e := c.newestEvent("", "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "FailedMapVolume")
	// Mounts are tried again at least every two minutes and two seconds
	// (k8s.io/kubernetes pkg/util/goroutinemap/exponentialbackoff), and images are pulled
	// after them.
	over := c.newestEvent("", "Pulling", "Pulled", "Created")
	if e != nil && c.Now.Sub(last(*e)) < 3*time.Minute && (over == nil || last(*over).Before(last(*e))) {
		return c.held(st.Name, e)
	}
	if p := c.newestEvent(st.Name, "Pulling"); p != nil {
		if done := c.newestEvent(st.Name, "Pulled", "Failed"); done == nil || last(*done).Before(last(*p)) {
			return unknown(st.Name, fmt.Sprintf("The image of container %s is being pulled, since %s.", st.Name, prose.Span(max(c.Now.Sub(last(*p)), 0))), "how much of it has come")
		}
	}
	if c.Now.Sub(since) < young {
		return unknown(st.Name, fmt.Sprintf("Container %s is being created, since %s.", st.Name, prose.Span(max(c.Now.Sub(since), 0))), "which step it is at")
	}
	return unknown(st.Name, fmt.Sprintf("Container %s is being created, since %s, and no event says what holds it.", st.Name, prose.Span(c.Now.Sub(since))), "which step it is at, and what it waits for", c.describe())
}

// held is about what a container that is created needs, and an event says cannot be had.
func (c *podCase) held(name string, e *v1.Event) answer.Verdict {
	begins := fmt.Sprintf("Container %s cannot be created yet: %s.", name, strings.TrimSuffix(short(e.Message), "."))
	cause, ok := answer.ConfigMissing, words.VolumeObjectMissing(e.Message)
	switch {
	case ok, strings.Contains(e.Message, "not registered"), strings.Contains(e.Message, "timed out waiting"):
		// Kubelet has not heard of an object yet, which may be there.
	case e.Reason == "FailedCreatePodSandBox" && words.NoRuntime(e.Message):
		cause, ok = answer.RuntimeFailed, true
	case e.Reason == "FailedCreatePodSandBox":
		cause, ok = answer.SandboxFailed, true
	case e.Reason == "FailedAttachVolume" || e.Reason == "FailedMapVolume" || strings.Contains(e.Message, "MountVolume"):
		cause, ok = answer.VolumeFailed, true
	}
	v := unknown(name, begins, "which step it is at", c.describe())
	if ok {
		v = because(cause, "api-mount", name, begins, c.describe())
	}
	v.Chain = []answer.Link{link(last(*e), fromEvent, short(e.Message))}
	return v
}
