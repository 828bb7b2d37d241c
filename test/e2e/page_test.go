package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/test/e2e/scenarios"
)

// The page of a pod that is in trouble right now: an OOM loop, and the troubles of two
// of the seeds, drawn by a real Chromium. What each mark of it looks like is tested in
// web/browser, with recorded histories of the same.
func TestPagesOfLivePods(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on this machine; apt-get install chromium")
	}
	for name, test := range map[string]struct {
		restarts int32
		marks    []string // must be among the marks of its lanes
	}{
		"oom-main": {1, []string{"OOM-killed", "137"}},
		"seed-000": {1, []string{"OOM-killed a child process: apache2", "liveness probe timed out", "the node ends it"}},
		"seed-002": {2, []string{"the answer is 404", "the node ends it"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t, shared)
			s.play(name)
			s.waitPod("subject", 2*time.Minute, "restarted", func(p *v1.Pod) bool {
				return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].RestartCount >= test.restarts
			})
			for how, draw := range map[string]func(string, string) (string, error){"saved": s.drawn, "followed": s.followed} {
				s.eventually(time.Minute, "page that is "+how, func() error {
					drawn, err := draw(chromium, "pod/subject")
					for _, want := range append(test.marks, `class="verdict"`, "<canvas") {
						if err == nil && !strings.Contains(drawn, want) {
							err = fmt.Errorf("the page that is %s does not show %q", how, want)
						}
					}
					return err
				})
			}
		})
	}
}

// The page of a deployment has its pods above each other, and that of the node has them by
// their runs.
func TestPagesOfManyPods(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on this machine; apt-get install chromium")
	}
	s := newSpace(t, shared)
	s.apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "busybox:1", command: [sh, -c, "sleep 2; exit 3"]}]}
`)
	node := ""
	s.eventually(time.Minute, "page of the deployment", func() error {
		drawn, err := s.drawn(chromium, "deployment/web")
		if n := strings.Count(drawn, `class="podname"`); err == nil && (n != 3 || !strings.Contains(drawn, "exit 3")) {
			err = fmt.Errorf("it shows %d pods", n)
		}
		return err
	})
	s.eventually(time.Minute, "page of the node", func() error {
		var err error
		if node, err = s.kubectl("get", "pods", "-o", "jsonpath={.items[0].spec.nodeName}"); err != nil {
			return err
		}
		drawn, err := s.drawn(chromium, "node/"+node)
		if n := strings.Count(drawn, "Pods: "+s.name+"/web-"); err == nil && n != 3 {
			err = fmt.Errorf("it shows %d of the pods", n)
		}
		return err
	})
}

// drawn is what Chromium makes of the page of something, its script run. That its cause is
// not known is no error.
func (s *space) drawn(chromium, what string) (string, error) {
	html, err := s.node.command(s.t.Context(), bin("kubectl"), "why", what, "-n", s.name, "-o", "html").Output()
	if ended := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &ended) || len(html) == 0) {
		return "", fmt.Errorf("kubectl why: %w", err)
	}
	page := filepath.Join(s.t.TempDir(), "page.html")
	if err := os.WriteFile(page, html, 0o600); err != nil {
		return "", err
	}
	return s.dumped(chromium, "file://"+page)
}

// followed is the same of the page that kubectl why serves until Ctrl-C.
func (s *space) followed(chromium, what string) (string, error) {
	cmd := s.node.command(s.t.Context(), bin("kubectl"), "why", what, "-n", s.name, "--web")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	drawn := ""
	if err == nil {
		drawn, err = s.dumped(chromium, strings.TrimSpace(url))
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return "", err
	}
	if ended := cmd.Wait(); ended != nil && err == nil {
		err = fmt.Errorf("kubectl why --web after Ctrl-C: %w", ended)
	}
	return drawn, err
}

// dumped is the page at an address once its script ran, where the node is.
func (s *space) dumped(chromium, url string) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	out, err := s.node.command(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+s.t.TempDir(),
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--virtual-time-budget=5000", "--dump-dom", url).Output()
	return string(out), err
}

// play brings the trouble of a scenario about, in the background until the test ends.
func (s *space) play(scenario string) {
	s.t.Helper()
	all, err := scenarios.Load("scenarios/own", scenario)
	if err != nil {
		s.t.Fatal(err)
	}
	s.apply(all[0].Manifest)
	if all[0].Trigger == "" {
		return // the pod is trouble enough
	}
	run := all[0].Shell(all[0].Trigger)
	cmd := s.node.command(s.t.Context(), run[0], run[1:]...)
	cmd.Env = append(cmd.Env, "NS="+s.name, "DATA="+s.node.data(), fmt.Sprintf("PATH=%s:%s", filepath.Dir(bin("kubectl")), os.Getenv("PATH")))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its clients end with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Wait() })
}
