package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"whylet.dev/whylet/fact"
)

// ErrExecTimeout says that a command did not end within its timeout.
var ErrExecTimeout = errors.New("command timed out")

// maxExecOutput bounds the output in a message (pkg/probe/exec/exec.go).
const maxExecOutput = 10 << 10

func (p *Prober) execute(pl *plan) outcome {
	ev := pl.newEvidence()
	if p.exec == nil {
		return outcome{evidence: ev, err: errors.New("exec probes are not supported here: the prober was made without an ExecFunc")}
	}
	output, code, err := p.exec(p.ctx, pl.containerID, pl.command, pl.timeout)
	output = output[:min(len(output), maxExecOutput)]
	ev.Output = excerpt(output)
	switch {
	case err != nil && execTimedOut(err):
		// The words are those of cri-client (remote_runtime.go).
		err = fmt.Errorf("%w: %q timed out after %s", ErrExecTimeout, strings.Join(pl.command, " "), pl.timeout)
		noteError(ev, err)
		ev.Timeout = true
		return outcome{verdict: fact.Failure, message: err.Error(), evidence: ev}
	case err != nil:
		return outcome{evidence: ev, err: asUnrunnable(pl.command, err)}
	}
	ev.ExitCode = &code
	if code != 0 {
		return outcome{verdict: fact.Failure, message: string(output), evidence: ev}
	}
	return outcome{verdict: fact.Success, evidence: ev}
}

func execTimedOut(err error) bool {
	return errors.Is(err, ErrExecTimeout) || errors.Is(err, context.DeadlineExceeded) ||
		status.Code(err) == codes.DeadlineExceeded
}

// unrunnable is a command that the container has no program for. Its words are the
// runtime's, which wrap what was looked for in its own affairs; plain says it.
type unrunnable struct {
	program string
	inPath  bool
	error
}

// asUnrunnable recognises what runc says of a program that it does not find
// (libcontainer/init_linux.go: exec.LookPath). There is no code to tell it by.
func asUnrunnable(command []string, err error) error {
	if len(command) == 0 {
		return err
	}
	program := command[0]
	_, found, ok := strings.Cut(err.Error(), fmt.Sprintf("exec: %q: ", program))
	switch {
	case !ok:
		return err
	case strings.HasPrefix(found, "executable file not found in $PATH"):
		return &unrunnable{program, true, err}
	case strings.HasPrefix(found, "stat ") && strings.Contains(found, "no such file or directory"):
		return &unrunnable{program, false, err}
	}
	return err
}

func (e *unrunnable) Unwrap() error { return e.error }

func (e *unrunnable) plain() string {
	where := "in the container"
	if e.inPath {
		where = "in any folder of the container's PATH"
	}
	return fmt.Sprintf("the probe cannot work: there is no %s %s", e.program, where)
}
