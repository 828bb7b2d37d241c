package sense

import (
	"bytes"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"whylet.dev/whylet/fact"
)

// mostKeys bounds how many keys of a change are named.
const mostKeys = 10

// contentChange says which keys of a ConfigMap or Secret differ, and who was the
// last to write it; false where there was none before, there is none now, or its
// contents are the same. Values stay where they are.
func contentChange(old, now runtime.Object) (fact.ConfigChanged, bool) {
	c := fact.ConfigChanged{}
	before, after := contents(old), contents(now)
	if before == nil || after == nil {
		return c, false
	}
	for key, value := range after {
		if was, ok := before[key]; !ok || !bytes.Equal(was, value) {
			c.Keys = append(c.Keys, key)
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			c.Keys = append(c.Keys, key)
		}
	}
	if len(c.Keys) == 0 {
		return c, false
	}
	slices.Sort(c.Keys)
	c.Keys = c.Keys[:min(len(c.Keys), mostKeys)]
	c.Object = "ConfigMap"
	if _, ok := now.(*v1.Secret); ok {
		c.Object = "Secret"
	}
	if meta, ok := now.(metav1.Object); ok {
		c.Name, c.By = meta.GetName(), LastManager(meta)
	}
	return c, true
}

// contents are the bytes by key; nil where there is no object.
func contents(o runtime.Object) map[string][]byte {
	all := map[string][]byte{}
	switch o := o.(type) {
	case *v1.ConfigMap:
		for k, v := range o.Data {
			all[k] = []byte(v)
		}
		for k, v := range o.BinaryData {
			all[k] = v
		}
	case *v1.Secret:
		for k, v := range o.Data {
			all[k] = v
		}
	default:
		return nil
	}
	return all
}
