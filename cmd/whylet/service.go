package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/exit"
)

// serviceOptions say which unit to write, and where.
type serviceOptions struct {
	dataDir, name, root string
	now                 bool
}

func newServiceCommand(s streams) *cobra.Command {
	var o serviceOptions
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Have systemd start the node at boot",
		Long: `Have systemd start the node with the machine, and again should it ever end.

The service runs whylet up (or whylet node, if that is what the data directory was
started with) and leaves the containers running when it stops, as whylet down does.`,
		Example: `  whylet service install --now                       # from now on, and at every boot
  whylet service install -- --node-memory 8Gi        # flags of whylet up come after --
  whylet service show                                # only print the unit
  whylet service remove                              # stop the node; it no longer starts at boot`,
		Args: positional(cobra.NoArgs),
	}
	cmd.AddCommand(newServiceShowCommand(s, &o), newServiceInstallCommand(s, &o), newServiceRemoveCommand(s, &o))
	return cmd
}

func (o *serviceOptions) addFlags(cmd *cobra.Command) {
	addDataDirFlag(cmd, &o.dataDir)
	cmd.Flags().StringVar(&o.name, "name", "whylet", "name of the service")
}

func newServiceShowCommand(s streams, o *serviceOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show [-- FLAGS OF UP]",
		Short:   "Print the unit that install writes",
		Example: "  whylet service show > /etc/systemd/system/whylet.service",
		RunE: func(cmd *cobra.Command, args []string) error {
			unit, err := o.unit(args)
			if err == nil {
				_, err = s.out.Write([]byte(unit))
			}
			return err
		},
	}
	o.addFlags(cmd)
	return cmd
}

func newServiceInstallCommand(s streams, o *serviceOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "install [-- FLAGS OF UP]",
		Short: "Write the unit and enable it",
		Long: `Write the unit into /etc/systemd/system and enable it, so that the node starts with
the machine. With --now it is started at once.

With --root the unit is written below that directory, as packages are built, and
nothing is asked of systemd.`,
		Example: `  whylet service install --now
  whylet service install --data-dir /srv/whylet -- --node-name edge-1
  whylet service install --root debian/tmp`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.install(cmd.Context(), s, args) },
	}
	o.addFlags(cmd)
	cmd.Flags().StringVar(&o.root, "root", "", "write the unit below this directory and leave systemd alone, for packages")
	cmd.Flags().BoolVar(&o.now, "now", false, "also start it")
	return cmd
}

func newServiceRemoveCommand(s streams, o *serviceOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove",
		Short: "Stop the service and remove its unit",
		Long: `Stop the service and remove its unit. Containers keep running and the data stays:
whylet down --purge takes them away.`,
		Example: "  whylet service remove\n  whylet service remove --root debian/tmp",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.remove(cmd.Context(), s) },
	}
	cmd.Flags().StringVar(&o.name, "name", "whylet", "name of the service")
	cmd.Flags().StringVar(&o.root, "root", "", "remove it below this directory and leave systemd alone")
	return cmd
}

// file is where the unit lies.
func (o *serviceOptions) file() string {
	return filepath.Join(o.root, "/etc/systemd/system", o.name+".service")
}

// systemd reports, as an error for the user, that it does not run here. That it
// runs is shown as sd_booted(3) finds it out.
func systemd() error {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return exit.With(exit.Machine, errors.New("systemd does not run on this machine; start the node with whylet up --detach, "+
			"or have your own supervisor run the command of whylet service show"))
	}
	if os.Geteuid() != 0 {
		return exit.With(exit.Machine, errors.New("changing services needs root: sudo whylet service"))
	}
	return nil
}

