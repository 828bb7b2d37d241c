package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whylet.dev/whylet/exit"
)

func TestServiceUnit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a 100% dir")
	code, unit, errOut := whylet(t, "service", "show", "--data-dir", dir, "--", "--node-memory", "2Gi", "--node-name=edge-1")
	if code != exit.OK {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	want := ` up --data-dir "` + strings.ReplaceAll(dir, "%", "%%") + `" --node-memory 2Gi --node-name=edge-1` + "\n"
	for _, line := range []string{want, "\nType=notify\nWatchdogSec=2min\n"} {
		if !strings.Contains(unit, line) {
			t.Errorf("%q is not in\n%s", line, unit)
		}
	}

	// A directory that whylet node was started in is run by whylet node.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (instance{Command: "node"}).write(dir); err != nil {
		t.Fatal(err)
	}
	if _, unit, _ := whylet(t, "service", "show", "--data-dir", dir); !strings.Contains(unit, " node --data-dir ") {
		t.Errorf("it does not run whylet node:\n%s", unit)
	}
}

// systemd itself reads the unit, where its verifier is installed.
func TestServiceUnitVerified(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	root := t.TempDir()
	if code, _, errOut := whylet(t, "service", "install", "--root", root, "--data-dir", "/srv/a b"); code != exit.OK {
		t.Fatalf("install: exit code %d: %s", code, errOut)
	}
	file := filepath.Join(root, "etc/systemd/system/whylet.service")
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", file).CombinedOutput()
	// What it says of units of the machine is not about ours.
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "whylet.service") {
			t.Errorf("systemd-analyze verify: %s", line)
		}
	}
	if err != nil {
		t.Logf("systemd-analyze verify: %v: %s", err, out)
	}
}

func TestServiceInstallAndRemoveBelowRoot(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "etc/systemd/system/edge.service")
	if code, _, errOut := whylet(t, "service", "install", "--root", root, "--name", "edge"); code != exit.OK || !strings.Contains(errOut, file) {
		t.Fatalf("install: exit code %d: %s", code, errOut)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Fatalf("the unit: %v, %v", info, err)
	}
	for _, says := range []string{"removed " + file, "nothing to do"} {
		if code, _, errOut := whylet(t, "service", "remove", "--root", root, "--name", "edge"); code != exit.OK || !strings.Contains(errOut, says) {
			t.Errorf("remove: exit code %d: %s", code, errOut)
		}
	}
}

func TestServiceRefusals(t *testing.T) {
	root := t.TempDir()
	for _, c := range []struct {
		args []string
		code exit.Code
		says string
	}{
		{[]string{"install", "--root", root, "--", "--node-memroy", "2Gi"}, exit.Usage, "unknown flag: --node-memroy"},
		{[]string{"install", "--root", root, "--", "now"}, exit.Usage, `"now" is no flag`},
		{[]string{"show", "--", "--detach"}, exit.Usage, "--detach makes no sense"},
	} {
		code, _, errOut := whylet(t, append([]string{"service"}, c.args...)...)
		if code != c.code || !strings.Contains(errOut, c.says) {
			t.Errorf("%v: exit code %d: %s", c.args, code, errOut)
		}
	}
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		return // Here it could really be installed.
	}
	if code, _, errOut := whylet(t, "service", "install"); code != exit.Machine || !strings.Contains(errOut, "systemd does not run") {
		t.Errorf("install without systemd: exit code %d: %s", code, errOut)
	}
}
