package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
)

// What a container writes to a hostPath is on the machine, and a path that has to
// be there and is not keeps the pod waiting, with the reason.
func TestHostPath(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	dir := t.TempDir()
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: host}
spec:
  restartPolicy: Never
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, "echo written > /made/file; cat /single"]
    volumeMounts:
    - {name: made, mountPath: /made}
    - {name: single, mountPath: /single, readOnly: true}
  volumes:
  - {name: made, hostPath: {path: %[1]s/new, type: DirectoryOrCreate}}
  - {name: single, hostPath: {path: %[1]s/single, type: File}}
`, dir))
	s.eventually(30*time.Second, "an event says what is missing", func() error {
		out, err := s.kubectl("describe", "pod", "host")
		if err == nil && !strings.Contains(out, "hostPath type check failed, "+dir+"/single is not a file") {
			err = fmt.Errorf("it says:\n%s", out)
		}
		return err
	})
	if err := os.WriteFile(filepath.Join(dir, "single"), []byte("of the machine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.waitPod("host", 60*time.Second, "Succeeded", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodSucceeded })
	if out := s.mustKubectl("logs", "host"); out != "of the machine\n" {
		t.Errorf("the container read %q", out)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "new", "file")); err != nil || string(data) != "written\n" {
		t.Errorf("the machine reads %q, %v", data, err)
	}
}

// A claim is bound once a pod asks for it, its data outlives the pod, and two
// pods see different parts of it.
func TestPersistentVolumes(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	dir := t.TempDir()
	for _, d := range []string{"local", "host"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	node := strings.TrimSpace(s.mustKubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"))
	s.apply(fmt.Sprintf(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: %[1]s}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s-local}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: %[1]s
  local: {path: %[2]s/local}
  nodeAffinity:
    required:
      nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: ["%[3]s"]}]}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s-host}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: %[1]s-now
  hostPath: {path: %[2]s/host}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: later}
spec: {accessModes: [ReadWriteOnce], storageClassName: %[1]s, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: now}
spec: {accessModes: [ReadWriteMany], storageClassName: %[1]s-now, resources: {requests: {storage: 1Gi}}}
`, s.name, dir, node))
	t.Cleanup(func() {
		for _, args := range [][]string{{"storageclass", s.name}, {"pv", s.name + "-local"}, {"pv", s.name + "-host"}} {
			_, _ = s.kubectlIn(t.Context(), "", append([]string{"delete", "--wait=false"}, args...)...)
		}
	})
	s.mustKubectl("wait", "pvc/now", "--for=jsonpath={.status.phase}=Bound", "--timeout=40s")
	if out := s.mustKubectl("get", "pvc", "later", "-o", "jsonpath={.status.phase}"); out != "Pending" {
		t.Errorf("the claim that waits for its first consumer is %s", out)
	}
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, "%s; sleep infinity"]
    volumeMounts:
    - {name: later, mountPath: /later, subPathExpr: $(PART)}
    - {name: now, mountPath: /now}
    env: [{name: PART, value: part-%s}]
  volumes:
  - {name: later, persistentVolumeClaim: {claimName: later}}
  - {name: now, persistentVolumeClaim: {claimName: now}}
`
	s.apply(fmt.Sprintf(pod, "writer", "echo w > /later/file; echo n > /now/file", "a"))
	s.waitReady("writer")
	s.mustKubectl("delete", "pod", "writer")
	s.apply(fmt.Sprintf(pod, "reader", "true", "b"))
	s.waitReady("reader")
	out, err := s.exec("reader", "sh", "-c", "cat /now/file; ls /later")
	if err != nil || out != "n\n" {
		t.Errorf("the second pod reads %q, %v", out, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "local", "part-a", "file")); err != nil || string(data) != "w\n" {
		t.Errorf("the local volume holds %q, %v", data, err)
	}
}

// Labels and annotations reach a running container.
func TestDownwardAPIFollows(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {stage: one}, annotations: {note: hello}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    resources: {requests: {cpu: 20m}, limits: {memory: 32Mi}}
    volumeMounts: [{name: about, mountPath: /about}]
  volumes:
  - name: about
    downwardAPI:
      items:
      - {path: labels, fieldRef: {fieldPath: metadata.labels}}
      - {path: note, fieldRef: {fieldPath: "metadata.annotations['note']"}}
      - {path: memory, resourceFieldRef: {containerName: c, resource: limits.memory, divisor: 1Mi}}
      - {path: cpu, resourceFieldRef: {containerName: c, resource: requests.cpu, divisor: 1m}}
`)
	s.waitReady("p")
	read := func() string {
		out, err := s.exec("p", "sh", "-c", "cd /about; for f in labels note memory cpu; do cat $f; echo; done")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := read(); out != "stage=\"one\"\nhello\n32\n20\n" {
		t.Errorf("at first it reads %q", out)
	}
	s.mustKubectl("label", "pod", "p", "--overwrite", "stage=two")
	s.mustKubectl("annotate", "pod", "p", "--overwrite", "note=goodbye")
	s.eventually(60*time.Second, "the new labels and annotations in the volume", func() error {
		if out := read(); out != "stage=\"two\"\ngoodbye\n32\n20\n" {
			return fmt.Errorf("it reads %q", out)
		}
		return nil
	})
}

