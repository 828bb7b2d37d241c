package ask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/fromapi"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/serve"
)

// absent says why a node cannot be asked at all: nobody on it answers such questions, or
// the asker may not ask. ok is false for other errors, and for a node that answered.
func (q *question) absent(node string, err error) (reason string, ok bool) {
	if reason, ok = whyAbsent(node, err); ok {
		q.unheard(node)
	}
	return reason, ok
}

// unheard tells that nobody on a node could be asked.
func (q *question) unheard(node string) {
	if q.options.Unheard != nil {
		q.options.Unheard(node)
	}
}

func whyAbsent(node string, err error) (reason string, ok bool) {
	var away *AwayError
	switch {
	case errors.As(err, &away):
		return away.Reason, true
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("you may not ask node %s (get on nodes/proxy)", node), true
	// What a kubelet says of a path that it does not serve (net/http, NotFound), or a
	// proxy before it.
	case apierrors.IsNotFound(err) && !strings.Contains(err.Error(), (&serve.NotKnownError{}).Error()):
		return fmt.Sprintf("no agent on node %s answered", node), true
	}
	return "", false
}

// fromAPI answers from what the API server shows.
func (q *question) fromAPI(ctx context.Context, pod *v1.Pod, events []v1.Event, reason string) answer.Answer {
	ended, running := q.logs(ctx, pod)
	if pod.DeletionTimestamp != nil {
		events = slices.Concat(events, q.eventsOfMakers(ctx, pod))
	}
	s := fromapi.Seen{Pod: pod, Events: events, Ended: ended, Running: running, Changed: q.changed(ctx, pod), Configs: q.configs(ctx, pod), Images: q.images(ctx, pod), Now: q.now()}
	return fromapi.Explain(s, q.aboutPod(reason))
}

// aboutPod is what is asked about a pod, where nobody on its node was asked for a reason.
func (q *question) aboutPod(reason string) fromapi.Asked {
	o := fromapi.Asked{Container: q.options.Container, Reason: reason}
	if q.options.Since > 0 {
		o.Since = q.now().Add(-q.options.Since)
	}
	return o
}

// eventsOf are the events about a pod; none where they may not be read.
func (q *question) eventsOf(ctx context.Context, pod *v1.Pod) []v1.Event {
	return q.events(ctx, pod.Namespace, fields.Set{"involvedObject.uid": string(pod.UID)})
}

// eventsOfMakers are those about the controller of a pod, and about its Deployment.
func (q *question) eventsOfMakers(ctx context.Context, pod *v1.Pod) (all []v1.Event) {
	maker := metav1.GetControllerOf(pod)
	if maker == nil {
		return nil
	}
	names := []string{maker.Name}
	if kind, name := fact.Workload(pod); kind == "Deployment" {
		names = append(names, name)
	}
	for _, name := range names {
		all = append(all, q.events(ctx, pod.Namespace, fields.Set{"involvedObject.name": name})...)
	}
	return all
}

// changed is when the ConfigMaps that a pod reads were changed last; one that may not be
// read is left out, and so are all of a pod that is well.
func (q *question) changed(ctx context.Context, pod *v1.Pod) map[string]time.Time {
	if settled(pod) {
		return map[string]time.Time{}
	}
	return q.configChanges(ctx, pod)
}

// configs are the keys of the ConfigMaps that a pod reads; none of a pod that is well.
func (q *question) configs(ctx context.Context, pod *v1.Pod) (all []history.Config) {
	if settled(pod) || q.options.AtDoor {
		return nil
	}
	for _, c := range q.configMaps(ctx, pod) {
		for _, key := range slices.Sorted(maps.Keys(c.Data)) {
			all = append(all, history.Config{Map: c.Name, Key: key, Text: c.Data[key]})
		}
	}
	return all
}

// configChanges says when the ConfigMaps that a pod's containers read were changed last, with the asker's own rights.
func (q *question) configChanges(ctx context.Context, pod *v1.Pod) map[string]time.Time {
	all := map[string]time.Time{}
	if q.options.AtDoor {
		return all
	}
	for _, name := range fromapi.ConfigMaps(pod) {
		of, err := oneOf[v1.ConfigMap](ctx, q, pod.Namespace, name)
		if err != nil {
			continue
		}
		for _, f := range of.ManagedFields {
			if f.Time != nil && f.Time.After(all[name]) {
				all[name] = f.Time.Time
			}
		}
	}
	return all
}

// settled says whether a pod's containers run and are ready, as they were started first.
func settled(pod *v1.Pod) bool {
	all := pod.Status.ContainerStatuses
	return len(all) > 0 && !slices.ContainsFunc(all, func(st v1.ContainerStatus) bool { return !st.Ready || st.RestartCount > 0 })
}

// images are those that the node of a pod has that lacks one; none where nodes may not be
// read.
func (q *question) images(ctx context.Context, pod *v1.Pod) []v1.ContainerImage {
	waits := func(st v1.ContainerStatus) bool {
		return st.State.Waiting != nil && strings.Contains(st.State.Waiting.Reason, "Image")
	}
	if !slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), waits) {
		return nil
	}
	node, err := oneOf[v1.Node](ctx, q, "", pod.Spec.NodeName)
	if err != nil {
		return nil
	}
	return node.Status.Images
}

