package e2e

import (
	"fmt"
	"os"
	"path/filepath"
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
