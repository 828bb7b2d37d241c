package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What pods share with each other's containers and with the machine, when they
// ask for it.
func TestHostNamespaces(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: host}
spec:
  hostNetwork: true
  hostPID: true
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
---
apiVersion: v1
kind: Pod
metadata: {name: together}
spec:
  shareProcessNamespace: true
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: "busybox:1", command: [sleep, infinity]}
  - {name: other, image: "busybox:1", command: [sleep, "12345"]}
---
apiVersion: v1
kind: Pod
metadata: {name: apart}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: "busybox:1", command: [sleep, infinity]}
  - {name: other, image: "busybox:1", command: [sleep, "12345"]}
`)
	host := s.waitReady("host")
	if host.Status.PodIP != host.Status.HostIP {
		t.Errorf("a pod in the host's network has the address %s, the host %s", host.Status.PodIP, host.Status.HostIP)
	}
	out, err := s.exec("host", "sh", "-c", "ip -o link; ps")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, out, "whylet-pods", "whylet up")
	s.waitReady("together")
	s.waitReady("apart")
	if out, err := s.exec("together", "ps"); err != nil || !strings.Contains(out, "pause") || !strings.Contains(out, "sleep 12345") {
		t.Errorf("containers that share processes see: %v\n%s", err, out)
	}
	if out, err := s.exec("apart", "ps"); err != nil || strings.Contains(out, "sleep 12345") {
		t.Errorf("containers that do not share processes see: %v\n%s", err, out)
	}
}

// hostPort is open on the node's address, and closed with the pod.
func TestHostPort(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: nginx, image: "nginx:1", ports: [{containerPort: 80, hostPort: 18080}]}]
`)
	pod := s.waitReady("web")
	url := "http://" + pod.Status.HostIP + ":18080/"
	curl := func() (string, error) {
		out, err := shared.command(t.Context(), "curl", "-sS", "--max-time", "3", url).CombinedOutput()
		return string(out), err
	}
	s.eventually(10*time.Second, "nginx answers on the host's port", func() error {
		out, err := curl()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	s.mustKubectl("delete", "pod", "web")
	if out, err := curl(); err == nil {
		t.Errorf("the port answers without the pod: %s", out)
	}
}

func TestPrivilegedSysctlAndName(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Service
metadata: {name: team}
spec: {clusterIP: None, selector: {app: named}}
---
apiVersion: v1
kind: Pod
metadata: {name: named, labels: {app: named}}
spec:
  hostname: one
  subdomain: team
  setHostnameAsFQDN: true
  terminationGracePeriodSeconds: 1
  securityContext: {sysctls: [{name: net.ipv4.ip_local_port_range, value: "20000 30000"}, {name: kernel.shm_rmid_forced, value: "1"}]}
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
---
apiVersion: v1
kind: Pod
metadata: {name: root}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity], securityContext: {privileged: true}}]
`)
	s.waitReady("named")
	s.waitReady("root")
	out, err := s.exec("named", "sh", "-c", "hostname; cat /proc/sys/net/ipv4/ip_local_port_range /proc/sys/kernel/shm_rmid_forced; cat /etc/hosts")
	if err != nil {
		t.Fatal(err)
	}
	fqdn := "one.team." + s.name + ".svc.cluster.local"
	contains(t, out, fqdn+"\n20000\t30000\n1\n", fqdn+"\tone")
	out, err = s.exec("root", "sh", "-c", "mount -t tmpfs none /tmp && echo mounted; ls /dev/kmsg; grep Seccomp: /proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, out, "mounted", "/dev/kmsg", "Seccomp:\t0")
}

// A profile of the machine's own, named by its path below the node's folder.
func TestSeccompLocalhost(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	dir := filepath.Join(shared.data(), "node", "seccomp")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const profile = `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["chmod","fchmod","fchmodat","fchmodat2"],"action":"SCMP_ACT_ERRNO"}]}`
	if err := os.WriteFile(filepath.Join(dir, "no-chmod.json"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {seccompProfile: {type: Localhost, localhostProfile: no-chmod.json}}
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
`)
	s.waitReady("p")
	out, err := s.exec("p", "sh", "-c", "touch /f; chmod 600 /f 2>&1; grep Seccomp: /proc/1/status")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, out, "Operation not permitted", "Seccomp:\t2")
}

// A pod with users of its own is root only inside: outside, its processes and the
// files it makes belong to nobody. What Kubernetes writes for it is readable to it.
func TestUserNamespace(t *testing.T) {
	more(t)
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: ConfigMap
metadata: {name: words}
data: {word: readable}
---
apiVersion: v1
kind: Pod
metadata: {name: mapped}
spec:
  hostUsers: false
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, "echo mine > /disk/file; sleep infinity"]
    volumeMounts: [{name: disk, mountPath: /disk}, {name: words, mountPath: /words}]
  volumes: [{name: disk, emptyDir: {}}, {name: words, configMap: {name: words}}]
---
apiVersion: v1
kind: Pod
metadata: {name: host}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
`)
	mapped, host := s.waitReady("mapped"), s.waitReady("host")
	out, err := s.exec("mapped", "sh", "-c", "id -u; cat /words/word; echo; stat -c %u /disk/file; cat /proc/self/uid_map")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, out, "0\nreadable\n0\n", "65536\n")
	if uid := processUser(t, s.containerPID(mapped, "c")); uid < 65536 {
		t.Errorf("on the machine its process runs as user %d", uid)
	}
	if uid := processUser(t, s.containerPID(host, "c")); uid != 0 {
		t.Errorf("the process of a pod with the machine's users runs as user %d", uid)
	}
}

// processUser is whom a process runs as, in numbers of the machine.
func processUser(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "\nUid:")
	uid, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return uid
}

// A RuntimeClass says how the runtime runs a pod and what that costs. One whose
// handler the runtime does not have keeps the pod waiting, in the runtime's words.
func TestRuntimeClass(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(fmt.Sprintf(`
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: %[1]s}
handler: runc
overhead: {podFixed: {memory: 20Mi, cpu: 10m}}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: %[1]s-none}
handler: nothing
`, s.name))
	t.Cleanup(func() {
		_, _ = s.kubectlIn(context.Background(), "", "delete", "runtimeclass", s.name, s.name+"-none", "--wait=false")
	})
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  runtimeClassName: %s
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity], resources: {limits: {memory: 32Mi, cpu: 100m}}}]
`
	// The API server's admission reads classes from a watch, which may be behind.
	s.eventually(time.Minute, "pods with the classes are admitted", func() error {
		_, err := s.kubectlIn(t.Context(), fmt.Sprintf(pod, "good", s.name)+"---"+fmt.Sprintf(pod, "bad", s.name+"-none"), "apply", "-f", "-")
		return err
	})
	good := s.waitReady("good")
	// The pod's own limit has room for what running it costs.
	group := filepath.Dir(s.cgroupOf(good, "memory"))
	file := filepath.Join("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes")
	if onV2() {
		file = filepath.Join("/sys/fs/cgroup", group, "memory.max")
	}
	if got := readNumber(t, file); got != 52<<20 {
		t.Errorf("the pod may have %d bytes, want 32Mi and the overhead of 20Mi", got)
	}
	s.eventually(time.Minute, "an event says that there is no such handler", func() error {
		out, err := s.kubectl("get", "events", "--field-selector", "involvedObject.name=bad,reason=FailedCreatePodSandBox", "-o", "jsonpath={.items[*].message}")
		if err == nil && !strings.Contains(out, `no runtime for "nothing" is configured`) {
			err = fmt.Errorf("events: %q", out)
		}
		return err
	})
}
