package ask

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/fromapi"
	"whylet.dev/whylet/why/kubectl"
)

// mostHeard and mostHeardBytes bound what is read of the log of the Ready pod asked about, in which an error may be
// rare: all of a file that kubelet rotates as by default, at 10 MiB. fewHeard is how many lines are read of one beside others.
const mostHeard, mostHeardBytes, fewHeard = 100_000, 10 << 20, 2000

// hear reads the logs of a Ready pod without symptoms, with the asker's own rights, and reports it as Degraded if
// they repeat an error. A front reads none: its agents do, and so does the client.
func (q *question) hear(ctx context.Context, pod *v1.Pod, a *answer.Answer, most int64) {
	if q.options.AtDoor || !cluster.LooksWell(pod) || len(a.Symptoms) != 1 {
		return
	}
	kind, cause := a.Symptoms[0].Kind, a.Verdicts[0].Cause
	if kind != answer.Degraded && (kind != answer.Healthy || cause != answer.None) {
		return
	}
	var logs []why.Log
	for _, st := range pod.Status.ContainerStatuses {
		if st.State.Running == nil || q.options.Container != "" && q.options.Container != st.Name {
			continue
		}
		if log, ok := q.lines(ctx, pod, st.Name, false, most, mostHeardBytes); ok {
			if slices.ContainsFunc(log.At, time.Time.IsZero) {
				log.At = nil
			}
			logs = append(logs, log)
		}
	}
	switch {
	case why.Degrade(a, pod, logs):
		if len(a.Changes) == 0 {
			files := fromapi.ConfigMapFiles(pod)
			for name, at := range q.configChanges(ctx, pod) {
				if at.After(pod.CreationTimestamp.Time) && slices.Contains(files, name) { // variables stay as they were
					a.Changes = append(a.Changes, answer.Changed{At: at, Text: "ConfigMap " + name + " was changed", Object: "ConfigMap", Name: name})
				}
			}
			slices.SortFunc(a.Changes, func(x, y answer.Changed) int { return x.At.Compare(y.At) })
		}
		var read time.Time // zero if it is not known since when
		for _, l := range logs {
			if l.Container == a.Verdicts[0].Container && len(l.At) > 0 {
				read = l.At[0]
			}
		}
		cluster.SinceChange(a, read)
	case kind == answer.Healthy:
		q.noted(ctx, pod, a)
		if most == mostHeard { // it is the pod that was asked about
			why.NoteErrors(a, pod, logs)
		}
	}
}

// noted adds a note to the verdict for each Service without ready endpoints that the pod's configuration names.
// Nothing shows that the pod connects to it.
func (q *question) noted(ctx context.Context, pod *v1.Pod, a *answer.Answer) {
	places := q.configured(ctx, pod)
	if len(places) == 0 {
		return
	}
	pods := whole[v1.Pod](ctx, q, pod.Namespace)
	if pods == nil {
		return
	}
	for _, p := range places[:min(len(places), mostPlaces)] {
		selected := cluster.Selected(p.service, pods)
		if len(p.service.Spec.Selector) == 0 || !cluster.Closed(p.service, selected) {
			continue
		}
		v := &a.Verdicts[0]
		v.Certainty = answer.Unknown
		v.Contributing = append(v.Contributing, answer.Note{
			Cause: answer.DependencyDown,
			Text:  fmt.Sprintf("no error is seen, but %s names Service %s/%s, which has no ready endpoints", p.where, pod.Namespace, p.service.Name),
		})
		v.Fixes = append(v.Fixes, kubectl.Why("see why it has no endpoints", "svc", pod.Namespace, p.service.Name))
	}
}

// mostHeardOf is the maximum number of logs of Ready pods that are read for a question about a namespace.
const mostHeardOf = 30

// heard reads the logs of several Ready pods. Each log of a live cluster is a request, so these are the first pods, at
// most as many as given; a recorded case holds the logs of all.
func (q *question) heard(ctx context.Context, pods []v1.Pod, answers []answer.Answer, most int) {
	if q.options.Now != nil {
		most = len(answers)
	}
	eachPod(pods, answers, most, func(_ *answer.Answer, pod *v1.Pod) bool { return cluster.LooksWell(pod) }, func(a *answer.Answer, pod *v1.Pod) { q.hear(ctx, pod, a, fewHeard) })
}
