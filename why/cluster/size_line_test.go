package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
)

// The line that allows more memory than the limit has is the first thing to look at.
func TestShowSize(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: v1.PodSpec{
		Volumes: []v1.Volume{{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}}}}},
		Containers: []v1.Container{{
			Name: "db", VolumeMounts: []v1.VolumeMount{{Name: "conf", MountPath: "/etc/db"}},
			Resources: v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse("256Mi")}},
		}},
	}}
	for text, want := range map[string]string{
		"[mysqld]\nmax_heap_table_size = 64M\ninnodb_buffer_pool_size = 1G\n": "lower innodb_buffer_pool_size, which allows 1Gi where the limit is 256Mi: line 3 of my.cnf in ConfigMap conf",
		"[mysqld]\ninnodb_buffer_pool_size = 64M\n":                           "raise it",
		"# innodb_buffer_pool_size = 1G\n":                                    "raise it",
	} {
		v := answer.Verdict{Cause: answer.MemoryLimit, Container: "db", Fixes: []answer.Fix{{Text: "raise it"}}}
		shownIn(&v, pod, []v1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "conf"}, Data: map[string]string{"my.cnf": text}}}).showSize()
		if !strings.HasPrefix(v.Fixes[0].Text, want) {
			t.Errorf("%q: %+v", text, v.Fixes)
		}
	}
}
