package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A pod reaches the API by name, with the authority and the token it was given,
// and may do what RBAC says and no more.
func TestServiceAccountToken(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader}]
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  serviceAccountName: reader
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "shell:1"}]
`)
	s.waitReady("p")
	ask := func(resource string) string {
		t.Helper()
		out, err := s.exec("p", "sh", "-c", "cd /var/run/secrets/kubernetes.io/serviceaccount; "+
			`curl -sS --max-time 10 --cacert ca.crt -H "Authorization: Bearer $(cat token)" https://kubernetes.default/api/v1/namespaces/$(cat namespace)/`+resource)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	contains(t, ask("configmaps"), `"kind": "ConfigMapList"`, "kube-root-ca.crt")
	contains(t, ask("secrets"), `"code": 403`, `secrets is forbidden: User \"system:serviceaccount:`+s.name+`:reader\" cannot list resource \"secrets\"`)

	out, err := s.exec("p", "sh", "-c", "curl -sS --max-time 10 -k https://kubernetes.default/api/v1/namespaces")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, out, `"code": 403`, "system:anonymous")
	if out := s.mustKubectl("auth", "can-i", "list", "configmaps", "--as=system:serviceaccount:"+s.name+":reader"); strings.TrimSpace(out) != "yes" {
		t.Errorf("can-i says %q", out)
	}
}

// The node may touch what is its own and its pods', nothing else.
func TestNodeRestriction(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	node := strings.TrimSpace(s.mustKubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"))
	s.mustKubectl("create", "secret", "generic", "unused", "--from-literal=a=b")
	as := []string{
		"--server", s.server(), "--certificate-authority", filepath.Join(shared.data(), "pki", "ca.crt"),
		"--client-certificate", filepath.Join(shared.data(), "pki", "node.crt"), "--client-key", filepath.Join(shared.data(), "pki", "node.key"),
	}
	refused := func(want string, args ...string) {
		t.Helper()
		_, err := s.kubectl(append(args, as...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("kubectl %s as the node: %v, want %q", strings.Join(args, " "), err, want)
		}
	}
	if _, err := s.kubectl(append([]string{"get", "node", node}, as...)...); err != nil {
		t.Errorf("the node cannot read itself: %v", err)
	}
	refused("no relationship found between node", "get", "secret", "unused")
	refused("is not allowed to modify labels: node-restriction.kubernetes.io/x", "label", "node", node, "node-restriction.kubernetes.io/x=y")
	refused("forbidden", "delete", "namespace", s.name)
	refused("forbidden", "create", "deployment", "d", "--image=busybox:1")
}

// server is the address of the API server.
func (s *space) server() string {
	s.t.Helper()
	return strings.TrimSpace(s.mustKubectl("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"))
}

// Keys, credentials, the database and the memory are readable by root only. The
// directory that all of them are in can be passed through, and all that lies there
// is closed, but for the way to the roots of containers.
func TestPrivateFiles(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(shared.data())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.Name() != "run" && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	for dir, mode := range map[string]fs.FileMode{"": 0o711, "run": 0o711} {
		if info, err := os.Stat(filepath.Join(shared.data(), dir)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q: %v %v", dir, info, err)
		}
	}
	for _, dir := range []string{"pki", "kubeconfig", "etcd", "node", "node/journal", "logs"} {
		if info, err := os.Stat(filepath.Join(shared.data(), dir)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", dir, info, err)
		}
	}
	seen := 0
	for _, dir := range []string{"pki", "kubeconfig", "node/journal", "logs"} {
		err := filepath.WalkDir(filepath.Join(shared.data(), dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".crt") || strings.HasSuffix(path, ".pub") {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			seen++
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	for _, file := range []string{shared.kubeconfig, filepath.Join(shared.data(), "whylet.json")} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", file, info, err)
		}
	}
	if seen < 10 {
		t.Errorf("only %d files were looked at", seen)
	}
}
