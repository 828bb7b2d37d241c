package e2e

import (
	"bufio"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// The demo shows its troubles on a node that runs, with the answer that each is about,
// and leaves nothing; also when it is broken off, and when its page is looked at. One
// after the other, for a node has one namespace for it.
func TestDemo(t *testing.T) {
	t.Parallel()
	s := &space{t: t, node: shared, name: "default"}
	nothingLeft := func() {
		t.Helper()
		if out, err := s.kubectl("get", "namespace", "whylet-demo"); err == nil {
			t.Errorf("the namespace is left: %s", out)
		}
		if out, _ := shared.whylet(t, "image", "list", "--data-dir", shared.data()); strings.Contains(out, "whylet.local/demo") {
			t.Errorf("the image is left: %s", out)
		}
	}

	out, code := shared.whylet(t, "demo", "--data-dir", shared.data())
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	contains(t, out, "5/5", "cause: container-memory-limit-child", "cause: sibling-not-ready", "cause: app-unhealthy", "cause: app-not-listening", "cause: pod-memory-limit")
	if n := strings.Count(out, "\n→ "); n != 5 {
		t.Errorf("%d scenes are explained:\n%s", n, out)
	}
	nothingLeft()

	demo, lines := startDemo(t)
	for lines.Scan() && !strings.Contains(lines.Text(), "1/5") {
	}
	_ = demo.Signal(os.Interrupt)
	rest(lines)
	nothingLeft()

	demo, lines = startDemo(t, "--only", "mesh", "--web")
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "http://") {
	}
	if html, err := shared.command(t.Context(), "curl", "-sS", lines.Text()).Output(); err != nil || !strings.Contains(string(html), "mesh") {
		t.Errorf("the page at %q: %v, %.200s", lines.Text(), err, html)
	}
	_ = demo.Signal(os.Interrupt)
	rest(lines)
	nothingLeft()
}

func startDemo(t *testing.T, flags ...string) (*os.Process, *bufio.Scanner) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	cmd := shared.command(ctx, bin("whylet"), append([]string{"demo", "--data-dir", shared.data()}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait()
		cancel()
	})
	return cmd.Process, bufio.NewScanner(out)
}

// rest reads until the program ends.
func rest(lines *bufio.Scanner) {
	for lines.Scan() {
	}
}
