package cri

import (
	"encoding/json"
	"maps"
	"strconv"

	v1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	kubelettypes "k8s.io/kubelet/pkg/types"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"whylet.dev/whylet/fact"
)

// The annotations that kubelet writes on containers. They make a container
// self-describing: an agent without journal can adopt it, end it with the right
// grace and hook, and find its termination message
// (kubelet: pkg/kubelet/kuberuntime/labels.go).
const (
	annotationHash          = "io.kubernetes.container.hash"
	annotationRestartCount  = "io.kubernetes.container.restartCount"
	annotationMessagePath   = "io.kubernetes.container.terminationMessagePath"
	annotationMessagePolicy = "io.kubernetes.container.terminationMessagePolicy"
	annotationPreStop       = "io.kubernetes.container.preStopHandler"
	annotationPorts         = "io.kubernetes.container.ports"
	annotationDeletionGrace = "io.kubernetes.pod.deletionGracePeriod"
	annotationGrace         = "io.kubernetes.pod.terminationGracePeriod"
)

func sandboxLabels(pod *v1.Pod) map[string]string {
	labels := make(map[string]string, len(pod.Labels)+3)
	maps.Copy(labels, pod.Labels)
	labels[kubelettypes.KubernetesPodNameLabel] = pod.Name
	labels[kubelettypes.KubernetesPodNamespaceLabel] = pod.Namespace
	labels[kubelettypes.KubernetesPodUIDLabel] = string(pod.UID)
	return labels
}

func containerLabels(pod *v1.Pod, c *v1.Container) map[string]string {
	return map[string]string{
		kubelettypes.KubernetesPodNameLabel:       pod.Name,
		kubelettypes.KubernetesPodNamespaceLabel:  pod.Namespace,
		kubelettypes.KubernetesPodUIDLabel:        string(pod.UID),
		kubelettypes.KubernetesContainerNameLabel: c.Name,
	}
}

func containerAnnotations(pod *v1.Pod, c *v1.Container, attempt int32) (map[string]string, error) {
	a := map[string]string{
		annotationHash:          strconv.FormatUint(kubecontainer.HashContainer(c), 16),
		annotationRestartCount:  strconv.Itoa(int(attempt)),
		annotationMessagePath:   c.TerminationMessagePath,
		annotationMessagePolicy: string(c.TerminationMessagePolicy),
	}
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		a[annotationDeletionGrace] = strconv.FormatInt(*s, 10)
	}
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		a[annotationGrace] = strconv.FormatInt(*s, 10)
	}
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
		if err := annotateJSON(a, annotationPreStop, c.Lifecycle.PreStop); err != nil {
			return nil, err
		}
	}
	if len(c.Ports) > 0 {
		if err := annotateJSON(a, annotationPorts, c.Ports); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func annotateJSON(a map[string]string, key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	a[key] = string(raw)
	return nil
}

// Recorded is what a container's annotations tell about it, for an agent that
// does not know the pod any more. What is absent or unreadable is empty.
type Recorded struct {
	Hash          uint64
	MessagePath   string
	MessagePolicy v1.TerminationMessagePolicy
	// Grace is how many seconds the container may take to end: the pod's deletion
	// grace where it was being deleted, else its terminationGracePeriodSeconds.
	Grace   *int64
	PreStop *v1.LifecycleHandler
	Ports   []v1.ContainerPort
}

func podOf(labels map[string]string) fact.Pod {
	return fact.Pod{
		Namespace: labels[kubelettypes.KubernetesPodNamespaceLabel],
		Name:      labels[kubelettypes.KubernetesPodNameLabel],
		UID:       apitypes.UID(labels[kubelettypes.KubernetesPodUIDLabel]),
	}
}

func recordedOf(a map[string]string) Recorded {
	r := Recorded{
		MessagePath:   a[annotationMessagePath],
		MessagePolicy: v1.TerminationMessagePolicy(a[annotationMessagePolicy]),
		Grace:         secondsOf(a, annotationDeletionGrace),
	}
	if h, err := strconv.ParseUint(a[annotationHash], 16, 64); err == nil {
		r.Hash = h
	}
	if r.Grace == nil {
		r.Grace = secondsOf(a, annotationGrace)
	}
	var hook v1.LifecycleHandler
	if raw, ok := a[annotationPreStop]; ok && json.Unmarshal([]byte(raw), &hook) == nil {
		r.PreStop = &hook
	}
	var ports []v1.ContainerPort
	if raw, ok := a[annotationPorts]; ok && json.Unmarshal([]byte(raw), &ports) == nil {
		r.Ports = ports
	}
	return r
}

func secondsOf(a map[string]string, key string) *int64 {
	s, err := strconv.ParseInt(a[key], 10, 64)
	if err != nil {
		return nil
	}
	return &s
}

// attemptOf prefers kubelet's annotation to the CRI metadata: both say the same,
// but the annotation is what other tools change nothing about.
func attemptOf(a map[string]string, metadata uint32) int32 {
	if n, err := strconv.ParseInt(a[annotationRestartCount], 10, 32); err == nil {
		return int32(n)
	}
	return int32(metadata)
}
