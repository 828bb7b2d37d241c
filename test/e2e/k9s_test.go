package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// The commands of the plugin for k9s answer, given the variables that k9s gives them
// (https://k9scli.io/topics/plugins): the resource's name is the plural, in the view's words.
func TestK9sPlugin(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("less"); err != nil {
		t.Skip("the plugin shows answers by less, which is not installed")
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "k9s-plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Plugins map[string]struct {
			Scopes  []string `json:"scopes"`
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"plugins"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	s := newSpace(t, shared)
	s.apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "shell:1", command: [sh, -c, "echo no luck; exit 3"]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`)
	s.eventually(time.Minute, "the Deployment's pod ends", func() error {
		return saysAll(s.node.command(t.Context(), bin("kubectl-why"), "-n", s.name, "deploy/web"), []string{"app-exit-error"})
	})
	pod := strings.TrimSpace(s.mustKubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[0].metadata.name}"))
	node := strings.TrimSpace(s.mustKubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"))
	played := map[string][]string{
		"pods":        {"NAME=" + pod, "app-exit-error"},
		"containers":  {"POD=" + pod, "NAME=c", "app-exit-error"},
		"deployments": {"RESOURCE_NAME=deployments", "NAME=web", "app-exit-error"},
		"services":    {"RESOURCE_NAME=services", "NAME=web", "app-exit-error"},
		"nodes":       {"NAME=" + node, node},
	}
	for name, p := range file.Plugins {
		for _, scope := range p.Scopes {
			given, ok := played[scope]
			if !ok {
				continue
			}
			delete(played, scope)
			last := len(given) - 1
			cmd := s.node.command(t.Context(), p.Command, p.Args...)
			cmd.Env = append(append(cmd.Env, "NAMESPACE="+s.name, "CONTEXT="+strings.TrimSpace(s.mustKubectl("config", "current-context"))), given[:last]...)
			cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(bin("kubectl"))+":"+os.Getenv("PATH"))
			if err := saysAll(cmd, given[last:]); err != nil {
				t.Errorf("%s on %s: %v", name, scope, err)
			}
		}
	}
	if len(played) > 0 {
		t.Errorf("the plugin has nothing for %v", played)
	}
}