// An image can be mounted as a volume, as a whole or in part, and cannot be
// written. One that cannot be had keeps the container waiting, as its own would.
func TestImageVolume(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    volumeMounts: [{name: other, mountPath: /other}, {name: other, mountPath: /part, subPath: etc}]
  volumes: [{name: other, image: {reference: "%s", pullPolicy: IfNotPresent}}]
`
	s.apply(fmt.Sprintf(pod, "good", "nginx:1") + "---" + fmt.Sprintf(pod, "bad", "localhost:1/none:1"))
	s.waitReady("good")
	out, err := s.exec("good", "sh", "-c", "ls -d /other/usr/sbin/nginx /part/nginx; touch /other/file 2>&1 || true")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, out, "/other/usr/sbin/nginx", "/part/nginx", "Read-only file system")
	s.waitPod("bad", time.Minute, "waits for the image of its volume", func(p *v1.Pod) bool {
		w := status(p, "c").State.Waiting
		return w != nil && (w.Reason == "ErrImagePull" || w.Reason == "ImagePullBackOff") && strings.Contains(w.Message, "localhost:1/none:1")
	})
	// kubelet 1.36 told once a second that the image is there (kubernetes#138655).
	if out := s.mustKubectl("get", "events", "--field-selector", "involvedObject.name=good,reason=Pulled", "-o", "jsonpath={.items[*].count}"); out != "1 1" {
		t.Errorf("the images of a pod that runs were told %s times", out)
	}
}

// A read-only mount that is recursive leaves nothing below it writable.
func TestRecursiveReadOnly(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	dir := t.TempDir()
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", below, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(below, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", below, err)
		}
	})
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    volumeMounts:
    - {name: host, mountPath: /all, readOnly: true, recursiveReadOnly: Enabled}
    - {name: host, mountPath: /top, readOnly: true}
  volumes: [{name: host, hostPath: {path: %s}}]
`, dir))
	pod := s.waitReady("p")
	out, err := s.exec("p", "sh", "-c", "touch /all/below/a 2>&1; touch /top/below/b && echo written; touch /top/c 2>&1; true")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, out, "/all/below/a: Read-only file system", "written", "/top/c: Read-only file system")
	for _, m := range status(pod, "c").VolumeMounts {
		if m.MountPath == "/all" && (m.RecursiveReadOnly == nil || *m.RecursiveReadOnly != v1.RecursiveReadOnlyEnabled) {
			t.Errorf("the status says of the mount: %+v", m)
		}
	}
}

// A variable comes from a file that an init container wrote; one that it did not
// write keeps the container waiting.
func TestFileKeyRef(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 1
  initContainers:
  - {name: i, image: "busybox:1", command: [sh, -c, "echo NAME=\\'written\\' > /made/env"], volumeMounts: [{name: made, mountPath: /made}]}
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    env: [{name: SEEN, valueFrom: {fileKeyRef: {volumeName: made, path: env, key: %s}}}]
  volumes: [{name: made, emptyDir: {}}]
`
	s.apply(fmt.Sprintf(pod, "good", "NAME") + "---" + fmt.Sprintf(pod, "bad", "OTHER"))
	s.waitReady("good")
	if out, err := s.exec("good", "sh", "-c", "echo $SEEN"); err != nil || out != "written\n" {
		t.Errorf("the container sees %q, %v", out, err)
	}
	s.waitPod("bad", time.Minute, "waits for the variable", func(p *v1.Pod) bool {
		w := status(p, "c").State.Waiting
		return w != nil && w.Reason == "CreateContainerConfigError" && strings.Contains(w.Message, `environment variable key "OTHER" not found in file`)
	})
}
