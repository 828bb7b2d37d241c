package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/exit"
)

// whylet runs the program in this process.
func whylet(t *testing.T, args ...string) (code exit.Code, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, streams{in: strings.NewReader(""), out: &o, err: &e})
	return code, o.String(), e.String()
}

func TestExitCodesAndStreams(t *testing.T) {
	empty := t.TempDir()
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "somebody"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code exit.Code
		out  string // must be in stdout
		err  string // must be in stderr
	}{
		{"help", []string{"--help"}, exit.OK, "whylet up --detach", ""},
		{"no command", nil, exit.OK, "Available Commands", ""},
		{"version", []string{"version"}, exit.OK, "Whylet      devel", ""},
		{"version as yaml", []string{"version", "-o", "yaml"}, exit.OK, "whylet: devel", ""},
		{"unknown format", []string{"version", "-o", "xml"}, exit.Usage, "", "-o xml is not known"},
		{"unknown command", []string{"stat"}, exit.Usage, "", "status"},
		{"unknown flag", []string{"up", "--foo"}, exit.Usage, "", "unknown flag: --foo; see whylet up --help"},
		{"surplus argument", []string{"up", "now"}, exit.Usage, "", "whylet up --help"},
		{"image load without a file", []string{"image", "load"}, exit.Usage, "", "whylet image load --help"},
		{"one name for two files", []string{"image", "load", "--name", "a:1", "x", "y"}, exit.Usage, "", "--name is for one file"},
		{"image list of no node", []string{"image", "list", "--data-dir", empty}, exit.NotRunning, "", "whylet up --data-dir"},
		{"status of no node", []string{"status", "--data-dir", empty}, exit.NotRunning, "none was started yet", ""},
		{"down of no node", []string{"down", "--data-dir", empty}, exit.OK, "", "nothing to do"},
		{"foreign data dir", []string{"up", "--data-dir", foreign}, exit.Failed, "", "holds somebody but no whylet.json"},
		{"foreign data dir, detached", []string{"up", "-d", "--data-dir", foreign}, exit.Failed, "", "holds somebody but no whylet.json"},
		{"bad settings", []string{"up", "--data-dir", empty, "--pod-cidr", "10.0.0.1/8", "--node-memory", "lots", "--node-name", "A_b", "--runtime-endpoint", "tcp://x"}, exit.Usage, "", "--node-memory \"lots\""},
		{"bad api port", []string{"up", "--data-dir", empty, "--api-port", "99999"}, exit.Usage, "", "99999"},
		{"bad node api port", []string{"up", "--data-dir", empty, "--node-api-port", "70000"}, exit.Usage, "", "--node-api-port 70000 is no port"},
		{"node without kubeconfig", []string{"node", "--data-dir", empty}, exit.Usage, "", "--kubeconfig is needed"},
		{"completion", []string{"completion", "bash"}, exit.OK, "__start_whylet", ""},
		{"exit codes", []string{"exit-codes"}, exit.OK, "the machine lacks something", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errOut := whylet(t, tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d; stderr: %s", code, tt.code, errOut)
			}
			if !strings.Contains(out, tt.out) {
				t.Errorf("stdout %q does not contain %q", out, tt.out)
			}
			if !strings.Contains(errOut, tt.err) {
				t.Errorf("stderr %q does not contain %q", errOut, tt.err)
			}
			if code != exit.OK && code != exit.NotRunning && out != "" {
				t.Errorf("stdout of a failure: %q", out)
			}
			if strings.Contains(out+errOut, "\x1b") {
				t.Error("escape codes although the streams are no terminals")
			}
		})
	}
	if _, err := os.Stat(filepath.Join(foreign, "logs")); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was written into the foreign data directory")
	}
}

// nodeless are the commands that talk to no node.
var nodeless = map[string]bool{
	"whylet service remove": true,
	"whylet kubectl":        true, "whylet version": true, "whylet journal import": true, "whylet lint": true,
	"whylet why knowledge list": true, "whylet why knowledge show": true, "whylet why knowledge test": true,
	"whylet mesh render": true, "whylet mesh image": true, "whylet mesh sidecar": true,
}

// Every command has a short text and, unless it only groups others, examples that
// start with the program's name, or kubectl's for its plugin; one that talks to a node
// takes --data-dir.
func TestEveryCommandIsExplained(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if !cmd.Runnable() || cmd.Name() == "help" || cmd.Parent() != nil && cmd.Parent().Name() == "completion" {
			return
		}
		plugin := strings.Replace(cmd.CommandPath(), "whylet", "kubectl", 1)
		if cmd.Short == "" || !slices.ContainsFunc([]string{"  whylet " + cmd.Name(), cmd.CommandPath(), plugin}, func(name string) bool { return strings.Contains(cmd.Example, name) }) {
			t.Errorf("%s lacks a short text or an example", cmd.CommandPath())
		}
		if !nodeless[cmd.CommandPath()] && cmd.Flags().Lookup("data-dir") == nil {
			t.Errorf("%s does not take --data-dir", cmd.CommandPath())
		}
	}
	walk(newRootCommand(streams{}))
}

func TestVersionAsJSON(t *testing.T) {
	_, out, _ := whylet(t, "version", "-o", "json")
	var v versions
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if v.Whylet != version || v.Go == "" || v.Platform == "" {
		t.Errorf("versions: %+v", v)
	}
}

func TestFindingsAreShownWithTheirMend(t *testing.T) {
	var out bytes.Buffer
	findings := []finding{
		{Name: "root", Verdict: found},
		{"CAP_SYS_RESOURCE", degraded, "worse", "docker run …"},
		{"program nft", missing, "not in PATH", "apt-get install -y nftables"},
	}
	printFindings(streams{out: &out}, findings)
	want := `ok        root
degraded  CAP_SYS_RESOURCE: worse
          fix: docker run …
missing   program nft: not in PATH
          fix: apt-get install -y nftables
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if err := verdictError(findings); exit.Of(err) != exit.Machine {
		t.Errorf("error %v has exit code %d", err, exit.Of(err))
	}
	if err := verdictError(findings[:2]); err != nil {
		t.Errorf("degraded alone gives %v", err)
	}
}

// The doctor runs on any machine and finds the same things to look at.
func TestDoctorHere(t *testing.T) {
	findings := examine(need{dataDir: t.TempDir(), ownRuntime: true, listen: []port{{address: "127.0.0.1:0"}}})
	names := map[string]verdict{}
	for _, f := range findings {
		names[f.Name] = f.Verdict
		if f.Verdict != found && f.Detail == "" {
			t.Errorf("%s is %s without a word why", f.Name, f.Verdict)
		}
	}
	for _, want := range []string{"root", "program nft", "helper programs", "cgroup controllers", "overlayfs", "disk space", "port 127.0.0.1:0", "kernel log"} {
		if names[want] == "" {
			t.Errorf("the doctor does not look at %s", want)
		}
	}
	if names["port 127.0.0.1:0"] != found {
		t.Error("a free port is not found free")
	}
}

func TestTakenPortIsMissing(t *testing.T) {
	l := listen(t)
	findings := checkPorts([]port{{l, "whylet up --node-api-port chooses another"}})
	if findings[0].Verdict != missing || !strings.Contains(findings[0].Detail, "by process") || !strings.Contains(findings[0].Fix, "--node-api-port") {
		t.Errorf("finding: %+v", findings[0])
	}
}
