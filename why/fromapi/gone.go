package fromapi

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/observe/reported"
	"whylet.dev/whylet/shadow"
	"whylet.dev/whylet/why/answer"
)

// Departed returns the answer about a pod that does not exist any more, by the events that are left of
// its namespace: they are kept for an hour. ok is false where none is about it.
func Departed(namespace, name string, events []v1.Event, now time.Time, asked Asked) (a answer.Answer, ok bool) {
	var uid types.UID
	var newest, known time.Time // of all, and of those with a uid
	for i := range events {
		if of := events[i].InvolvedObject; of.Kind == "Pod" && of.Name == name {
			at := reported.Read(&events[i]).Last
			if of.UID != "" && !at.Before(known) { // an event of a taint's controller has none
				uid, known = of.UID, at
			}
			if !at.Before(newest) {
				newest, ok = at, true
			}
		}
	}
	if !ok {
		return a, false
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}}
	// What is known of it are its name, its containers that events name, and the controller that says that it deleted it.
	d := &teller{Seen: Seen{Pod: pod, Events: events, Now: now}, key: fact.Pod{Namespace: namespace, Name: name, UID: uid}, gone: true}
	d.ownEvents()
	if len(d.events) == 0 {
		return a, false
	}
	d.makers()
	d.containersByEvents()
	d.tell(d.events[0].Last, "", 0, fact.SpecSeen{Object: pod, Source: fact.FromAPI})
	d.containers()
	for _, e := range d.events {
		d.event(e)
		d.ends(e)
	}
	d.leaves(newest)
	asked.Reason += "; of a pod that is gone these are its events of the last hour"
	return explain(d.history(), now, asked), true
}

// Left is a pod that went, as events tell.
type Left struct {
	Namespace, Name string
	UID             types.UID
	Node            string // empty where no kubelet said anything
	Last            time.Time
}

// LeftSince returns the pods that do not exist and of which events tell since a time, the newest first.
func LeftSince(events []*v1.Event, exists func(namespace, name string) bool, since time.Time) []Left {
	by := map[types.UID]Left{}
	for _, e := range events {
		of := e.InvolvedObject
		at := reported.Read(e).Last
		if of.Kind != "Pod" || of.UID == "" || at.Before(since) || exists(of.Namespace, of.Name) {
			continue
		}
		before := by[of.UID]
		by[of.UID] = Left{Namespace: of.Namespace, Name: of.Name, UID: of.UID, Node: cmp.Or(e.Source.Host, before.Node), Last: latest(at, before.Last)}
	}
	return slices.SortedFunc(maps.Values(by), func(a, b Left) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.UID, b.UID)) })
}

// makers reads what a controller and its Deployment say.
func (t *teller) makers() {
	for i := range t.Events {
		e, of := reported.Read(&t.Events[i]), t.Events[i].InvolvedObject
		if e.Reason != fact.DeletedPod || of.Kind == "Pod" || !slices.Contains(strings.Fields(e.Message), t.Pod.Name) {
			continue
		}
		controller := true
		t.Pod.OwnerReferences = []metav1.OwnerReference{{Kind: of.Kind, Name: of.Name, UID: of.UID, Controller: &controller}}
		t.Pod.Labels = map[string]string{"pod-template-hash": of.Name[strings.LastIndexByte(of.Name, '-')+1:]}
		t.deletedAt = e.Last
	}
	t.owners(t.deletedAt)
}

// owners tells what the controller of the pod, and the Deployment of that, say of themselves.
func (t *teller) owners(deleted time.Time) {
	maker := metav1.GetControllerOf(t.Pod)
	if maker == nil {
		return
	}
	_, workload := fact.Workload(t.Pod)
	for i := range t.Events {
		e, of := reported.Read(&t.Events[i]), t.Events[i].InvolvedObject
		own := of.Name == maker.Name && fact.DeletedBy(e.Reason, e.Message, e.Last, t.Pod.Name, deleted)
		if own || of.Kind == "Deployment" && of.Name == workload && e.Reason == fact.ScaledSet {
			t.tell(e.Last, "", 0, fact.Said{Component: e.Component, Source: "event", Reason: e.Reason, Message: e.Message})
		}
	}
}

