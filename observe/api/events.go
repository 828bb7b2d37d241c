package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// Told is what one event told since it was last looked at.
type Told struct {
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

// Events reads the events about pods, each time what is new. It is the weakest of all
// sources: kubelet gives up on events beyond 25 and one in five minutes a pod
// (k8s.io/client-go/tools/record/events_cache.go). Not safe for concurrent use.
type Events struct {
	Client *Client
	// counts are those told of, by the event's UID.
	counts map[types.UID]int64
}

// mostEvents bounds one look, mostCounts what is remembered of events.
const (
	mostEvents = 200
	mostCounts = 10000
)

// Look reads the events of one pod, oldest first.
func (e *Events) Look(ctx context.Context, namespace string, uid types.UID) ([]Told, error) {
	list, err := e.list(ctx, namespace, fields.Set{"involvedObject.uid": string(uid)})
	if err != nil {
		return nil, fmt.Errorf("events of pod %s: %w", uid, err)
	}
	if e.counts == nil || len(e.counts) > mostCounts {
		e.counts = map[types.UID]int64{}
	}
	var all []Told
	for i := range list {
		if t, ok := e.fresh(&list[i]); ok {
			all = append(all, t)
		}
	}
	return all, nil
}

// Deletions reads what a controller says of the pods that it deleted, all of it.
func (e *Events) Deletions(ctx context.Context, namespace string, controller types.UID) ([]Told, error) {
	list, err := e.list(ctx, namespace, fields.Set{"involvedObject.uid": string(controller), "reason": fact.DeletedPod})
	return told(list), err
}

// Scalings reads what a Deployment says of its ReplicaSets, all of it.
func (e *Events) Scalings(ctx context.Context, namespace, deployment string) ([]Told, error) {
	list, err := e.list(ctx, namespace, fields.Set{"involvedObject.kind": "Deployment", "involvedObject.name": deployment, "reason": fact.ScaledSet})
	return told(list), err
}

func (e *Events) list(ctx context.Context, namespace string, which fields.Set) ([]v1.Event, error) {
	var list v1.EventList
	err := e.Client.rest.Get().Namespace(namespace).Resource("events").Param("fieldSelector", which.AsSelector().String()).
		Param("limit", fmt.Sprint(mostEvents)).Do(ctx).Into(&list)
	return list.Items, err
}

func told(list []v1.Event) []Told {
	var all []Told
	for i := range list {
		all = append(all, toldBy(&list[i]))
	}
	return all
}

// fresh is what an event tells that it did not tell before.
func (e *Events) fresh(v *v1.Event) (Told, bool) {
	t, was := toldBy(v), e.counts[v.UID]
	if t.New <= was {
		return Told{}, false
	}
	e.counts[v.UID] = t.New
	if t.New -= was; was > 0 {
		t.First = time.Time{}
	}
	return t, true
}

// toldBy is what an event tells as a whole.
func toldBy(v *v1.Event) Told {
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
	t := Told{
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
func (t Told) Bodies() []fact.Observed {
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
