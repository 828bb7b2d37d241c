package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"whylet.dev/whylet/cluster"
	"whylet.dev/whylet/cluster/runtime"
	"whylet.dev/whylet/exit"
)

// downTimeout is how long down waits for the node to stop by itself.
const downTimeout = time.Minute

func newDownCommand(s streams) *cobra.Command {
	var dataDir string
	var purge bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the node",
		Long: `Stop the node: its agent, its container runtime and its control plane.

Containers keep running, as they do when a kubelet stops, and whylet up goes on
where it was. With --purge the containers are ended and nothing is left: no
process, mount, network namespace, interface, nftables table, cgroup or file.`,
		Example: `  whylet down
  whylet down --purge                      # also deletes the pods and all data
  whylet down --purge --data-dir ~/w2`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			abs, err := absDataDir(dataDir)
			if err != nil {
				return err
			}
			return down(cmd.Context(), s, abs, purge)
		},
	}
	addDataDirFlag(cmd, &dataDir)
	cmd.Flags().BoolVar(&purge, "purge", false, "also end all containers and remove everything, data included")
	return cmd
}

func down(ctx context.Context, s streams, dataDir string, purge bool) error {
	i, err := readInstance(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(s.err, "No node was started in %s; nothing to do.\n", dataDir)
		return nil
	}
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return exit.With(exit.Machine, errors.New("stopping a node needs root: sudo whylet down"))
	}
	p := newProgress(s.err)
	defer p.step("")
	if i.running() {
		p.step(fmt.Sprintf("stopping node %s (process %d)", i.Settings.NodeName, i.PID))
		if err := stopProcess(ctx, i); err != nil {
			return err
		}
	}
	// The lock is taken late, because the running node holds it.
	lock, _, err := claim(dataDir)
	if err != nil {
		return fmt.Errorf("the node in %s did not let go: %w", dataDir, err)
	}
	defer lock.Close()
	if i.Settings.RuntimeEndpoint == "" {
		p.step("ending the container runtime")
		if err := runtime.Halt(ctx, dataDir); err != nil {
			return err
		}
	}
	if !purge {
		p.step("")
		fmt.Fprintln(s.err, "The node is down. Containers keep running; whylet up goes on with them.")
		return nil
	}
	if err := purgeNode(ctx, dataDir, i, p.step); err != nil {
		return err
	}
	p.step("")
	fmt.Fprintf(s.err, "Nothing is left of the node in %s.\n", dataDir)
	return nil
}

// stopProcess asks the node's process to stop, and kills it when it does not.
func stopProcess(ctx context.Context, i instance) error {
	pidfd, err := unix.PidfdOpen(i.PID, 0)
	if err != nil {
		return nil // It has just ended.
	}
	defer unix.Close(pidfd)
	if !i.running() {
		return nil
	}
	if err := unix.PidfdSendSignal(pidfd, unix.SIGTERM, nil, 0); err != nil {
		return fmt.Errorf("stopping process %d: %w", i.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	if awaitPidfd(ctx, pidfd) {
		return nil
	}
	if err := unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("killing process %d: %w", i.PID, err)
	}
	awaitPidfd(context.Background(), pidfd)
	return nil
}

// awaitPidfd waits until the process has ended; false: ctx ended first.
func awaitPidfd(ctx context.Context, pidfd int) bool {
	for ctx.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 100)
		if n > 0 || (err != nil && !errors.Is(err, unix.EINTR)) {
			return true
		}
	}
	return false
}

// purgeNode removes all that the node made, in this network namespace and on disk.
func purgeNode(ctx context.Context, dataDir string, i instance, step func(string)) error {
	if err := sameNamespace(dataDir, i); err != nil {
		return err
	}
	c, err := runtimeConfig(dataDir, i.Settings, nil)
	if err != nil {
		return err
	}
	if endpoint := i.Settings.RuntimeEndpoint; endpoint != "" {
		if _, err := runtime.RemovePods(ctx, endpoint, podLogsDir(dataDir)); err != nil {
			return fmt.Errorf("%w\n       start that runtime, then run whylet down --purge again", err)
		}
	}
	if err := runtime.UseHelpers(dataDir); err != nil { // rules are removed by nft
		return err
	}
	step("ending the containers, and removing their networks, mounts and cgroups")
	err = runtime.Purge(ctx, c)
	step("removing the rules and addresses of the control plane")
	err = errors.Join(err, cluster.Purge(ctx, cluster.Config{DataDir: dataDir, Kubeconfig: i.Settings.Kubeconfig}))
	if err != nil {
		return fmt.Errorf("%w\n       whylet down --purge can be run again", err)
	}
	step("removing everything below " + dataDir)
	if err := os.RemoveAll(dataDir); err != nil {
		return fmt.Errorf("removing %s: %w", dataDir, err)
	}
	return nil
}

// sameNamespace refuses to purge from another network namespace than the node's,
// where its interfaces and rules could not be seen.
func sameNamespace(dataDir string, i instance) error {
	netns, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return fmt.Errorf("reading the network namespace: %w", err)
	}
	if i.NetNS == netns || i.BootID != bootID() {
		return nil
	}
	if pid := runtime.InNamespace(dataDir, i.NetNS); pid != 0 {
		return fmt.Errorf("the node ran in another network namespace; run this there: nsenter --net=/proc/%d/ns/net whylet down --purge --data-dir %s", pid, dataDir)
	}
	return nil
}
