package e2e

import (
	"debug/elf"
	"os"
	"strings"
	"testing"
	"time"
)

// mostClient is how large the client may be, in bytes: it is copied to laptops. client-go makes most of it, and more
// with each version of Kubernetes.
const mostClient = 43 << 20

// The client asks a node as kubectl would, on its own and as kubectl's plugin, and its
// exit codes are those that scripts go by.
func TestClient(t *testing.T) {
	t.Parallel()
	if size := stripped(t, bin("kubectl-why")); size > mostClient {
		t.Errorf("the client has %d bytes; it may have %d", size, mostClient)
	}
	s := newSpace(t, shared)
	const manifest = `
apiVersion: v1
kind: Pod
metadata: {name: well, labels: {app: client}}
spec: {terminationGracePeriodSeconds: 0, containers: [{name: c, image: "shell:1", command: [sleep, "3600"]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: ends, labels: {app: client}}
spec: {terminationGracePeriodSeconds: 0, containers: [{name: c, image: "shell:1", command: [sh, -c, "echo no luck; exit 3"]}]}
`
	s.apply(manifest)
	s.waitReady("well")
	s.eventually(time.Minute, "the client says why ends does not run", func() error {
		return saysAll(s.node.command(s.t.Context(), bin("kubectl-why"), "-n", s.name, "ends"), []string{"app-exit-error", "exit code 3", "no luck"})
	})
	for _, c := range []struct {
		args  string
		code  int
		parts []string
	}{
		{"well ends", 0, []string{"Healthy", "app-exit-error"}},
		{"-l app=client -o json", 0, []string{`"kind": "AnswerList"`}},
		{"--all", 0, []string{"ends"}},
		{"-f -", 0, []string{"Healthy", "app-exit-error"}},
		{"ends -o junit", 0, []string{`type="app-exit-error"`}},
		{"nobody", 1, []string{"nothing is known of a pod"}},
		{"well --request-timeout=1ns", 1, nil},
		{"well --server=https://127.0.0.1:1 --request-timeout=2s", 1, []string{"refused"}},
		{"well --as=mallory", 1, []string{"mallory"}},
		{"well --nosuch", 2, []string{"unknown flag"}},
		{"__complete e", 0, []string{"ends"}},
	} {
		cmd := s.node.command(t.Context(), bin("kubectl-why"), append(strings.Fields(c.args), "-n", s.name)...)
		if strings.HasPrefix(c.args, "__complete") {
			cmd = s.node.command(t.Context(), bin("kubectl-why"), "__complete", "-n", s.name, "e")
		}
		cmd.Stdin = strings.NewReader(manifest)
		out, err := cmd.CombinedOutput()
		code := 0
		if err != nil {
			code = exitCode(err)
		}
		missing := ""
		for _, p := range c.parts {
			if !strings.Contains(string(out), p) {
				missing = p
			}
		}
		if code != c.code || missing != "" {
			t.Errorf("%s: exit code %d, want %d; %q is missing in\n%s", c.args, code, c.code, missing, out)
		}
	}
}

// stripped is the size of a program without its symbols.
func stripped(t *testing.T, file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	program, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	size := info.Size()
	for _, s := range program.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 {
			size -= int64(s.FileSize)
		}
	}
	return size
}
