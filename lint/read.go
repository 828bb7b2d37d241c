package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// manifest has the fields that say which pods an object makes; they have the same
// names in all kinds.
type manifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		v1.PodSpec  `json:",inline"`
		Replicas    *int64             `json:"replicas"`
		Parallelism *int64             `json:"parallelism"`
		Template    v1.PodTemplateSpec `json:"template"`
		JobTemplate struct {
			Spec struct {
				Parallelism *int64             `json:"parallelism"`
				Template    v1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

// Read finds the pods that a Kubernetes object in JSON makes: Pod, Deployment,
// StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job, CronJob, and
// lists of them. Objects of other kinds make none.
func Read(file string, object []byte) ([]Workload, error) {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(object, &head); err != nil {
		return nil, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	if makesPods(head.TypeMeta) {
		w, err := readOne(object)
		if err != nil {
			return nil, err
		}
		w.File = file
		return []Workload{w}, nil
	}
	var all []Workload
	for _, item := range head.Items {
		found, err := Read(file, item)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func typeOf(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

// makesPods tells Kubernetes' own kinds from those of others with the same names.
func makesPods(t metav1.TypeMeta) bool {
	group, _, grouped := strings.Cut(t.APIVersion, "/")
	if !grouped {
		group = ""
	}
	return slices.Contains(map[string][]string{
		"":      {"Pod", "ReplicationController"},
		"apps":  {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"},
		"batch": {"Job", "CronJob"},
	}[group], t.Kind)
}

func readOne(object []byte) (Workload, error) {
	var m manifest
	if err := json.Unmarshal(object, &m); err != nil {
		return Workload{}, fmt.Errorf("not what Kubernetes would read: %w", err)
	}
	w := Workload{Kind: m.Kind, Namespace: m.Namespace, Name: m.Name, Replicas: 1}
	replicas := m.Spec.Replicas
	switch m.Kind {
	case "Pod":
		w.Pod = v1.PodTemplateSpec{ObjectMeta: m.ObjectMeta, Spec: m.Spec.PodSpec}
	case "CronJob":
		w.Pod, replicas = m.Spec.JobTemplate.Spec.Template, m.Spec.JobTemplate.Spec.Parallelism
	case "Job":
		w.Pod, replicas = m.Spec.Template, m.Spec.Parallelism
	default:
		w.Pod = m.Spec.Template
	}
	if replicas != nil {
		w.Replicas = *replicas
	}
	setDefaults(&w.Pod.Spec)
	return w, nil
}

// setDefaults fills in what the API server would, where a rule looks at it: who has
// a limit and asks for nothing asks for its limit (pkg/apis/core/v1/defaults.go,
// SetDefaults_Pod).
func setDefaults(spec *v1.PodSpec) {
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			limit, limited := r.Limits[v1.ResourceMemory]
			if _, asks := r.Requests[v1.ResourceMemory]; limited && !asks {
				r.Requests = maps.Clone(r.Requests)
				if r.Requests == nil {
					r.Requests = v1.ResourceList{}
				}
				r.Requests[v1.ResourceMemory] = limit
			}
		}
	}
}
