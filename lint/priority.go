package lint

import (
	"encoding/json"
	"maps"

	"sigs.k8s.io/yaml"
)

// Priorities are the values of priority classes by name. The one under "" is that of
// pods that name none.
type Priorities map[string]int32

// PrioritiesIn finds the PriorityClasses in a manifest file. What cannot be read is
// passed over: Parse tells of it.
func PrioritiesIn(data []byte) Priorities {
	all := Priorities{}
	for _, d := range documents(data) {
		if object, err := yaml.YAMLToJSON(d.text); err == nil {
			all.read(object)
		}
	}
	return all
}

func (p Priorities) read(object []byte) {
	var o struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Value            int32
		GlobalDefault    bool
		Items            []json.RawMessage
	}
	if json.Unmarshal(object, &o) != nil {
		return
	}
	for _, item := range o.Items {
		p.read(item)
	}
	if o.Kind != "PriorityClass" || o.APIVersion != "scheduling.k8s.io/v1" || o.Metadata.Name == "" {
		return
	}
	p[o.Metadata.Name] = o.Value
	if o.GlobalDefault {
		p[""] = o.Value
	}
}

// Prioritize gives pods the priority of their class, as the API server does
// (plugin/pkg/admission/priority). Kubernetes' own classes are always known.
func Prioritize(workloads []Workload, classes Priorities) {
	known := Priorities{"system-cluster-critical": 2000000000, "system-node-critical": 2000001000} // pkg/apis/scheduling/types.go
	maps.Copy(known, classes)
	for i := range workloads {
		spec := &workloads[i].Pod.Spec
		if value, ok := known[spec.PriorityClassName]; ok && spec.Priority == nil {
			spec.Priority = &value
		}
	}
}