func (o *serviceOptions) install(ctx context.Context, s streams, args []string) error {
	unit, err := o.unit(args)
	if err != nil {
		return err
	}
	if o.root == "" {
		if err := systemd(); err != nil {
			return err
		}
		dir, err := absDataDir(o.dataDir)
		if err != nil {
			return err
		}
		if i, err := readInstance(dir); o.now && err == nil && i.running() {
			return exit.With(exit.Failed, fmt.Errorf("the node in %s runs already, as process %d; stop it first, its containers keep running: whylet down --data-dir %s", dir, i.PID, dir))
		}
	}
	if err := os.MkdirAll(filepath.Dir(o.file()), 0o755); err != nil {
		return fmt.Errorf("making the directory of units: %w", err)
	}
	if err := os.WriteFile(o.file(), []byte(unit), 0o644); err != nil {
		return fmt.Errorf("writing the unit: %w", err)
	}
	fmt.Fprintf(s.err, "wrote %s\n", o.file())
	if o.root != "" {
		return nil
	}
	if err := systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	enable := []string{"enable", o.name + ".service"}
	if o.now {
		enable = append(enable, "--now")
	}
	if err := systemctl(ctx, enable...); err != nil {
		return fmt.Errorf("%w\n       journalctl -u %s says more", err, o.name)
	}
	fmt.Fprintf(s.err, "The node starts with the machine. systemctl status %s shows how it is.\n", o.name)
	return nil
}

func (o *serviceOptions) remove(ctx context.Context, s streams) error {
	_, err := os.Stat(o.file())
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(s.err, "There is no %s; nothing to do.\n", o.file())
		return nil
	}
	if o.root == "" {
		if err := systemd(); err != nil {
			return err
		}
		if err := systemctl(ctx, "disable", "--now", o.name+".service"); err != nil {
			return err
		}
	}
	if err := os.Remove(o.file()); err != nil {
		return fmt.Errorf("removing the unit: %w", err)
	}
	fmt.Fprintf(s.err, "removed %s\n", o.file())
	if o.root != "" {
		return nil
	}
	return systemctl(ctx, "daemon-reload")
}

func systemctl(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "systemctl", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("systemctl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// unit is the text of the unit (systemd.service(5)) for the node in the data
// directory. args are flags for the command that it runs.
//
//   - KillMode=process, because the containers' shims are children of the service,
//     and go on without it.
//   - Exit code 2 is a wrong command line, which another try does not mend.
//   - A node whose loop is stuck is ended (SIGABRT, so that its goroutines are in
//     systemd's journal) and started again; see watchdog.
//   - A start has no time limit: systemd must not kill a node that is merely not
//     Ready yet.
func (o *serviceOptions) unit(args []string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the running binary: %w", err)
	}
	dir, err := filepath.Abs(o.dataDir)
	if err != nil {
		return "", exit.UsageError("--data-dir %q: %w", o.dataDir, err)
	}
	command := "up"
	if i, err := readInstance(dir); err == nil {
		command = i.Command
	}
	if err := knownFlags(command, args); err != nil {
		return "", err
	}
	words := append([]string{self, command, "--data-dir", dir}, args...)
	for i, w := range words {
		words[i] = unitWord(w)
	}
	return fmt.Sprintf(`[Unit]
Description=Whylet, a Kubernetes node that remembers why
Wants=network-online.target
After=network-online.target local-fs.target time-sync.target
RequiresMountsFor=%s

[Service]
Type=notify
WatchdogSec=2min
ExecStart=%s
KillMode=process
Delegate=yes
Restart=always
RestartSec=2s
RestartPreventExitStatus=2
TimeoutStartSec=infinity
TimeoutStopSec=90s
LimitNOFILE=1048576
LimitNPROC=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
`, unitWord(dir), strings.Join(words, " ")), nil
}

// knownFlags refuses what whylet up (or node) would refuse at boot, when nobody
// looks.
func knownFlags(command string, args []string) error {
	cmd := newUpCommand(streams{})
	if command == "node" {
		cmd = newNodeCommand(streams{})
	}
	err := cmd.ParseFlags(args)
	if err == nil && cmd.Flags().NArg() > 0 {
		err = fmt.Errorf("%q is no flag", cmd.Flags().Arg(0))
	}
	if err == nil && (cmd.Flags().Changed("data-dir") || cmd.Flags().Changed("detach")) {
		err = errors.New("--data-dir is a flag of whylet service, and --detach makes no sense in one")
	}
	if err != nil {
		return exit.UsageError("whylet %s would say: %w", command, err)
	}
	return nil
}

// unitWord quotes a word for a line of a unit (systemd.syntax(7)): specifiers
// begin with a percent sign, variables with a dollar sign.
func unitWord(word string) string {
	word = strings.NewReplacer("%", "%%", "$", "$$").Replace(word)
	if word != "" && !strings.ContainsAny(word, " \t\n\"'\\;") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(word) + `"`
}
