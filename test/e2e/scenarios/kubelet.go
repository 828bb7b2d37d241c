package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"whylet.dev/whylet/test/peer"
)

// Kubelet is the real stack of test/peer with the observing agent beside its kubelet.
type Kubelet struct {
	stack *peer.Stack
	bin   peer.Binaries
	// flags are added to the agent's own.
	flags []string
	turn  chan struct{}

	lock  sync.Mutex
	agent *exec.Cmd // nil where it is not built
}

// StartKubelet starts the real stack and, where it is built, the agent. settings are lines
// of kubelet's configuration, flags the agent's.
func StartKubelet(ctx context.Context, bin peer.Binaries, settings []string, flags ...string) (*Kubelet, error) {
	stack, err := peer.StartKubelet(ctx, bin, settings...)
	if err != nil {
		return nil, err
	}
	return beside(ctx, bin, stack, flags...)
}

// beside puts the agent beside a real stack, which ends with it.
func beside(ctx context.Context, bin peer.Binaries, stack *peer.Stack, flags ...string) (*Kubelet, error) {
	k := &Kubelet{stack: stack, bin: bin, flags: flags, turn: make(chan struct{}, 3)}
	if err := k.startAgent(ctx); err != nil {
		return nil, errors.Join(err, k.Purge())
	}
	return k, nil
}

func (k *Kubelet) program(name string) string { return filepath.Join(k.bin.Whylet, name) }

func (k *Kubelet) data() string { return filepath.Join(k.stack.Dir, "observe") }

// NoAgent in place of the agent's flags leaves it out, so that only the API is asked.
const NoAgent = "none"

// hasAgent says whether the agent is built, and wanted.
func (k *Kubelet) hasAgent() bool {
	if slices.Contains(k.flags, NoAgent) {
		return false
	}
	_, err := os.Stat(k.program("whylet-observe"))
	return err == nil
}

// startAgent starts the agent and waits until it says that it sees.
func (k *Kubelet) startAgent(ctx context.Context) error {
	if !k.hasAgent() {
		return nil
	}
	log, err := os.OpenFile(filepath.Join(k.stack.Dir, "logs", "agent.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		return err
	}
	args := append([]string{
		"agent", "--kubeconfig", k.stack.Kubeconfig, "--node-name", k.stack.Node,
		"--runtime-endpoint", k.stack.RuntimeEndpoint(), "--data-dir", k.data(),
	}, k.flags...)
	// It outlives the question that it is started for, so not with ctx.
	// With the node's network and the machine's processes, as a pod with hostNetwork and
	// hostPID: the kernel tells of processes and signals nowhere else.
	cmd := k.stack.Command(context.WithoutCancel(ctx), k.program("whylet-observe"), args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	k.agent = cmd
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return eventually(ctx, 100*time.Millisecond, func() error {
		said, err := os.ReadFile(log.Name())
		if err == nil && !bytes.Contains(said[before.Size():], []byte("the pods of the node are seen")) {
			err = errors.New("the agent does not say that it sees")
		}
		return err
	})
}

// endAgent kills the agent as a crash would.
func (k *Kubelet) endAgent() error {
	if k.agent == nil {
		return nil
	}
	if err := k.agent.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the agent: %w", err)
	}
	_ = k.agent.Wait() // it was killed
	k.agent = nil
	return nil
}

// Run runs a built program in the stack's network namespace.
func (k *Kubelet) Run(ctx context.Context, stdin, program string, args ...string) ([]byte, error) {
	return k.run(ctx, stdin, k.stack.Command(ctx, k.program(program), args...))
}

// run waits for its turn: each program reads a few hundred megabytes.
func (k *Kubelet) run(ctx context.Context, stdin string, cmd *exec.Cmd) ([]byte, error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, errOut.String())
	}
	return out.Bytes(), nil
}

