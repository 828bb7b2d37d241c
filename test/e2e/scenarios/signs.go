package scenarios

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
)

// signs are what the API has shown of every pod that is or was there: from when on a
// person who looks at it would see that something is amiss, whatever we say of it.
type signs struct {
	lock sync.Mutex
	pods map[string]*sign
}

// sign is what was seen of one pod, by namespace/name.
type sign struct {
	pod     v1.Pod
	deleted bool
	// ready is when it became ready first; zero before.
	ready time.Time
	// warned holds when the last Warning event of each reason was, to the second.
	warned map[string]time.Time
}

// follow reads the cluster's pods and events until ctx ends, anew where its API server was
// killed and started again.
func (s *signs) follow(ctx context.Context, node Cluster) error {
	s.lock.Lock()
	s.pods = map[string]*sign{}
	s.lock.Unlock()
	for _, what := range []string{"pods", "events"} {
		watch := func() (*Stream, error) {
			return node.Stream(ctx, "kubectl", "get", what, "-A", "--watch", "--output-watch-events", "-o", "json")
		}
		stream, err := watch()
		if err != nil {
			return err
		}
		go func() {
			for err == nil {
				s.read(stream)
				err = stream.Close()
				if pause(ctx, 500*time.Millisecond); ctx.Err() != nil {
					return
				}
				stream, err = watch()
			}
		}()
	}
	return nil
}

// read takes in what one watch says, to its end.
func (s *signs) read(from io.Reader) {
	for watch := json.NewDecoder(from); ; {
		var one struct {
			Type   string
			Object json.RawMessage
		}
		var kind struct{ Kind string }
		if watch.Decode(&one) != nil || json.Unmarshal(one.Object, &kind) != nil {
			return
		}
		switch kind.Kind {
		case "Pod":
			var pod v1.Pod
			if json.Unmarshal(one.Object, &pod) == nil {
				s.sawPod(pod, one.Type == "DELETED")
			}
		case "Event":
			var event v1.Event
			if json.Unmarshal(one.Object, &event) == nil && event.Type == v1.EventTypeWarning {
				s.sawWarning(event)
			}
		}
	}
}

func (s *signs) of(namespace, name string) *sign {
	key := namespace + "/" + name
	if s.pods[key] == nil {
		s.pods[key] = &sign{warned: map[string]time.Time{}}
	}
	return s.pods[key]
}

func (s *signs) sawPod(pod v1.Pod, deleted bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	one := s.of(pod.Namespace, pod.Name)
	if one.pod.UID != pod.UID {
		one.ready = time.Time{}
	}
	one.pod, one.deleted = pod, deleted
	if c := condition(pod, v1.PodReady); c.Status == v1.ConditionTrue && one.ready.IsZero() {
		one.ready = c.LastTransitionTime.Time
	}
}

// sawWarning notes an event's time, not that it came: pods and events are read by two
// streams, and what failed while a server started may be told after it was ready.
func (s *signs) sawWarning(event v1.Event) {
	at := event.LastTimestamp.Time
	if at.IsZero() {
		at = event.EventTime.Time
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.of(event.InvolvedObject.Namespace, event.InvolvedObject.Name).warned[event.Reason] = at
}

// shows says whether the API shows the symptom that is expected of a subject. What it
// never shows, such as a Service that leads nowhere, is for the answers to tell.
func (s *signs) shows(namespace, subject string, want Expected) bool {
	kind, name, ok := strings.Cut(subject, "/")
	if !ok {
		return false
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if kind == "pod" {
		one := s.pods[namespace+"/"+name]
		return one != nil && one.shows(want)
	}
	for key, one := range s.pods {
		if strings.HasPrefix(key, namespace+"/"+name+"-") && one.shows(want) {
			return true
		}
	}
	return false
}

// shows says whether the symptom is one that the API shows whenever it is there.
func (e Expected) shows() bool {
	return strings.HasPrefix(e.Subject, "pod/") && slices.Contains([]answer.SymptomKind{answer.Restarted, answer.NotReady, answer.NotStarting, answer.Pending}, e.Symptom)
}

// shows says whether one pod has the symptom.
func (s *sign) shows(want Expected) bool {
	status := s.pod.Status
	warned := func(reason string) bool { return !s.warned[reason].IsZero() }
	switch want.Symptom {
	case answer.Restarted:
		return slices.ContainsFunc(s.containers(want.Container), func(c v1.ContainerStatus) bool {
			done := c.State.Terminated != nil && c.State.Terminated.ExitCode == 0 && s.isInit(c.Name)
			return c.RestartCount > 0 || c.State.Terminated != nil && !done || c.LastTerminationState.Terminated != nil
		})
	case answer.NotReady:
		if s.ready.IsZero() {
			return warned("Unhealthy") && !want.WellFirst && !s.starts(want.Container)
		}
		return s.warned["Unhealthy"].After(s.ready) || condition(s.pod, v1.PodReady).Status == v1.ConditionFalse
	case answer.NotStarting:
		return slices.ContainsFunc(s.containers(""), func(c v1.ContainerStatus) bool {
			return c.State.Waiting != nil && !slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, c.State.Waiting.Reason)
		}) || s.waitsForInit() || warned("FailedMount") || warned("FailedCreatePodSandBox") || warned("Failed")
	case answer.Pending:
		return condition(s.pod, v1.PodScheduled).Status == v1.ConditionFalse
	case answer.Completed:
		return status.Phase == v1.PodSucceeded
	case answer.Failed:
		return status.Phase == v1.PodFailed
	case answer.Evicted:
		return status.Reason == "Evicted"
	case answer.Terminating:
		return s.pod.DeletionTimestamp != nil
	case answer.Disappeared:
		return s.deleted
	case answer.Healthy:
		return want.Cause == answer.None && condition(s.pod, v1.PodReady).Status == v1.ConditionTrue
	}
	return false
}

// initGrace is how long an init container may run before somebody wonders.
const initGrace = 10 * time.Second

// waitsForInit says whether an init container that is to end goes on: kubectl shows Init:0/1,
// and nothing else.
func (s *sign) waitsForInit() bool {
	return slices.ContainsFunc(s.pod.Spec.InitContainers, func(c v1.Container) bool {
		return c.RestartPolicy == nil && slices.ContainsFunc(s.pod.Status.InitContainerStatuses, func(of v1.ContainerStatus) bool {
			return of.Name == c.Name && of.State.Running != nil && time.Since(of.State.Running.StartedAt.Time) > initGrace
		})
	})
}

// starts says whether a container began so lately that its failing probes are no trouble
// yet: kubelet asks at once, and most servers do not listen by then.
func (s *sign) starts(name string) bool {
	return slices.ContainsFunc(s.containers(name), func(c v1.ContainerStatus) bool {
		return c.State.Running != nil && time.Since(c.State.Running.StartedAt.Time) < Grace
	})
}

func (s *sign) isInit(name string) bool {
	return slices.ContainsFunc(s.pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == name })
}

// containers are those of the name, or all of them; a container that is to blame need
// not be one that shows it, so a name that the pod does not have means all, too.
func (s *sign) containers(name string) []v1.ContainerStatus {
	all := slices.Concat(s.pod.Status.InitContainerStatuses, s.pod.Status.ContainerStatuses)
	if i := slices.IndexFunc(all, func(c v1.ContainerStatus) bool { return c.Name == name }); i >= 0 {
		return all[i : i+1]
	}
	return all
}

func condition(pod v1.Pod, kind v1.PodConditionType) v1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1.PodCondition{}
}
