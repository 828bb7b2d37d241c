package sense

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxChanged bounds the fields that are named of one change.
const maxChanged = 20

// ChangedFields names the fields by which two versions of a pod differ: of its
// spec, labels and annotations. Values are not told: they may be secret.
func ChangedFields(old, pod *v1.Pod) []string {
	if old == nil {
		return nil
	}
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(Trimmed(old))
	after, err2 := runtime.DefaultUnstructuredConverter.ToUnstructured(Trimmed(pod))
	if err != nil || err2 != nil {
		return nil // an object that came from the API always converts
	}
	var changed []string
	differ("spec", before["spec"], after["spec"], &changed)
	for _, name := range []string{"labels", "annotations"} {
		differ("metadata."+name, inMap(before["metadata"], name), inMap(after["metadata"], name), &changed)
	}
	slices.Sort(changed)
	return changed[:min(len(changed), maxChanged)]
}

func inMap(v any, name string) any {
	m, _ := v.(map[string]any)
	return m[name]
}

// differ adds the paths of all leaves in which two values differ. Items of lists
// that have names are compared by name.
func differ(path string, a, b any, changed *[]string) {
	if reflect.DeepEqual(a, b) {
		return
	}
	if la, ok := a.([]any); ok {
		a = named(la)
	}
	if lb, ok := b.([]any); ok {
		b = named(lb)
	}
	ma, okA := a.(map[string]any)
	mb, okB := b.(map[string]any)
	if !okA || !okB {
		*changed = append(*changed, path)
		return
	}
	keys := maps.Clone(ma)
	maps.Copy(keys, mb)
	for key := range keys {
		next := path + "." + key
		if strings.HasPrefix(key, "[") {
			next = path + key
		}
		differ(next, ma[key], mb[key], changed)
	}
}

// named makes a map of a list: by its items' names, or by their places.
func named(list []any) map[string]any {
	m := make(map[string]any, len(list))
	for i, item := range list {
		key := strconv.Itoa(i)
		if name, ok := inMap(item, "name").(string); ok {
			key = name
		}
		m["["+key+"]"] = item
	}
	return m
}
