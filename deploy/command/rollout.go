package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// rollout waits for the pods of a DaemonSet or a Deployment.
type rollout struct {
	client          kubernetes.Interface
	namespace, name string
	what            string // that becomes ready
	say             func(string, ...any)
	// look reads how far it is; [rollout.daemonSet] unless set.
	look func(rollout, context.Context) (progress, error)
	// impatient gives up on pods without an image although others have it.
	impatient bool
	// every is how often it looks; a second unless set.
	every time.Duration
}

// progress is how far a rollout is.
type progress struct {
	// of names the pods.
	of *metav1.LabelSelector
	// seen is false until the controller has looked at the newest spec.
	seen, done  bool
	ready, want int32
}

// wait waits until all pods are ready, or for so long; then it names those that are late,
// with their nodes and why. It gives up earlier where nothing runs and no image can come.
func (r rollout) wait(ctx context.Context, within time.Duration) (late []string, err error) {
	if r.look == nil {
		r.look = rollout.daemonSet
	}
	if r.every == 0 {
		r.every = time.Second
	}
	over := time.After(within)
	ticker := time.NewTicker(r.every)
	defer ticker.Stop()
	told, stuck := "", map[string]bool{}
	for {
		now, err := r.look(r, ctx) // by ctx alone: what ends at our own deadline would tell of that only
		if err != nil || now.done {
			return nil, err
		}
		if line := fmt.Sprintf("%s: %d of %d\n", r.what, now.ready, now.want); now.seen && line != told {
			told = line
			r.say("%s", line)
		}
		pods, err := r.pods(ctx, now.of)
		if err != nil {
			return nil, err
		}
		for _, trouble := range imageTroubles(pods) {
			if !stuck[trouble] {
				stuck[trouble] = true
				r.say("%s: %s\n", r.what, trouble)
			}
		}
		if now.seen && isHopeless(pods, now.want, r.impatient) {
			return latePods(pods, now), nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-over:
			return latePods(pods, now), nil
		case <-ticker.C:
		}
	}
}

func (r rollout) daemonSet(ctx context.Context) (progress, error) {
	set, err := r.client.AppsV1().DaemonSets(r.namespace).Get(ctx, r.name, metav1.GetOptions{})
	if err != nil {
		return progress{}, err
	}
	s := set.Status
	p := progress{of: set.Spec.Selector, seen: s.ObservedGeneration == set.Generation, ready: s.NumberReady, want: s.DesiredNumberScheduled}
	p.done = p.seen && s.UpdatedNumberScheduled == p.want && p.ready == p.want
	return p, nil
}

// deployment is done with one pod that is ready.
func (r rollout) deployment(ctx context.Context) (progress, error) {
	d, err := r.client.AppsV1().Deployments(r.namespace).Get(ctx, r.name, metav1.GetOptions{})
	if err != nil {
		return progress{}, err
	}
	p := progress{of: d.Spec.Selector, seen: d.Status.ObservedGeneration == d.Generation, ready: d.Status.ReadyReplicas, want: 1}
	if d.Spec.Replicas != nil {
		p.want = *d.Spec.Replicas
	}
	p.done = p.seen && p.ready > 0
	return p, nil
}

func (r rollout) pods(ctx context.Context, of *metav1.LabelSelector) ([]v1.Pod, error) {
	list, err := r.client.CoreV1().Pods(r.namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(of)})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(p v1.Pod) bool { return p.DeletionTimestamp != nil }), nil
}

// mostNamed is how many nodes are named of those that are late for the same reason.
const mostNamed = 10

// latePods says why pods are late, each reason once with the nodes on which it is so.
func latePods(pods []v1.Pod, now progress) []string {
	nodes := map[string][]string{}
	for i := range pods {
		if reason := notReady(&pods[i]); reason != "" {
			nodes[reason] = append(nodes[reason], nodeOf(&pods[i]))
		}
	}
	var late []string
	for _, reason := range slices.Sorted(maps.Keys(nodes)) {
		on := nodes[reason]
		slices.Sort(on)
		on = slices.Compact(on)
		more := ""
		if n := len(on) - mostNamed; n > 0 {
			on, more = on[:mostNamed], fmt.Sprintf(" and %d more", n)
		}
		late = append(late, strings.Join(on, ", ")+more+": "+reason)
	}
	if len(late) == 0 {
		late = []string{fmt.Sprintf("%d of %d, without a pod", now.want-now.ready, now.want)}
	}
	return late
}

// imageReasons are why a container waits for its image, the last for good until somebody
// changes something.
var imageReasons = []string{"ErrImagePull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"}

// lacksImage says which image of a pod does not come and why; backsOff is whether kubelet has
// given up its first attempts.
func lacksImage(pod *v1.Pod) (reason string, backsOff bool) {
	for _, c := range append(slices.Clone(pod.Status.InitContainerStatuses), pod.Status.ContainerStatuses...) {
		if w := c.State.Waiting; w != nil && slices.Contains(imageReasons, w.Reason) {
			return oneLine(w.Reason + " " + c.Image + ": " + w.Message), slices.Index(imageReasons, w.Reason) >= 4
		}
	}
	return "", false
}

// imageTroubles are those of all pods, each once, whatever node it is on.
func imageTroubles(pods []v1.Pod) []string {
	var all []string
	for i := range pods {
		if reason, _ := lacksImage(&pods[i]); reason != "" && !slices.Contains(all, reason) {
			all = append(all, reason)
		}
	}
	return all
}

// isHopeless reports whether all pods that are wanted are there, and each waits for an image
// that kubelet has tried in vain. One that is ready shows that it can come, unless nobody is
// that patient.
func isHopeless(pods []v1.Pod, want int32, impatient bool) bool {
	waiting := 0
	for i := range pods {
		if impatient && notReady(&pods[i]) == "" {
			continue
		}
		if _, backsOff := lacksImage(&pods[i]); !backsOff {
			return false
		}
		waiting++
	}
	return waiting > 0 && len(pods) >= int(want)
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
	if image, _ := lacksImage(pod); image != "" {
		return image
	}
	for _, c := range append(slices.Clone(pod.Status.InitContainerStatuses), pod.Status.ContainerStatuses...) {
		if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" {
			reason = oneLine(w.Reason + " " + w.Message)
		}
	}
	return reason
}

// longest is how much of a runtime's message is told.
const longest = 400

// oneLine makes of a message one line whose end stays: the reason stands there.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > longest {
		s = string(runes[:longest/2]) + "…" + string(runes[len(runes)-longest/2:])
	}
	return s
}

func lines(all []string) string { return strings.Join(all, "\n  ") }
