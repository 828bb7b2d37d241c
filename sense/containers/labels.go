package containers

import (
	"encoding/json"
	"strconv"

	v1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"whylet.dev/whylet/fact"
)

// The annotations that kubelet writes on containers. They make a container
// self-describing: an agent without journal can adopt it, end it with the right
// grace and hook, and find its termination message
// (kubelet: pkg/kubelet/kuberuntime/labels.go).
const (
	AnnotationHash          = "io.kubernetes.container.hash"
	AnnotationRestartCount  = "io.kubernetes.container.restartCount"
	AnnotationMessagePath   = "io.kubernetes.container.terminationMessagePath"
	AnnotationMessagePolicy = "io.kubernetes.container.terminationMessagePolicy"
	AnnotationPreStop       = "io.kubernetes.container.preStopHandler"
	AnnotationPorts         = "io.kubernetes.container.ports"
	AnnotationDeletionGrace = "io.kubernetes.pod.deletionGracePeriod"
	AnnotationGrace         = "io.kubernetes.pod.terminationGracePeriod"
)

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
		MessagePath:   a[AnnotationMessagePath],
		MessagePolicy: v1.TerminationMessagePolicy(a[AnnotationMessagePolicy]),
		Grace:         secondsOf(a, AnnotationDeletionGrace),
	}
	if h, err := strconv.ParseUint(a[AnnotationHash], 16, 64); err == nil {
		r.Hash = h
	}
	if r.Grace == nil {
		r.Grace = secondsOf(a, AnnotationGrace)
	}
	var hook v1.LifecycleHandler
	if raw, ok := a[AnnotationPreStop]; ok && json.Unmarshal([]byte(raw), &hook) == nil {
		r.PreStop = &hook
	}
	var ports []v1.ContainerPort
	if raw, ok := a[AnnotationPorts]; ok && json.Unmarshal([]byte(raw), &ports) == nil {
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
	if n, err := strconv.ParseInt(a[AnnotationRestartCount], 10, 32); err == nil {
		return int32(n)
	}
	return int32(metadata)
}
