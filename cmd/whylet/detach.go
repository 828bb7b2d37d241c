package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"whylet.dev/whylet/exit"
)

// detachedFlag is the hidden flag by which a command knows that it is the
// detached one and that a pipe is open for its report.
const detachedFlag = "detached"

// readyTimeout is how long up --detach waits for the node to be Ready. A start
// takes seconds; after a crash of the machine etcd may need longer, and an emulated
// machine takes minutes.
const readyTimeout = 10 * time.Minute

// detach runs the same command again in a session of its own, relays what it
// reports, and returns when the node is Ready or has failed. When ctx ends first
// the node is told to stop.
func detach(ctx context.Context, cmd *cobra.Command, s streams, dataDir string) error {
	began := time.Now()
	output, err := openOutput(dataDir)
	if err != nil {
		return err
	}
	defer output.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("a pipe to the node: %w", err)
	}
	defer reader.Close()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the running binary: %w", err)
	}
	child := exec.Command(self, detachedArgs(cmd)...)
	child.Dir = "/"
	child.Stdout, child.Stderr = output, output
	child.ExtraFiles = []*os.File{writer}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = child.Start()
	writer.Close()
	if err != nil {
		return fmt.Errorf("starting the node: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = child.Process.Signal(syscall.SIGTERM) })()

	p := newProgress(s.err)
	defer p.step("")
	// A pipe takes deadlines: a node that never gets Ready is not waited for.
	if err := reader.SetReadDeadline(began.Add(readyTimeout)); err != nil {
		return fmt.Errorf("a deadline for the node's report: %w", err)
	}
	decoder := json.NewDecoder(reader)
	for {
		var m message
		err := decoder.Decode(&m)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return exit.With(exit.NotRunning, fmt.Errorf("the node runs, but is not Ready after %s; whylet status and %s say more, whylet down stops it",
				readyTimeout, filepath.Join(dataDir, "logs", "whylet.log")))
		}
		if err != nil {
			return lost(ctx, child, err, output.Name())
		}
		switch {
		case m.Step != "":
			p.step(m.Step)
		case m.Ready != nil:
			p.step("")
			announce(s, *m.Ready, time.Since(began))
			return child.Process.Release()
		case m.Running != nil:
			p.step("")
			announceRunning(s, *m.Running)
			return child.Wait()
		case m.Error != "":
			_ = child.Wait()
			return exit.With(m.Code, errors.New(m.Error))
		}
	}
}

// errLost: a detached node ended without a word. Its output may say why.
var errLost = errors.New("the node ended while starting")

// lost is the error for a node whose report ended without a result.
func lost(ctx context.Context, child *exec.Cmd, cause error, output string) error {
	exit := child.Wait()
	if ctx.Err() != nil {
		return errors.New("interrupted; the node was stopped")
	}
	if errors.Is(cause, io.EOF) {
		cause = errors.New("it said nothing more")
	}
	return fmt.Errorf("%w (%w; %w); its output is in %s", errLost, cause, exit, output)
}

func outputFile(dataDir string) string { return filepath.Join(dataDir, "logs", "whylet-output.log") }

// openOutput is the file for what a detached node writes past its log: a panic.
func openOutput(dataDir string) (*os.File, error) {
	if err := refuseForeignUnlessOurs(dataDir); err != nil {
		return nil, err
	}
	path := outputFile(dataDir)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the log directory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the output file: %w", err)
	}
	return f, nil
}

// refuseForeignUnlessOurs keeps detach from writing into somebody else's directory.
func refuseForeignUnlessOurs(dataDir string) error {
	if _, err := os.Stat(instanceFile(dataDir)); err == nil {
		return nil
	}
	return refuseForeign(dataDir)
}

// detachedArgs are the arguments of this command with the flags it was given,
// --detached in place of --detach.
func detachedArgs(cmd *cobra.Command) []string {
	args := []string{cmd.Name(), "--" + detachedFlag}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "detach" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}
