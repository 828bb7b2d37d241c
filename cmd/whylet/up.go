package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/cluster/runtime"
	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/fact"
)

func newUpCommand(s streams) *cobra.Command {
	o := nodeOptions{command: "up"}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a node with a control plane of its own",
		Long: `Start a node with a control plane of its own, and stay with it.

The state is in one directory. What up is told once (the ranges, the port, the
node's name and size) holds for the next starts as well, until it is told
otherwise. When the node was stopped, killed or cut off by a reboot, up goes on
where it was: containers that still run are adopted, none is started twice.

With --detach the node goes into the background, and up returns when it is Ready.`,
		Example: `  whylet up                                  # in the foreground; Ctrl-C stops the node
  whylet up --detach                         # in the background; returns when Ready
  whylet up --detach --node-memory 2Gi       # a small node, to try node pressure
  whylet up --data-dir ~/w2 --api-port 7443  # another node, in another network namespace
  whylet up --runtime-endpoint unix:///run/crio/crio.sock`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, s) },
	}
	o.addFlags(cmd)
	return cmd
}

// nodeOptions are the flags of up and node.
type nodeOptions struct {
	command  string
	dataDir  string
	given    settings
	detach   bool
	detached bool
}

func (o *nodeOptions) addFlags(cmd *cobra.Command) {
	addDataDirFlag(cmd, &o.dataDir)
	settingFlags(cmd, o.command, &o.given)
	cmd.Flags().BoolVarP(&o.detach, "detach", "d", false, "run in the background; return when the node is Ready")
	cmd.Flags().BoolVar(&o.detached, detachedFlag, false, "")
	_ = cmd.Flags().MarkHidden(detachedFlag)
}

// run starts the node, in this process or in a detached one.
func (o *nodeOptions) run(cmd *cobra.Command, s streams) error {
	if os.Geteuid() != 0 {
		return exit.With(exit.Machine, fmt.Errorf("containers, cgroups and the network need root: sudo %s", cmd.CommandPath()))
	}
	dir, err := absDataDir(o.dataDir)
	if err != nil {
		return err
	}
	o.dataDir = dir
	if cmd.Flags().Changed("data-dir") {
		if err := cmd.Flags().Set("data-dir", dir); err != nil {
			return exit.UsageError("--data-dir: %w", err)
		}
	}
	if err := absoluteFlags(cmd, "kubeconfig", "client-ca", "serving-cert", "serving-key", "front-ca", "otlp-headers"); err != nil {
		return err
	}
	if o.detached {
		return o.runDetached(cmd, dir)
	}
	_, noDir := os.Stat(dir)
	if o.detach {
		err = detach(cmd.Context(), cmd, s, dir)
	} else {
		r := &terminalReport{streams: s, progress: newProgress(s.err)}
		err = o.serve(cmd.Context(), cmd.Flags().Changed, r)
		r.step("")
	}
	if err != nil && !errors.Is(err, errRunning) && !errors.Is(err, errLost) {
		unclaim(dir, errors.Is(noDir, fs.ErrNotExist))
	}
	return sayRunning(s, dir, err)
}

// runDetached runs the node in the process that detach started.
func (o *nodeOptions) runDetached(cmd *cobra.Command, dir string) error {
	r := openPipeReport()
	err := o.serve(cmd.Context(), cmd.Flags().Changed, r)
	if errors.Is(err, errRunning) {
		if i, readErr := readInstance(dir); readErr == nil {
			r.running(i)
			return nil
		}
	}
	if err != nil {
		r.failed(err)
	}
	return err
}

// absoluteFlags makes the files that were given independent of the working
// directory, which a detached node and a later start do not share.
func absoluteFlags(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed || f.Value.String() == "" {
			continue
		}
		abs, err := filepath.Abs(f.Value.String())
		if err == nil {
			err = f.Value.Set(abs)
		}
		if err != nil {
			return exit.UsageError("--%s: %w", name, err)
		}
	}
	return nil
}

// sayRunning turns the error of a second up into what the user needs to know.
func sayRunning(s streams, dataDir string, err error) error {
	if !errors.Is(err, errRunning) {
		return err
	}
	i, readErr := readInstance(dataDir)
	if readErr != nil {
		return fmt.Errorf("a node is starting in %s; look again in a moment: whylet status --data-dir %s", dataDir, dataDir)
	}
	announceRunning(s, i)
	return nil
}

// serve takes the data directory, checks the machine, and runs the node until ctx
// ends or a part of it fails.
func (o *nodeOptions) serve(ctx context.Context, changed func(string) bool, r report) error {
	lock, previous, err := claim(o.dataDir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if previous.Command != "" && previous.Command != o.command {
		return exit.UsageError("%s is the data directory of a node started by whylet %s; choose another --data-dir", o.dataDir, previous.Command)
	}
	st := &stack{
		told:     make(chan fact.Fact, 256),
		reported: make(chan struct{}),
		dataDir:  o.dataDir,
		instance: instance{Command: o.command, Settings: merge(o.given, changed, previous.Settings)},
		report:   newToldReport(r),
	}
	if st.limits, err = st.instance.Settings.check(); err != nil {
		return err
	}
	switch {
	case o.command == "up":
		if err := st.control().Validate(); err != nil {
			return exit.With(exit.Usage, err)
		}
	case st.instance.Settings.Kubeconfig == "":
		return exit.UsageError("--kubeconfig is needed: it says which API server to join")
	}
	exemptFromProxy(o.command, st.instance.Settings)
	_ = runtime.Spare() // Where it may not, doctor and status say so.
	return st.run(ctx, previous)
}