// lastLines and lastBytes are how much of the end of a log is read.
const lastLines, lastBytes = 80, 28 << 10

// logs are the last lines of containers that ended, of the run that did, and of those
// that run and are not ready. A log that cannot be read leaves its container out.
func (q *question) logs(ctx context.Context, pod *v1.Pod) (ended, running map[string]why.Log) {
	ended, running = map[string]why.Log{}, map[string]why.Log{}
	for _, st := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		t, over := st.LastTerminationState.Terminated, st.State.Terminated != nil
		if over {
			t = st.State.Terminated
		}
		if t != nil {
			if lines, ok := q.lastOf(ctx, pod, st.Name, t, !over); ok {
				ended[st.Name] = lines
			}
		}
		switch {
		case st.State.Running == nil:
		case !st.Ready:
			if lines, ok := q.log(ctx, pod, st.Name, false); ok {
				running[st.Name] = lines
			}
		case q.peer && q.read.allowsOnce("logs of Ready containers", pod.Namespace+"/"+pod.Name+"/"+st.Name, mostPeers):
			if lines, ok := q.lines(ctx, pod, st.Name, false, fewHeard, mostHeardBytes); ok {
				running[st.Name] = lines.Last(lastLines)
			}
		}
	}
	return ended, running
}

// lastOf are the last lines of a run that is over. Which run a log is of, its node decides
// when it is read, and the next may have begun since the status was written: a log that
// begins at another time is another run's, and of one without lines nobody knows.
func (q *question) lastOf(ctx context.Context, pod *v1.Pod, container string, t *v1.ContainerStateTerminated, previous bool) (why.Log, bool) {
	own, ok := q.log(ctx, pod, container, previous)
	if during(own, t) {
		return own, true
	}
	if !previous {
		if before, found := q.log(ctx, pod, container, true); found && during(before, t) {
			return before, true
		}
	}
	return why.Log{}, ok && len(own.Lines) == 0
}

// log are the last lines of a container.
func (q *question) log(ctx context.Context, pod *v1.Pod, container string, previous bool) (why.Log, bool) {
	return q.lines(ctx, pod, container, previous, lastLines, lastBytes)
}

// logTail returns at most the last lines of a container's log, with their times, in at most so many bytes. Kubelet's
// byte limit cuts off the newest lines, so a tail that reaches it is read again with half of the lines.
func logTail(ctx context.Context, client kubernetes.Interface, pod *v1.Pod, container string, previous bool, lines, most int64) ([]byte, error) {
	raw, err := client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &v1.PodLogOptions{Container: container, Previous: previous, Timestamps: true, TailLines: &lines, LimitBytes: &most}).Do(ctx).Raw()
	if err == nil && int64(len(raw)) >= most {
		if lines > 1 {
			return logTail(ctx, client, pod, container, previous, lines/2, most)
		}
		if end := bytes.LastIndexByte(raw, '\n'); end >= 0 {
			raw = raw[:end]
		}
	}
	return raw, err
}

// lines returns the parsed tail of a log; ok is false if it cannot be read.
func (q *question) lines(ctx context.Context, pod *v1.Pod, container string, previous bool, lines, most int64) (why.Log, bool) {
	key := fmt.Sprint("log ", pod.Namespace, "/", pod.Name, " ", container, previous, lines, most)
	raw, err := once(q.read, key, func() ([]byte, error) {
		return logTail(ctx, q.client, pod, container, previous, lines, most)
	})
	// A log that is gone is answered for with these words in its place (kubelet,
	// kuberuntime_container.go, GetContainerLogs).
	if err != nil || strings.HasPrefix(string(raw), "unable to retrieve container logs for ") {
		return why.Log{}, false
	}
	log := why.Log{Container: container}
	for line := range strings.SplitSeq(strings.TrimRight(string(raw), "\n"), "\n") {
		if line == "" {
			continue
		}
		stamp, text, _ := strings.Cut(line, " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			text = line
		}
		log.Lines, log.At = append(log.Lines, text), append(log.At, at)
	}
	return log, true
}

// during says whether a log, which is of one run, begins within a run, of whose times the
// status has whole seconds.
func during(log why.Log, t *v1.ContainerStateTerminated) bool {
	if len(log.At) == 0 {
		return false
	}
	at := log.At[0]
	return at.IsZero() || !at.Before(t.StartedAt.Add(-time.Second)) && at.Before(t.FinishedAt.Add(time.Second))
}

// eachFromAPI answers about some pods from what the API server shows.
func (q *question) eachFromAPI(ctx context.Context, pods []v1.Pod, reason string) []answer.Answer {
	all := make([]answer.Answer, len(pods))
	each(pods, func(i int, pod v1.Pod) { all[i] = q.fromAPI(ctx, &pod, q.eventsOf(ctx, &pod), reason) })
	return all
}

// listOf asks a node about all its pods of a namespace. A node that cannot be asked is
// answered for from the API.
func (q *question) listOf(ctx context.Context, node, space string, pods []v1.Pod) ([]answer.Answer, error) {
	about := q.about("")
	about.Namespace = space
	list, err := fromNode[serve.List](ctx, q, node, about)
	if err == nil {
		return list.Items, nil
	}
	if reason, ok := q.absent(node, err); ok {
		return q.eachFromAPI(ctx, pods, reason), nil
	}
	return nil, err
}
