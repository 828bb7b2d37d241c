package cri

import (
	"context"
	"errors"
	"fmt"
	"time"

	remote "k8s.io/cri-client/pkg"
	utilexec "k8s.io/utils/exec"

	"whylet.dev/whylet/sense/containers"
)

// ExecResult is how a command in a container went. A command that ran is a
// result, whatever its exit code; an error means that it could not be run or that
// nobody knows how it ended.
type ExecResult struct {
	Stdout, Stderr []byte
	ExitCode       int
	// TimedOut is set when the runtime killed the command after its timeout. There
	// is neither exit code nor output then: CRI hands none over.
	TimedOut bool
	// Message is the runtime's wording of the end of a command that failed or timed out.
	Message string
}

// Exec runs a command in a container and waits for it, at most for timeout (0: as
// long as ctx lives; CRI counts whole seconds, so fractions are rounded up). Of
// stdout and stderr each at most limit bytes are kept, from the beginning.
func (c *Client) Exec(ctx context.Context, id string, command []string, timeout time.Duration, limit int) (ExecResult, error) {
	timeout = wholeSeconds(timeout)
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		bounded, cancel = context.WithTimeout(ctx, timeout+execPatience)
	}
	defer cancel()
	stdout, stderr, err := c.runtime.ExecSync(containers.Quiet(bounded), containers.Bare(id), command, timeout)
	r := ExecResult{Stdout: clip(stdout, limit), Stderr: clip(stderr, limit)}
	var exit utilexec.ExitError
	switch {
	case err == nil:
		return r, nil
	case errors.As(err, &exit) && exit.Exited():
		r.ExitCode, r.Message = exit.ExitStatus(), err.Error()
		return r, nil
	case errors.Is(err, remote.ErrCommandTimedOut) && ctx.Err() == nil:
		r.TimedOut, r.Message = true, err.Error()
		return r, nil
	}
	return r, fmt.Errorf("exec in container %s: %w", id, err)
}

// execPatience is how much later than its timeout a command is given up. The
// runtime ends the command in time, and then waits until nobody holds its output
// any more: for minutes, if it left a process in a session of its own behind. On a
// busy machine the command itself may begin seconds late.
const execPatience = 10 * time.Second

func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

func clip(b []byte, limit int) []byte {
	if limit >= 0 && len(b) > limit {
		return b[:limit:limit]
	}
	return b
}
