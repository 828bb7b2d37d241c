package sense

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestContentChange(t *testing.T) {
	settings := func(data map[string]string) *v1.ConfigMap {
		m := &v1.ConfigMap{Data: data}
		m.Name = "settings"
		early, late := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
		m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl-edit", Time: &late}, {Manager: "helm", Time: &early}}
		return m
	}
	old := settings(map[string]string{"a": "1", "b": "2", "c": "3"})
	c, ok := contentChange(old, settings(map[string]string{"a": "1", "b": "other", "d": "4"}))
	if !ok || c.Object != "ConfigMap" || c.Name != "settings" || c.By != "kubectl-edit" || !slices.Equal(c.Keys, []string{"b", "c", "d"}) {
		t.Errorf("%v %+v", ok, c)
	}
	c, ok = contentChange(&v1.Secret{Data: map[string][]byte{"k": []byte("x")}}, &v1.Secret{Data: map[string][]byte{"k": []byte("y")}})
	if !ok || c.Object != "Secret" || c.By != "" {
		t.Errorf("%v %+v", ok, c)
	}
	for name, pair := range map[string][2]runtime.Object{
		"the same": {old, settings(old.Data)},
		"new":      {nil, old},
		"gone":     {old, nil},
	} {
		if c, ok := contentChange(pair[0], pair[1]); ok {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
