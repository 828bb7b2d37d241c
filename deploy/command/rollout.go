package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// rollout waits for the pods of a DaemonSet.
type rollout struct {
	client          kubernetes.Interface
	namespace, name string
	what            string // that becomes ready
	say             func(string, ...any)
}

// wait waits until all pods are ready, or for so long; then it names those that are late,
// with their nodes and why.
func (r rollout) wait(ctx context.Context, within time.Duration) (late []string, err error) {
	told := ""
	var set *appsv1.DaemonSet
	err = wait.PollUntilContextTimeout(ctx, time.Second, within, true, func(ctx context.Context) (bool, error) {
		var err error
		if set, err = r.client.AppsV1().DaemonSets(r.namespace).Get(ctx, r.name, metav1.GetOptions{}); err != nil {
			return false, err
		}
		s := set.Status
		if now := fmt.Sprintf("%s: %d of %d nodes\n", r.what, s.NumberReady, s.DesiredNumberScheduled); now != told && s.ObservedGeneration == set.Generation {
			told = now
			r.say("%s", now)
		}
		return s.ObservedGeneration == set.Generation && s.UpdatedNumberScheduled == s.DesiredNumberScheduled && s.NumberReady == s.DesiredNumberScheduled, nil
	})
	if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return r.late(ctx, set)
}

func (r rollout) late(ctx context.Context, set *appsv1.DaemonSet) ([]string, error) {
	pods, err := r.client.CoreV1().Pods(r.namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(set.Spec.Selector)})
	if err != nil {
		return nil, err
	}
	var late []string
	for i := range pods.Items {
		if reason := notReady(&pods.Items[i]); reason != "" {
			late = append(late, nodeOf(&pods.Items[i])+": "+reason)
		}
	}
	if len(late) == 0 {
		late = []string{fmt.Sprintf("%d of %d, without a pod", set.Status.DesiredNumberScheduled-set.Status.NumberReady, set.Status.DesiredNumberScheduled)}
	}
	return late, nil
}

// nodeOf is the node of a DaemonSet's pod, which is named in its affinity before the
// scheduler has placed it.
func nodeOf(pod *v1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, field := range term.MatchFields {
				if field.Key == "metadata.name" && len(field.Values) == 1 {
					return field.Values[0]
				}
			}
		}
	}
	return pod.Name
}

// notReady says why a pod is not ready; empty for one that is.
func notReady(pod *v1.Pod) string {
	reason := "not ready"
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == v1.PodReady && c.Status == v1.ConditionTrue:
			return ""
		case c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse:
			reason = c.Message
		}
	}
	for _, c := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" {
			reason = strings.TrimSpace(w.Reason + " " + w.Message)
		}
	}
	return reason
}

func lines(all []string) string { return strings.Join(all, "\n  ") }
