package cluster

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// child is a control plane in a process of its own.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
}

// startChild runs this binary as kind with config, and kills it at the end.
func startChild(t *testing.T, kind string, config Config) *child {
	t.Helper()
	encoded, err := json.Marshal(map[string]any{
		"DataDir": config.DataDir, "NodeName": config.NodeName, "NodeIP": config.NodeIP,
		"APIPort": config.APIPort, "Kubeconfig": config.Kubeconfig,
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+kind, configEnv+"="+string(encoded))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, lines: make(chan string, 100)}
	go func() {
		defer close(c.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			c.lines <- scanner.Text()
		}
	}()
	t.Cleanup(c.kill)
	return c
}

// expect waits for a line that starts with prefix and returns the rest of it.
func (c *child) expect(prefix string) string {
	c.t.Helper()
	deadline := time.After(40 * time.Second)
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("the process ended without saying %q", prefix)
			}
			c.t.Log("child:", line)
			if rest, found := strings.CutPrefix(line, prefix); found {
				return strings.TrimSpace(rest)
			}
			if strings.HasPrefix(line, "error ") {
				c.t.Fatalf("the process said %q instead of %q", line, prefix)
			}
		case <-deadline:
			c.t.Fatalf("the process did not say %q in time", prefix)
		}
	}
}

// kill ends the process the hard way. It may have ended already.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// terminate asks the process to stop and returns how long that took.
func (c *child) terminate() time.Duration {
	c.t.Helper()
	began := time.Now()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	for line := range c.lines {
		c.t.Log("child:", line)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the process stopped with %v", err)
	}
	return time.Since(began)
}
