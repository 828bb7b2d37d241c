package scenarios

import (
	"bytes"
	_ "embed"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// library holds the shell functions that scripts share.
//
//go:embed lib.sh
var library string

// Shell returns the arguments of bash that run one of the scenario's scripts after the shared functions,
// with its manifest in $MANIFEST.
func (s *Scenario) Shell(script string) []string {
	return []string{"env", "MANIFEST=" + s.Manifest, "bash", "-eu", "-c", library + script}
}

// runScript runs a prepared script and ends the processes that it started.
func runScript(cmd *exec.Cmd) (string, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out.String())
	}
	return out.String(), nil
}