// containersByEvents makes the status of each container that events name: how often it was started, and when last.
func (t *teller) containersByEvents() {
	for i := range t.Events {
		e := reported.Read(&t.Events[i])
		if !t.own(&t.Events[i]) || e.Container == "" {
			continue
		}
		if t.spec(e.Container) == nil {
			spec := v1.Container{Name: e.Container}
			if strings.Contains(t.Events[i].InvolvedObject.FieldPath, "initContainers") {
				t.Pod.Spec.InitContainers = append(t.Pod.Spec.InitContainers, spec)
			} else {
				t.Pod.Spec.Containers = append(t.Pod.Spec.Containers, spec)
			}
		}
	}
	for _, k := range slices.Concat(t.Pod.Spec.InitContainers, t.Pod.Spec.Containers) {
		var count int64
		var starts []time.Time
		for _, e := range t.events {
			if e.Container == k.Name && e.Reason == "Started" {
				count += e.New
				starts = append(starts, e.First, e.Last)
			}
		}
		starts = slices.DeleteFunc(starts, time.Time.IsZero)
		if len(starts) == 0 {
			continue
		}
		slices.SortFunc(starts, time.Time.Compare)
		starts = slices.CompactFunc(starts, time.Time.Equal)
		st := v1.ContainerStatus{Name: k.Name, RestartCount: int32(count) - 1}
		newest := starts[len(starts)-1]
		st.State.Running = &v1.ContainerStateRunning{StartedAt: metav1.NewTime(newest)}
		if len(starts) > 1 {
			st.LastTerminationState.Terminated = &v1.ContainerStateTerminated{
				Reason: "ContainerStatusUnknown", StartedAt: metav1.NewTime(starts[len(starts)-2]), FinishedAt: metav1.NewTime(newest),
			}
		}
		t.Pod.Status.ContainerStatuses = append(t.Pod.Status.ContainerStatuses, st)
	}
}

// ends tells of the end of a run that events alone show: nobody knows any more how it went.
func (t *teller) ends(e reported.Event) {
	ordered := e.Reason == shadow.SaidKilling && !strings.HasPrefix(e.Message, "Stopping container ")
	again := e.Reason == "BackOff" && strings.Contains(e.Message, "restarting")
	if strings.HasPrefix(e.Message, string(fact.Readiness)) && e.Reason == "Unhealthy" {
		st := v1.ContainerStatus{Name: e.Container, RestartCount: t.attempt(e, e.Last), State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
		t.tell(e.Last, "", 0, fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{st}}})
	}
	if r, ok := t.run(e.Container, t.attempt(e, e.Last)); ok && r.until.IsZero() && (ordered || again) {
		t.tell(e.Last, e.Container, r.attempt, fact.Exited{Vanished: true})
	}
	if message, failed := strings.CutPrefix(e.Message, "Error: "); failed && e.Reason == "Failed" && !strings.Contains(message, "Pull") {
		reason := "RunContainerError"
		if knowledge.Any(message, knowledge.NoSuchObject, knowledge.NoSuchKey, knowledge.RunsAsRoot) {
			reason = "CreateContainerConfigError"
		}
		t.tell(e.Last, e.Container, t.attempt(e, e.Last), fact.StartFailed{Reason: reason, Message: message})
	}
	if e.Reason == "Evicted" && len(fact.PressuresIn(e.Message)) == 0 {
		t.tell(e.Last, "", 0, fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodFailed, Reason: e.Reason, Message: e.Message}})
	}
}

// leaves tells that the pod went, and of its deletion where somebody said a word of it.
func (t *teller) leaves(newest time.Time) {
	body := fact.DeletionSeen{GraceSeconds: int64(t.grace() / time.Second), Gone: true}
	at, ended := t.deletedAt, false
	for _, e := range t.events {
		switch {
		case e.Reason == "Preempted":
			at, body.Reason = e.Last, e.Reason
		case e.Reason == "TaintManagerEviction":
			at, ended = time.Time{}, true
		case e.Reason == "Evicted", e.Reason == "Preempting", e.Reason == "DeadlineExceeded":
			ended = true
		case e.Reason == shadow.SaidKilling && strings.HasPrefix(e.Message, "Stopping container ") && at.IsZero() && !ended:
			at = cmp.Or(e.First, e.Last)
		}
	}
	if !at.IsZero() && (!ended || body.Reason != "" || !t.deletedAt.IsZero()) {
		t.tell(at, "", 0, body)
		for _, c := range t.Pod.Status.ContainerStatuses {
			t.tell(newest, c.Name, c.RestartCount, fact.Exited{Vanished: true})
		}
	}
	t.tell(newest, "", 0, fact.ObjectGone{})
}
