package reported

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// Event is what one event told since it was last looked at.
type Event struct {
	UID       types.UID
	Container string // empty: the pod as a whole
	Component string
	Reason    string
	Message   string
	// New is how often it came since the last look, First and Last when the first
	// and the last of these were, in whole seconds. First is zero where it came
	// before the last look.
	New         int64
	First, Last time.Time
}

// Read returns what an event tells as a whole.
func Read(v *v1.Event) Event {
	count, last := max(1, int64(v.Count)), v.LastTimestamp.Time
	if v.Series != nil {
		count, last = int64(v.Series.Count), v.Series.LastObservedTime.Time
	}
	first := v.FirstTimestamp.Time
	for _, t := range []*time.Time{&first, &last} {
		if t.IsZero() {
			*t = v.EventTime.Time
		}
	}
	t := Event{
		UID: v.InvolvedObject.UID, Component: v.Source.Component, Reason: v.Reason, Message: strings.TrimPrefix(v.Message, fact.Combined), New: count,
		First: first.UTC(), Last: last.UTC(),
	}
	if t.Component == "" {
		t.Component = v.ReportingController
	}
	if first.IsZero() {
		t.First = time.Time{}
	}
	if _, path, ok := strings.Cut(v.InvolvedObject.FieldPath, "{"); ok {
		t.Container = strings.TrimSuffix(path, "}")
	}
	return t
}

// setUpStages are the events that tell that a pod could not be set up.
var setUpStages = map[string]string{
	"FailedMount": "volumes", "FailedAttachVolume": "volumes", "FailedMapVolume": "volumes", "FailedCreatePodSandBox": "sandbox", "FailedCreatePodContainer": "cgroup",
}

// Bodies are the facts that an event is, beside the word itself.
func (t Event) Bodies() []fact.Observed {
	said := fact.Said{Component: t.Component, Source: "event", Reason: t.Reason, Message: t.Message}
	if t.New > 1 {
		said.Count = t.New
	}
	bodies := []fact.Observed{said}
	if image, why, ok := pullFailed(t.Message); ok && t.Reason == "Failed" {
		bodies = append(bodies, fact.ImageFailed{Image: image, Reason: "ErrImagePull", Message: why})
	}
	if t.Reason == "SandboxChanged" {
		bodies = append(bodies, fact.SandboxLost{Message: "kubelet says: " + t.Message})
	}
	if stage, ok := setUpStages[t.Reason]; ok {
		bodies = append(bodies, fact.SetUpFailed{Stage: stage, Reason: t.Reason, Message: t.Message})
	}
	return bodies
}

// pullFailed reads `Failed to pull image "IMAGE": WHY`: the status says the same later, and
// not at all where it waits in between (pkg/kubelet/images/image_manager.go).
func pullFailed(message string) (image, why string, ok bool) {
	rest, ok := strings.CutPrefix(message, `Failed to pull image "`)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, `": `)
}
