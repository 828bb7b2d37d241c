package report

import (
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/kubelet/events"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
)

// event is a Kubernetes event about a pod, or about one container of it.
type event struct {
	kind, reason, message, container string
}

func normal(reason, format string, args ...any) event {
	return event{kind: v1.EventTypeNormal, reason: reason, message: fmt.Sprintf(format, args...)}
}

func warning(reason, format string, args ...any) event {
	return event{kind: v1.EventTypeWarning, reason: reason, message: fmt.Sprintf(format, args...)}
}

// eventsOf is the view of a fact that the ecosystem knows: the events kubelet
// v1.37 records, in its wording (kuberuntime/kuberuntime_container.go,
// images/image_manager.go, prober/prober.go). Most facts have none.
func eventsOf(pod *v1.Pod, f fact.Fact) []event {
	var found []event
	switch b := f.Body.(type) {
	case fact.ImagePulling, fact.ImageReady, fact.ImageFailed:
		found = imageEvents(b)
	case fact.Created:
		found = []event{normal(events.CreatedContainer, "Container created")}
	case fact.Started:
		if !b.Adopted {
			found = []event{normal(events.StartedContainer, "Container started")}
		}
	case fact.StartFailed:
		if b.Reason == cri.ReasonCalledOff {
			return nil
		}
		found = []event{warning(events.FailedToCreateContainer, "Error: %s", b.Message)}
	case fact.HookRan:
		if b.Error != "" {
			found = []event{warning("Failed"+string(b.Hook)+"Hook", "%sHook failed", b.Hook)}
		}
	case fact.Probed:
		found = probeEvents(b)
	case fact.Kill:
		found = []event{normal(events.KillingContainer, "%s", b.Message)}
	case fact.BackOff:
		found = backOffEvents(pod, f.Container, b)
	default:
		found = podEvents(pod, f)
	}
	for i := range found {
		found[i].container = f.Container
	}
	return found
}

func imageEvents(body fact.Body) []event {
	switch b := body.(type) {
	case fact.ImagePulling:
		return []event{normal(events.PullingImage, "Pulling image %q", b.Image)}
	case fact.ImageReady:
		if b.Present {
			return []event{normal(events.PulledImage, "Container image %q already present on machine and can be accessed by the pod", b.Image)}
		}
		return []event{normal(events.PulledImage, "Successfully pulled image %q in %v (%v including waiting). Image size: %v bytes.",
			b.Image, b.Took, b.Waited, b.Bytes)}
	case fact.ImageFailed:
		return imageFailedEvents(b)
	}
	return nil
}

func imageFailedEvents(b fact.ImageFailed) []event {
	outcome := warning(events.FailedToCreateContainer, "Error: %s", b.Reason)
	switch b.Reason {
	case "ErrImageNeverPull":
		return []event{warning(events.ErrImageNeverPullPolicy, "%s", b.Message), outcome}
	case "InvalidImageName", "ImageInspectError":
		return []event{warning(events.FailedToInspectImage, "%s", b.Message), outcome}
	}
	return []event{warning(events.FailedToPullImage, "Failed to pull image %q: %s", b.Image, b.Message), outcome}
}

func probeEvents(b fact.Probed) []event {
	switch b.Verdict {
	case fact.Failure:
		return []event{warning(events.ContainerUnhealthy, "%s probe failed: %s", b.Probe, b.Message)}
	case fact.Unknown:
		return []event{warning(events.ContainerUnhealthy, "%s probe errored and resulted in unknown state: %s", b.Probe, b.Message)}
	case fact.Warning:
		return []event{warning(events.ContainerProbeWarning, "%s probe warning: %s", b.Probe, b.Message)}
	}
	return nil
}

func backOffEvents(pod *v1.Pod, container string, b fact.BackOff) []event {
	switch b.What {
	case fact.BackOffContainer:
		return []event{warning(events.BackOffStartContainer, "Back-off restarting failed container %s in pod %s_%s(%s)",
			container, pod.Name, pod.Namespace, pod.UID)}
	case fact.BackOffImage:
		// The decision names the image, which may be a volume's, and says more after it.
		pulling, _, _ := strings.Cut(b.Message, ": ")
		return []event{
			normal(events.BackOffPullImage, "%s", pulling),
			warning(events.FailedToCreateContainer, "Error: ImagePullBackOff"),
		}
	}
	return nil
}

