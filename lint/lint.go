package lint

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Severity says how bad a finding is; larger is worse.
type Severity int

// The severities: Note is worth knowing, Warning will hurt some day, Error cannot
// work.
const (
	Note Severity = iota + 1
	Warning
	Error
)

var severities = map[Severity]string{Note: "note", Warning: "warning", Error: "error"}

// String is also SARIF's level.
func (s Severity) String() string { return severities[s] }

// MarshalText is String, for JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Workload is a pod, or what makes pods.
type Workload struct {
	File string
	// Kind, Namespace and Name are those of the object in the file.
	Kind, Namespace, Name string
	// Replicas is how many pods run on the node at once.
	Replicas int64
	Pod      v1.PodTemplateSpec

	lines map[string]int // where things stand in File, see Parse
}

// String names the object as kubectl does.
func (w Workload) String() string {
	if w.Namespace == "" {
		return w.Kind + "/" + w.Name
	}
	return w.Namespace + "/" + w.Kind + "/" + w.Name
}

// Node is what the workloads run on.
type Node struct {
	// Memory is what pods may have altogether, in bytes; 0: not known.
	Memory int64
	// Largest is what the largest of several nodes gives its pods; 0: there is one.
	Largest int64
	// Recorded is what a journal tells of earlier pods of the workloads; nil: nothing.
	Recorded History
}

// Finding is one thing that is wrong, or worth knowing.
type Finding struct {
	// Rule is stable: it names the check.
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file,omitempty"`
	// Line is where it stands in the file, 0 where that is not known.
	Line int `json:"line,omitempty"`
	// Object and Container are empty for what concerns all.
	Object    string `json:"object,omitempty"`
	Container string `json:"container,omitempty"`
	Text      string `json:"text"`
	Reason    string `json:"reason"`
	Fix       string `json:"fix"`
}

// Check looks at all workloads, as they would run together on the node. The worst
// findings come first.
func Check(workloads []Workload, node Node) []Finding {
	var all []Finding
	for _, w := range workloads {
		all = append(all, probes(w, node)...)
		all = append(all, memory(w)...)
		all = append(all, node.Recorded.recorded(w)...)
	}
	all = append(all, together(workloads, node)...)
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Object, b.Object))
	})
	return all
}

// Worst is the severity of the worst finding, 0 when there is none.
func Worst(found []Finding) Severity {
	var worst Severity
	for _, f := range found {
		worst = max(worst, f.Severity)
	}
	return worst
}

// about fills in what a finding is about: a container, and a field of it.
func (w Workload) about(container, field string, f Finding) Finding {
	f.File, f.Object, f.Container = w.File, w.String(), container
	f.Line = w.line("containers/" + container + "/" + field)
	return f
}

// longLived are the containers that run as long as the pod does: its own, and
// sidecars.
func (w Workload) longLived() []*v1.Container {
	spec := &w.Pod.Spec
	var all []*v1.Container
	for i := range spec.InitContainers {
		if p := spec.InitContainers[i].RestartPolicy; p != nil && *p == v1.ContainerRestartPolicyAlways {
			all = append(all, &spec.InitContainers[i])
		}
	}
	for i := range spec.Containers {
		all = append(all, &spec.Containers[i])
	}
	return all
}
