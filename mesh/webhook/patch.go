package webhook

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// op is one operation of a JSON patch (RFC 6902).
type op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// diff says how to get from a pod to the injected one. It names each change by
// itself, so that fields of a newer API, which the typed pod does not hold, stay.
func diff(before, after *v1.Pod) []op {
	var ops []op
	ops = append(ops, diffMap("/metadata/annotations", before.Annotations, after.Annotations)...)
	ops = append(ops, diffMap("/metadata/labels", before.Labels, after.Labels)...)
	ops = append(ops, diffContainers("/spec/initContainers", before.Spec.InitContainers, after.Spec.InitContainers)...)
	ops = append(ops, diffContainers("/spec/containers", before.Spec.Containers, after.Spec.Containers)...)
	if added := after.Spec.Volumes[len(before.Spec.Volumes):]; len(added) > 0 {
		ops = append(ops, appendAll("/spec/volumes", len(before.Spec.Volumes), added)...)
	}
	return ops
}

func diffMap(path string, before, after map[string]string) []op {
	if len(before) == 0 && len(after) > 0 {
		return []op{{"add", path, after}}
	}
	var ops []op
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if was, ok := before[key]; !ok || was != after[key] {
			ops = append(ops, op{"add", path + "/" + escape(key), after[key]})
		}
	}
	return ops
}

// escape writes a key as a part of a JSON pointer (RFC 6901).
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// diffContainers knows the two things that happen to a list: containers are put
// before its first or behind its last one, and those that are there get other
// probes or, if they are the mesh's own, another environment.
func diffContainers(path string, before, after []v1.Container) []op {
	front := len(after)
	for i := range after {
		if len(before) > 0 && after[i].Name == before[0].Name {
			front = i
			break
		}
	}
	if len(before) == 0 {
		return appendAll(path, 0, after)
	}
	var ops []op
	for i := range before {
		ops = append(ops, diffContainer(path+"/"+strconv.Itoa(i), &before[i], &after[front+i])...)
	}
	ops = append(ops, appendAll(path, len(before), after[front+len(before):])...)
	for i := range front {
		ops = append(ops, op{"add", path + "/" + strconv.Itoa(i), after[i]})
	}
	return ops
}

// appendAll adds to the end of a list, which is made if it has no member yet.
func appendAll[T any](path string, had int, added []T) []op {
	if had == 0 && len(added) > 0 {
		return []op{{"add", path, added}}
	}
	var ops []op
	for _, one := range added {
		ops = append(ops, op{"add", path + "/-", one})
	}
	return ops
}

func diffContainer(path string, before, after *v1.Container) []op {
	ops := slices.Concat(
		diffProbe(path+"/livenessProbe", before.LivenessProbe, after.LivenessProbe),
		diffProbe(path+"/readinessProbe", before.ReadinessProbe, after.ReadinessProbe),
		diffProbe(path+"/startupProbe", before.StartupProbe, after.StartupProbe),
	)
	if !reflect.DeepEqual(before.Env, after.Env) {
		ops = append(ops, op{"add", path + "/env", after.Env})
	}
	return ops
}

// diffProbe changes the handler only: the rest of a probe is never touched.
func diffProbe(path string, before, after *v1.Probe) []op {
	if before == nil || reflect.DeepEqual(before, after) {
		return nil
	}
	var ops []op
	if before.TCPSocket != nil && after.TCPSocket == nil {
		ops = append(ops, op{Op: "remove", Path: path + "/tcpSocket"})
	}
	if before.GRPC != nil && after.GRPC == nil {
		ops = append(ops, op{Op: "remove", Path: path + "/grpc"})
	}
	return append(ops, op{"add", path + "/httpGet", after.HTTPGet})
}
