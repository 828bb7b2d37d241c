package main

import (
	"errors"
	"fmt"
	goruntime "runtime"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/paint"
)

// lockThread ties the goroutine to its thread for good: what the thread changes
// about itself ends with the goroutine.
func lockThread() { goruntime.LockOSThread() }

func newDoctorCommand(s streams) *cobra.Command {
	var dataDir, output string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that this machine has what a node needs, and say how to fix what is missing",
		Long: `Check each thing that a node needs of this machine, and say which command mends
what is missing. whylet up makes the same checks first. Nothing is changed: what
has to be tried is tried in a network namespace that ends with the check.

Exit code 4 when something is missing; what is only degraded is no failure.`,
		Example: `  whylet doctor
  whylet doctor -o json | jq -r '.[] | select(.verdict != "ok") | .fix'`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			abs, err := absDataDir(dataDir)
			if err != nil {
				return err
			}
			st := &stack{dataDir: abs, instance: instance{Command: "up"}}
			previous, err := readInstance(abs)
			if err == nil {
				st.instance = previous
			}
			n := st.need()
			n.running = previous.running()
			findings := examine(n)
			if output != "" {
				err = encode(s.out, output, findings)
			} else {
				printFindings(s, findings)
				err = nil
			}
			return errors.Join(err, verdictError(findings))
		},
	}
	addDataDirFlag(cmd, &dataDir)
	addOutputFlag(cmd, &output)
	return cmd
}

// verdictError is nil when nothing is missing.
func verdictError(findings []finding) error {
	count := 0
	for _, f := range findings {
		if f.Verdict == missing {
			count++
		}
	}
	if count == 0 {
		return nil
	}
	return exit.With(exit.Machine, fmt.Errorf("%d of %d things that a node needs are missing", count, len(findings)))
}

// printFindings writes a line for each, and below it what mends it.
func printFindings(s streams, findings []finding) {
	codes := map[verdict]string{found: paint.Green, degraded: paint.Yellow, missing: paint.Red}
	for _, f := range findings {
		mark := paint.Text(s.out, codes[f.Verdict], fmt.Sprintf("%-8s", f.Verdict))
		line := fmt.Sprintf("%s  %s", mark, f.Name)
		if f.Detail != "" {
			line += ": " + f.Detail
		}
		fmt.Fprintln(s.out, line)
		if f.Verdict != found && f.Fix != "" {
			fmt.Fprintf(s.out, "          fix: %s\n", f.Fix)
		}
	}
}