func podEvents(pod *v1.Pod, f fact.Fact) []event {
	switch b := f.Body.(type) {
	case fact.SetUpFailed:
		return []event{warning(b.Reason, "%s", b.Message)}
	case fact.Refused:
		return []event{warning(b.Reason, "%s", b.Message)}
	case fact.SetUp:
		// Not at its loss: every sandbox is lost in the end, when the node takes it away.
		if b.Attempt > 0 {
			return []event{normal(events.SandboxChanged, "Pod sandbox changed, it will be killed and re-created.")}
		}
	case fact.KillFailed:
		return []event{warning(events.FailedToKillPod, "error killing pod: %s", b.Message)}
	case fact.Evict:
		return []event{warning(b.Reason, "%s", b.Message)}
	case fact.SetCondition:
		return resizeEvents(pod, b.Condition)
	case fact.SetPhase:
		if b.Reason == "DeadlineExceeded" {
			return []event{normal(b.Reason, "%s", b.Message)}
		}
	}
	return nil
}

// resizeEvents tells of a resize in place what its conditions say, as kubelet's
// allocation manager and sync loop do.
func resizeEvents(pod *v1.Pod, c v1.PodCondition) []event {
	log, generation := logr.Discard(), c.ObservedGeneration
	switch {
	case c.Type == v1.PodResizePending && c.Status == v1.ConditionTrue:
		return []event{warning("Resize"+c.Reason, "%s", events.PodResizePendingMsg(log, pod, c.Reason, c.Message, generation))}
	case c.Type != v1.PodResizeInProgress:
	case c.Reason == v1.PodReasonError:
		return []event{warning(events.ResizeError, "%s", events.PodResizeErrorMsg(log, pod, generation, c.Message))}
	case c.Reason == fact.ResizeCompleted:
		return []event{normal(events.ResizeCompleted, "%s", events.PodResizeCompletedMsg(log, pod, generation))}
	case c.Status == v1.ConditionTrue:
		return []event{normal(events.ResizeStarted, "%s", events.PodResizeStartedMsg(log, pod, generation))}
	}
	return nil
}

// Events posts the events of facts: kubelet's, and those that it has not. It never
// blocks, and is safe for concurrent use.
type Events struct {
	delayed delayedRecorder
	extra   eventLimiter
}

// NewEvents makes Events that are posted by a recorder.
func NewEvents(recorder poster) *Events { return &Events{delayed: delayedRecorder{recorder: recorder}} }

// Announce posts the events of a fact, a little later.
func (e *Events) Announce(pod *v1.Pod, f fact.Fact) { recordEvents(&e.delayed, &e.extra, pod, f) }

// Flush posts what waits.
func (e *Events) Flush() { e.delayed.flush() }

// poster is what is needed of an event recorder.
type poster interface {
	Event(object runtime.Object, kind, reason, message string)
}

// recordEvents posts the events of a fact: kubelet's, and those that it has not.
func recordEvents(recorder poster, extra *eventLimiter, pod *v1.Pod, f fact.Fact) {
	for _, e := range eventsOf(pod, f) {
		recorder.Event(Reference(pod, e.container), e.kind, e.reason, e.message)
	}
	for _, e := range extraEvents(pod, f) {
		e.container = f.Container
		if extra.worth(pod, e) {
			recorder.Event(Reference(pod, e.container), e.kind, e.reason, e.message)
		}
	}
}

// Reference names a pod, or a container of it as kubelet does:
// spec.containers{name}.
func Reference(pod *v1.Pod, container string) *v1.ObjectReference {
	ref := &v1.ObjectReference{
		Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name,
		UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}
	if container != "" {
		ref.FieldPath = fieldPath(pod, container)
	}
	return ref
}

func fieldPath(pod *v1.Pod, container string) string {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == container {
			return "spec.initContainers{" + container + "}"
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if pod.Spec.EphemeralContainers[i].Name == container {
			return "spec.ephemeralContainers{" + container + "}"
		}
	}
	return "spec.containers{" + container + "}"
}
