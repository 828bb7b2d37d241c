package health

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

func amounts(pairs ...string) v1.ResourceList {
	if len(pairs) == 0 {
		return nil
	}
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// The runtime knows neither what memory was asked for nor what has no cgroup.
func TestResourcesInForce(t *testing.T) {
	cases := map[string]struct{ given, set, want v1.ResourceRequirements }{
		"as given": {
			given: v1.ResourceRequirements{Limits: amounts("cpu", "20m", "memory", "35Mi"), Requests: amounts("cpu", "20m", "memory", "35Mi")},
			set:   v1.ResourceRequirements{Limits: amounts("cpu", "20m", "memory", "35Mi"), Requests: amounts("cpu", "20m")},
			want:  v1.ResourceRequirements{Limits: amounts("cpu", "20m", "memory", "35Mi"), Requests: amounts("cpu", "20m", "memory", "35Mi")},
		},
		"other limits": {
			given: v1.ResourceRequirements{Limits: amounts("memory", "35Mi", "ephemeral-storage", "1Gi")},
			set:   v1.ResourceRequirements{Limits: amounts("cpu", "50m", "memory", "40Mi"), Requests: amounts("cpu", "2m")},
			want:  v1.ResourceRequirements{Limits: amounts("cpu", "50m", "memory", "40Mi", "ephemeral-storage", "1Gi")},
		},
		"nothing asked for":         {set: v1.ResourceRequirements{Requests: amounts("cpu", "2m")}},
		"less than the kernel has":  {given: v1.ResourceRequirements{Limits: amounts("cpu", "5m"), Requests: amounts("cpu", "1m")}, set: v1.ResourceRequirements{Limits: amounts("cpu", "10m"), Requests: amounts("cpu", "2m")}, want: v1.ResourceRequirements{Limits: amounts("cpu", "5m"), Requests: amounts("cpu", "1m")}},
		"only memory was asked for": {given: v1.ResourceRequirements{Requests: amounts("memory", "1Gi")}, set: v1.ResourceRequirements{Requests: amounts("cpu", "2m")}, want: v1.ResourceRequirements{Requests: amounts("memory", "1Gi")}},
	}
	for name, c := range cases {
		before := c.given.DeepCopy()
		if got := inForce(c.given, &c.set); !equality.Semantic.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if !equality.Semantic.DeepEqual(&c.given, before) {
			t.Errorf("%s: the specification was changed to %+v", name, c.given)
		}
	}
	if got := inForce(v1.ResourceRequirements{}, nil); got != nil {
		t.Errorf("what the runtime does not say became %+v", got)
	}
}
