package volumes

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// BenchmarkPod is the whole life of a pod with the volume that every pod has.
func BenchmarkPod(b *testing.B) {
	n := newNode(b, rootCA("1", "pem"))
	keep := podWith(apiAccess()) // the CA is watched already, as on a node in use
	n.setUp(keep)
	for b.Loop() {
		pod := podWith(apiAccess(), emptyDir("d", "", ""))
		n.setUp(pod)
		n.tearDown(pod.UID)
	}
	n.tearDown(keep.UID)
}

// BenchmarkRefresh is what a pod costs once a minute.
func BenchmarkRefresh(b *testing.B) {
	n := newNode(b, rootCA("1", "pem"))
	pod := podWith(apiAccess())
	n.setUp(pod)
	for b.Loop() {
		n.setUp(pod)
	}
	n.tearDown(pod.UID)
}

// BenchmarkUsage measures an emptyDir of a few files.
func BenchmarkUsage(b *testing.B) {
	n := newNode(b)
	pod := podWith(emptyDir("d", "", ""), emptyDir("m", v1.StorageMediumMemory, ""))
	n.setUp(pod)
	for b.Loop() {
		n.Usage(pod.UID, 0)
	}
	n.tearDown(pod.UID)
}
