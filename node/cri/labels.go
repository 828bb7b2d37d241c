package cri

import (
	"encoding/json"
	"maps"
	"strconv"

	v1 "k8s.io/api/core/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"whylet.dev/whylet/sense/containers"
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
		containers.AnnotationHash:          strconv.FormatUint(kubecontainer.HashContainer(c), 16),
		containers.AnnotationRestartCount:  strconv.Itoa(int(attempt)),
		containers.AnnotationMessagePath:   c.TerminationMessagePath,
		containers.AnnotationMessagePolicy: string(c.TerminationMessagePolicy),
	}
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		a[containers.AnnotationDeletionGrace] = strconv.FormatInt(*s, 10)
	}
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		a[containers.AnnotationGrace] = strconv.FormatInt(*s, 10)
	}
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
		if err := annotateJSON(a, containers.AnnotationPreStop, c.Lifecycle.PreStop); err != nil {
			return nil, err
		}
	}
	if len(c.Ports) > 0 {
		if err := annotateJSON(a, containers.AnnotationPorts, c.Ports); err != nil {
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
