package scenarios

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/observe/kubelet"
	"whylet.dev/whylet/test/peer"
)

var rewrite = flag.Bool("rewrite", false, "write what this version of kubelet logs into observe/kubelet/testdata; read the diff before you commit it")

// loggers are pods about which kubelet logs all of kubelet.Messages.
const loggers = `
{apiVersion: v1, kind: Pod, metadata: {name: probed}, spec: {automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers: [{name: c, image: "nginx:1",
  livenessProbe: {httpGet: {port: 80, path: /missing}, periodSeconds: 1, initialDelaySeconds: 3, failureThreshold: 2}, readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: sent}, spec: {automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers: [{name: c, image: "busybox:1",
  command: [sh, -c, "while true; do printf 'HTTP/1.1 302 Found\r\nLocation: http://elsewhere.invalid/\r\nContent-Length: 0\r\n\r\n' | nc -l -p 8080; done"],
  livenessProbe: {exec: {command: [/none]}, periodSeconds: 1}, readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: hooked}, spec: {automountServiceAccountToken: false, terminationGracePeriodSeconds: 5, containers: [{name: c, image: "busybox:1",
  command: [sleep, "1000"], lifecycle: {postStart: {exec: {command: [sh, -c, "echo not yet; exit 3"]}}, preStop: {exec: {command: [sh, -c, "echo no; exit 4"]}}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: eater}, spec: {automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers: [{name: c, image: "eater:1", args: ["-mib", "625", "-rate", "40"]}]}}
`

// What the agent reads of kubelet's log is no API: it is tried with each version that is played.
func TestObserveLog(t *testing.T) {
	if os.Getenv("WHYLET_OBSERVE") == "" {
		t.Skip("it runs a real kubelet with the agent beside it: make test-observe")
	}
	smaller, err := peer.Smaller(700 << 20)
	if err != nil {
		t.Fatal(err)
	}
	node := besideKubelet(t, nil, smaller, "logging: {verbosity: 3}")
	if err := node.stack.Namespace(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	if out, err := node.Run(t.Context(), loggers, "kubectl", "-n", "shop", "apply", "-f", "-"); err != nil {
		t.Fatal(string(out), err)
	}
	log := filepath.Join(node.stack.Dir, "logs", "kubelet.log")
	follow, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	found := map[string]string{}
	record := func(text string) {
		line, ok := kubelet.ParseLine(text, time.Now(), time.Local)
		if !ok {
			return
		}
		if _, about, understood := kubelet.Read(line); about && understood && slices.Contains(kubelet.Messages, line.Message) && found[line.Message] == "" {
			found[line.Message] = text
		}
		if len(found) == len(kubelet.Messages) {
			stop()
		}
	}
	if err := kubelet.FollowFile(follow, log, record, nil); err != nil {
		t.Fatal(err)
	}
	for _, message := range kubelet.Messages {
		if found[message] == "" {
			t.Errorf("this kubelet does not log %q, or not as it is read", message)
		}
	}
	if *rewrite && !t.Failed() {
		keepLog(t, node, found)
	}
}

// keepLog writes what was logged for the test of what reads it.
func keepLog(t *testing.T, node *Kubelet, found map[string]string) {
	t.Helper()
	out, err := node.Run(t.Context(), "", "kubectl", "get", "nodes", "-o", "jsonpath={.items[0].status.nodeInfo.kubeletVersion}")
	if err != nil {
		t.Fatal(err)
	}
	major, rest, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	var all strings.Builder
	for _, message := range kubelet.Messages {
		all.WriteString(strings.TrimSuffix(found[message], "\n") + "\n")
	}
	if err := os.WriteFile(filepath.Join("..", "..", "..", "observe", "kubelet", "testdata", major+"."+minor+".log"), []byte(all.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
