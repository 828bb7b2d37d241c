package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Node is a whole node in a network namespace of its own.
type Node struct {
	bin, dir, netns string
	flags           []string
	// turn bounds how many programs run at once: each reads a few hundred
	// megabytes, and probes must stay on time beside them.
	turn chan struct{}
}

// SharedFlags are those of a node on which many scenarios run: a pod may have more
// processes than any decent one starts.
var SharedFlags = []string{"--pod-max-pids", "256"}

// StartNode starts a node with the programs in bin and loads the images there.
// What it made is gone again when it fails.
func StartNode(ctx context.Context, bin string, flags ...string) (*Node, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	images, err := filepath.Glob(filepath.Join(bin, "images", "*.tar"))
	if err != nil || len(images) == 0 {
		return nil, fmt.Errorf("no images in %s: run 'make images'", bin)
	}
	dir, err := os.MkdirTemp("", "whylet-scenarios-")
	if err != nil {
		return nil, err
	}
	n := &Node{bin: bin, dir: dir, netns: filepath.Base(dir), turn: make(chan struct{}, 3)}
	for _, f := range flags {
		if f != "" {
			n.flags = append(n.flags, f)
		}
	}
	for _, args := range [][]string{{"netns", "add", n.netns}, {"-n", n.netns, "link", "set", "lo", "up"}} {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return nil, errors.Join(fmt.Errorf("ip %v: %w: %s", args, err, out), n.Purge())
		}
	}
	if err := n.up(ctx); err != nil {
		return nil, errors.Join(err, n.Purge())
	}
	if err := n.Load(ctx, images...); err != nil {
		return nil, errors.Join(err, n.Purge())
	}
	return n, nil
}

// Load takes archives of images.
func (n *Node) Load(ctx context.Context, archives ...string) error {
	_, err := n.Run(ctx, "", "whylet", append([]string{"image", "load", "--data-dir", n.data()}, archives...)...)
	return err
}

// Sights are ours alone.
func (n *Node) Sights() []Sight { return []Sight{ByNode} }

// Situations leave out what only a real kubelet has.
func (n *Node) Situations() []Situation {
	return []Situation{Live, NoEvents, Restarted, Recovered, Deleted}
}

// Why asks kubectl why's program.
func (n *Node) Why(ctx context.Context, _ Sight, subject, namespace string) ([]byte, error) {
	return n.Run(ctx, "", "whylet", "why", subject, "-n", namespace, "-o", "json")
}

// Record asks kubectl why.
func (n *Node) Record(ctx context.Context, namespace, file string) error {
	_, err := n.Run(ctx, "", "kubectl-why", "record", "-n", namespace, "--to", file, "--force")
	return err
}

func (n *Node) data() string       { return filepath.Join(n.dir, "data") }
func (n *Node) kubeconfig() string { return filepath.Join(n.dir, "kubeconfig") }

// up starts the node. How full the disk of the machine is, is no scenario's subject.
func (n *Node) up(ctx context.Context) error {
	_, err := n.Run(ctx, "", "whylet", append([]string{"up", "--detach", "--data-dir", n.data(), "--kubeconfig", n.kubeconfig(), "--eviction-hard", "memory.available<100Mi"}, n.flags...)...)
	return err
}

// command is a program in the node's network namespace, with its kubeconfig.
func (n *Node) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--net=/run/netns/" + n.netns, program}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+n.kubeconfig(), "DATA="+n.data(), "PATH="+n.bin+":"+os.Getenv("PATH"))
	return cmd
}

// Run runs a built program and returns what it printed; also where it failed.
func (n *Node) Run(ctx context.Context, stdin, program string, args ...string) ([]byte, error) {
	select {
	case n.turn <- struct{}{}:
		defer func() { <-n.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	cmd := n.command(ctx, filepath.Join(n.bin, program), args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, errOut.String())
	}
	return out.Bytes(), nil
}

// Script runs a script to its end and returns what it printed. What it started
// ends with ctx.
func (n *Node) Script(ctx context.Context, c *Scenario, script, namespace string) (string, error) {
	run := c.Shell(script)
	cmd := n.command(ctx, run[0], run[1:]...)
	cmd.Env = append(cmd.Env, "NS="+namespace, "NETNS="+n.netns)
	return runScript(cmd)
}

// Restart kills the node's process as a crash would, and starts it again.
// Containers go on meanwhile.
func (n *Node) Restart(ctx context.Context, in Situation) error {
	if in != Restarted {
		return nil
	}
	raw, err := os.ReadFile(filepath.Join(n.data(), "whylet.json"))
	if err != nil {
		return err
	}
	var instance struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(raw, &instance); err != nil || instance.PID <= 1 {
		return fmt.Errorf("no process in %s: %w", raw, err)
	}
	if err := syscall.Kill(instance.PID, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the agent: %w", err)
	}
	gone := func() error {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", instance.PID))
		if err == nil && !strings.Contains(string(state), ") Z ") {
			return fmt.Errorf("process %d outlives SIGKILL", instance.PID)
		}
		return nil
	}
	if err := eventually(ctx, 100*time.Millisecond, gone); err != nil {
		return err
	}
	return n.up(ctx)
}

// Stream starts a built program whose output is read while it runs.
func (n *Node) Stream(ctx context.Context, program string, args ...string) (*Stream, error) {
	return newStream(n.command(ctx, filepath.Join(n.bin, program), args...))
}

// Stream is the output of a program that runs on.
type Stream struct {
	io.ReadCloser
	cmd *exec.Cmd
}

func newStream(cmd *exec.Cmd) (*Stream, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Stream{ReadCloser: out, cmd: cmd}, cmd.Start()
}

// Close ends the program.
func (s *Stream) Close() error {
	_ = s.cmd.Process.Kill() // it may have ended by itself
	_ = s.cmd.Wait()         // and it was killed
	return nil
}

// Keep copies the node's memory.
func (n *Node) Keep(dir string) error {
	return os.CopyFS(filepath.Join(dir, "journal"), os.DirFS(filepath.Join(n.data(), "node", "journal")))
}

// Purge ends the node and removes all that it made.
func (n *Node) Purge() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	_, down := n.Run(ctx, "", "whylet", "down", "--purge", "--data-dir", n.data())
	netns := exec.CommandContext(ctx, "ip", "netns", "del", n.netns).Run()
	return errors.Join(down, netns, os.RemoveAll(n.dir))
}

// Log is the end of the agent's log.
func (n *Node) Log() string {
	raw, err := os.ReadFile(filepath.Join(n.data(), "logs", "whylet.log"))
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-8000):])
}

// eventually calls check until it succeeds or ctx ends; its last error says what
// was missing then.
func eventually(ctx context.Context, every time.Duration, check func() error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}
