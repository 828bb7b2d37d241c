package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whylet.dev/whylet/exit"
)

const lintable = `
apiVersion: v1
kind: Service
metadata: {name: s}
---
apiVersion: v1
kind: Pod
metadata: {name: large}
spec:
  containers:
  - name: c
    resources: {requests: {memory: 100Mi}, limits: {memory: 3Gi}}
    readinessProbe: {httpGet: {path: /, port: web}}
`

func lintOutput(t *testing.T, stdin string, args ...string) (out, errOut string, code exit.Code) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), append([]string{"lint"}, args...), streams{in: strings.NewReader(stdin), out: &o, err: &e})
	return o.String(), e.String(), code
}

func TestLint(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pod.yaml"), []byte(lintable), 0o600); err != nil {
		t.Fatal(err)
	}
	out, said, code := lintOutput(t, "", "-f", dir, "--node-memory", "1Gi")
	const want = `error Pod/large, container c: readinessProbe asks port "web", and the container has no port of that name [probe-port-unknown]
    in:  DIR/pod.yaml:13
    why: the probe can never succeed: the pod never becomes ready, or is restarted again and again
    fix: name the port in the container's ports, or give the probe a number
warning all together: memory limits add up to 3Gi, 332 % of the 924Mi that pods may have [memory-overcommitted]
    in:  DIR/pod.yaml:6
    why: if all pods used their limits, some would be evicted, in this order: Pod/large
    fix: set limits whose sum fits, for instance 924Mi for a pod of Pod/large; and requests close to the limits for pods that must stay
`
	if got := strings.ReplaceAll(out, dir, "DIR"); got != want || code != exit.Failed || said != "objects that make pods: 1; findings: 2\n" {
		t.Errorf("exit code %d, said %q, wrote\n%s", code, said, got)
	}
}

func TestLintFormats(t *testing.T) {
	for _, format := range []string{"json", "sarif"} {
		out, _, code := lintOutput(t, lintable, "-f", "-", "-o", format, "--node-memory", "1Gi", "--fail-on", "never")
		var parsed struct {
			Findings []struct{ Rule, Severity string }
			Runs     []struct {
				Results []struct {
					RuleID, Level string
					Locations     []struct {
						PhysicalLocation struct{ Region struct{ StartLine int } }
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &parsed); err != nil || code != exit.OK {
			t.Fatalf("%s: exit code %d, %v", format, code, err)
		}
		switch {
		case format == "json" && len(parsed.Findings) == 2 && parsed.Findings[0].Severity == "error":
		case format == "sarif" && len(parsed.Runs) == 1 && len(parsed.Runs[0].Results) == 2 && parsed.Runs[0].Results[1].Level == "warning" && parsed.Runs[0].Results[0].Locations[0].PhysicalLocation.Region.StartLine == 13:
		default:
			t.Errorf("%s: %s", format, out)
		}
	}
}

func TestLintExitCodes(t *testing.T) {
	warning := strings.ReplaceAll(lintable, "    readinessProbe: {httpGet: {path: /, port: web}}", "")
	for _, c := range []struct {
		stdin string
		args  []string
		code  exit.Code
	}{
		{warning, []string{"-f", "-", "--node-memory", "1Gi"}, exit.OK},
		{warning, []string{"-f", "-", "--node-memory", "1Gi", "--fail-on", "warning"}, exit.Failed},
		{warning, []string{"-f", "-", "--node-memory", "8Gi", "--fail-on", "note"}, exit.OK},
		{"kind: [", []string{"-f", "-"}, exit.Failed},
		{"", []string{"-f", "/nowhere"}, exit.Failed},
		{"", nil, exit.Usage},
		{"", []string{"-f", "-", "-o", "xml"}, exit.Usage},
		{"", []string{"-f", "-", "--fail-on", "pain"}, exit.Usage},
		{"", []string{"-f", "-", "--node-memory", "lots"}, exit.Usage},
		{"", []string{"-f", "-", "--node-memory", "1Gi", "--cluster"}, exit.Usage},
		{"", []string{"-f", "-", "--history", "a", "--data-dir", "b"}, exit.Usage},
		{"", []string{"-f", "-", "--history", "/nowhere"}, exit.Failed},
	} {
		if _, said, code := lintOutput(t, c.stdin, c.args...); code != c.code {
			t.Errorf("%v: exit code %d, want %d: %s", c.args, code, c.code, said)
		}
	}
}
