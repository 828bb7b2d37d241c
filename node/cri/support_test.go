package cri_test

import (
	"os"
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"whylet.dev/whylet/node/cri/critest"
)

func itoa(n int) string { return strconv.Itoa(n) }

func ptr[T any](v T) *T { return &v }

func keyValue(e kubecontainer.EnvVar) *runtimeapi.KeyValue {
	return &runtimeapi.KeyValue{Key: e.Name, Value: []byte(e.Value)}
}

// withLinks is the pod with what the API server would have set.
func withLinks(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	if pod.Spec.EnableServiceLinks == nil {
		pod.Spec.EnableServiceLinks = ptr(true)
	}
	return pod
}

func wantQuantity(t *testing.T, got resource.Quantity, want string) {
	t.Helper()
	if got.Cmp(resource.MustParse(want)) != 0 {
		t.Errorf("%s, want %s", got.String(), want)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// gone waits for the end of a process.
func gone(t *testing.T, pid int) {
	t.Helper()
	critest.Eventually(t, "the process ends", func() bool {
		_, err := os.Stat("/proc/" + itoa(pid) + "/root/tmp")
		return err != nil
	})
}