// Stream starts a built program whose output is read while it runs.
func (k *Kubelet) Stream(ctx context.Context, program string, args ...string) (*Stream, error) {
	return newStream(k.stack.Command(ctx, k.program(program), args...))
}

// Script runs a script to its end.
func (k *Kubelet) Script(ctx context.Context, c *Scenario, script, namespace string) (string, error) {
	run := c.Shell(script)
	cmd := k.stack.Command(ctx, run[0], run[1:]...)
	cmd.Env = append(cmd.Env, "NS="+namespace, "NETNS="+filepath.Base(k.stack.Netns), "PATH="+k.bin.Whylet+":"+os.Getenv("PATH"))
	return runScript(cmd)
}

// Sights are the agent's, where it is built, and that of the API alone.
func (k *Kubelet) Sights() []Sight {
	if k.hasAgent() {
		return []Sight{ByAgent, ByAPI}
	}
	return []Sight{ByAPI}
}

// Why asks the agent's memory, or kubectl why, which knows the API alone there.
func (k *Kubelet) Why(ctx context.Context, by Sight, subject, namespace string) ([]byte, error) {
	if by == ByAPI {
		return k.Run(ctx, "", "kubectl-why", subject, "-n", namespace, "-o", "json")
	}
	return k.run(ctx, "", k.stack.Command(ctx, k.program("whylet-observe"), "why", subject, "-n", namespace, "--data-dir", k.data(), "-o", "json"))
}

// Record takes the facts from the agent's memory.
func (k *Kubelet) Record(ctx context.Context, namespace, file string) error {
	args := []string{"record", "-n", namespace, "--to", file, "--force"}
	if !k.hasAgent() {
		_, err := k.Run(ctx, "", "kubectl-why", args...)
		return err
	}
	_, err := k.Run(ctx, "", "kubectl-why", append(args, "--data-dir", k.data())...)
	return err
}

// Situations are all of them.
func (k *Kubelet) Situations() []Situation { return Situations }

// acquainted is how long an agent that was installed may take to look back before it is asked.
const acquainted = 10 * time.Second

// Restart kills the agent or kubelet as a crash would, and starts it again.
func (k *Kubelet) Restart(ctx context.Context, in Situation) error {
	k.lock.Lock()
	defer k.lock.Unlock()
	switch in {
	case Restarted:
		return errors.Join(k.endAgent(), k.startAgent(ctx))
	case Installed:
		err := errors.Join(k.endAgent(), os.RemoveAll(k.data()), k.startAgent(ctx))
		pause(ctx, acquainted)
		return err
	case KubeletRestarted:
		return k.stack.RestartKubelet(ctx)
	}
	return nil
}

// Load takes archives of images.
func (k *Kubelet) Load(ctx context.Context, archives ...string) error {
	return k.stack.Load(ctx, archives...)
}

// Log is the end of all logs.
func (k *Kubelet) Log() string { return k.stack.Logs() }

// Keep copies the agent's memory.
func (k *Kubelet) Keep(dir string) error {
	if !k.hasAgent() {
		return nil
	}
	return os.CopyFS(dir, os.DirFS(k.data()))
}

// Purge ends the agent and the stack.
func (k *Kubelet) Purge() error { return errors.Join(k.endAgent(), k.stack.Stop()) }

// Elsewhere says why a scenario cannot be played beside a real kubelet; empty where it
// can.
func (s *Scenario) Elsewhere() string {
	if s.Want.Elsewhere != "" {
		return s.Want.Elsewhere
	}
	if s.Want.Node != nil {
		return "it needs a node with flags of its own"
	}
	if strings.Contains(s.Manifest, "kind: Service\n") && !strings.HasPrefix(s.Want.Subject, "s") {
		return "its pods reach one another by Services, and the real stack has no kube-proxy and no DNS"
	}
	for _, ours := range []string{"whylet ", "$DATA", "join_mesh"} {
		if strings.Contains(s.Trigger+s.Recover, ours) {
			return "its script works on a node of Whylet's"
		}
	}
	return ""
}
