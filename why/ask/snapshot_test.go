package ask

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// What was listed of all namespaces answers for each, for selectors, and for single objects.
func TestListedForAll(t *testing.T) {
	q := &question{read: newSnapshot()}
	var list v1.PodList
	for n := range 4 {
		list.Items = append(list.Items, v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("s", n%2), Name: fmt.Sprint("p", n), Labels: map[string]string{"app": fmt.Sprint("a", n)}},
			Spec:       v1.PodSpec{NodeName: fmt.Sprint("n", n/2)},
		})
	}
	_, _ = once(q.read, listKey(kindFor[v1.Pod](), "", metav1.ListOptions{}), func() (runtime.Object, error) { return &list, nil })
	for _, test := range []struct {
		space string
		o     metav1.ListOptions
		want  string
	}{
		{"", metav1.ListOptions{}, "p0 p1 p2 p3"},
		{"s1", metav1.ListOptions{}, "p1 p3"},
		{"s1", metav1.ListOptions{LabelSelector: "app=a3"}, "p3"},
		{"", metav1.ListOptions{FieldSelector: "spec.nodeName=n1"}, "p2 p3"},
		{"s0", metav1.ListOptions{FieldSelector: "spec.nodeName=n1"}, "p2"},
		{"s2", metav1.ListOptions{}, ""},
	} {
		all, err := someOf[v1.Pod](t.Context(), q, test.space, test.o)
		got := ""
		for i, p := range all {
			if i > 0 {
				got += " "
			}
			got += p.Name
		}
		if err != nil || got != test.want {
			t.Errorf("%s %v: %q, %v", test.space, test.o, got, err)
		}
	}
	if p, err := oneOf[v1.Pod](t.Context(), q, "s1", "p3"); err != nil || p.Name != "p3" {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := oneOf[v1.Pod](t.Context(), q, "s0", "p3"); err == nil || p == nil {
		t.Errorf("%v, %v", p, err)
	}
}
