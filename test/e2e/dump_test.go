package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// What the real kubectl leaves of a node is asked about without it, and as of then.
func TestDump(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: ends}
spec: {restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{name: c, image: "shell:1", command: [sh, -c, "echo no luck; exit 3"]}]}
`)
	s.waitPod("ends", time.Minute, "has failed", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	keep := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"json", "yaml"} {
		s.mustKubectl("cluster-info", "dump", "--namespaces", s.name, "-o", format, "--output-directory", at("folder."+format))
		keep("stream."+format, s.mustKubectl("cluster-info", "dump", "--namespaces", s.name, "-o", format))
	}
	keep("got/pods.yaml", s.mustKubectl("get", "pods", "-o", "yaml"))
	keep("got/events.txt", s.mustKubectl("get", "events"))
	keep("got/ends-c.log", s.mustKubectl("logs", "ends"))
	keep("described/pods.txt", s.mustKubectl("describe", "pods"))
	keep("described/ends.log", s.mustKubectl("logs", "ends"))
	if out, err := s.node.command(t.Context(), bin("kubectl-why"), "dump", "--to", at("whole.record")).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	for _, name := range []string{"folder.json", "folder.yaml", "stream.json", "stream.yaml", "got", "described", "whole.record"} {
		cmd := exec.CommandContext(t.Context(), bin("kubectl-why"), "ends", "-n", s.name, "--dump", at(name))
		cmd.Env = append(os.Environ(), "KUBECONFIG=/nowhere")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		for _, part := range []string{"app-exit-error", "exit code 3", "no luck"} {
			if !strings.Contains(string(out), part) {
				t.Errorf("%s lacks %q:\n%s", name, part, out)
			}
		}
	}
}
