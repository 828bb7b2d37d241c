package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A file in the manifests folder is a pod: it runs, shows in the API as a mirror,
// follows its file, and goes with it.
func TestStaticPod(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	file := filepath.Join(shared.data(), "manifests", s.name+".yaml")
	t.Cleanup(func() { _ = os.Remove(file) })
	write := func(value string) {
		t.Helper()
		manifest := fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: fixed, namespace: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: "busybox:1", command: [sh, -c, "echo %s; sleep infinity"]}
`, s.name, value)
		// As an editor does it: the watcher never sees half a file.
		if err := os.WriteFile(file+".new", []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	node := strings.TrimSpace(s.mustKubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"))
	name := "fixed-" + node
	pod := s.waitReady(name)
	if pod.Annotations["kubernetes.io/config.source"] != "file" || pod.Annotations["kubernetes.io/config.mirror"] == "" {
		t.Errorf("annotations of the mirror: %v", pod.Annotations)
	}
	if len(pod.OwnerReferences) != 1 || pod.OwnerReferences[0].Kind != "Node" {
		t.Errorf("owners of the mirror: %v", pod.OwnerReferences)
	}
	if out := s.mustKubectl("logs", name); out != "first\n" {
		t.Errorf("its log is %q", out)
	}

	// A deleted mirror comes back; the container does not notice.
	before := status(pod, "c").ContainerID
	s.mustKubectl("delete", "pod", name, "--wait=false")
	pod = s.waitPod(name, 40*time.Second, "is mirrored again", func(p *v1.Pod) bool {
		return p.UID != pod.UID && isReady(p)
	})
	if after := status(pod, "c").ContainerID; after != before {
		t.Errorf("deleting the mirror replaced the container %s by %s", before, after)
	}

	write("second")
	s.eventually(40*time.Second, "the changed pod runs", func() error {
		out, err := s.kubectl("logs", name)
		if err == nil && out != "second\n" {
			err = fmt.Errorf("its log is %q", out)
		}
		return err
	})
	s.waitReady(name)

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.gone("pod", name)
}

// gone waits until an object is no longer there.
func (s *space) gone(kind, name string) {
	s.t.Helper()
	s.eventually(40*time.Second, kind+" "+name+" is gone", func() error {
		out, err := s.kubectl("get", kind, name, "--ignore-not-found", "-o", "name")
		if err == nil && out != "" {
			err = fmt.Errorf("still there: %s", out)
		}
		return err
	})
}
