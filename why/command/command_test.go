package command

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/why/answer"
)

// run runs the command with stdin as its input.
func run(t *testing.T, stdin string, args ...string) (out, errs string, code exit.Code) {
	t.Helper()
	var o, e bytes.Buffer
	cmd := New(Env{In: strings.NewReader(stdin), Out: &o, Err: &e, DataDir: t.TempDir()})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.UsageError("%w", err) })
	cmd.SetOut(&o)
	cmd.SetArgs(args)
	code = exit.Report(&e, cmd.ExecuteContext(t.Context()))
	return o.String(), e.String(), code
}

// A question about an exported history needs no cluster and no node.
func TestWhyFile(t *testing.T) {
	file := func(name string) string { return filepath.Join("..", "serve", "testdata", name+".facts") }
	for _, c := range []struct {
		args      []string
		code      exit.Code
		out, errs string
	}{
		{[]string{"p10a", "--file", file("wrong-port")}, 0, "probe-wrong-port", ""},
		{[]string{"pod/p10a", "--file", file("wrong-port")}, 0, "probe-wrong-port", ""},
		{[]string{"pod", "p10a", "-n", "default", "-o", "wide", "--file", file("wrong-port")}, 0, "#", ""},
		{[]string{"po/p10a", "-o", "yaml", "--file", file("wrong-port")}, 0, "kind: Answer", ""},
		{[]string{"--all", "--file", file("other-container")}, 0, "sibling-not-ready", ""},
		{[]string{"p8b", "--what-if", "livenessProbe.timeoutSeconds=5", "--file", file("slow-handler")}, 0, "what if livenessProbe.timeoutSeconds of container c = 5 instead of 1", ""},
		{[]string{"pod/p8b", "--what-if", "c:memory=64Mi", "--what-if", "livenessProbe.failureThreshold=9", "-o", "yaml", "--file", file("slow-handler")}, 0, "kind: WhatIf", ""},
		{[]string{"p8b", "--suggest", "-o", "json", "--file", file("slow-handler")}, 0, `"kind": "Suggestions"`, ""},
		{[]string{"p8b", "--suggest", "--file", file("slow-handler")}, 0, "good answers", ""},
		{[]string{"p8b", "--what-if", "livenessProbe.timeoutSeconds=-5", "--file", file("slow-handler")}, 1, "", "must be greater than or equal to 0"},
		{[]string{"p8b", "--what-if", "livenessProbe.timeout=5", "--file", file("slow-handler")}, 2, "", "cannot be asked about"},
		{[]string{"--all", "--suggest", "--file", file("slow-handler")}, 2, "", "about one pod"},
		{[]string{"p8c", "--suggest", "--file", file("slow-handler")}, 1, "", "there is default/p8b"},
		{[]string{"--all", "-o", "markdown", "--file", file("wrong-port")}, 0, "| pod default/p10a |", ""},
		{[]string{"--all", "-o", "junit", "--file", file("wrong-port")}, 0, `type="probe-wrong-port"`, ""},
		{[]string{"--all", "-w", "-o", "junit", "--file", file("wrong-port")}, 2, "", "-w never ends"},
		{[]string{"p8b", "--suggest", "-o", "wide", "--file", file("slow-handler")}, 2, "", "not for --what-if"},
		{[]string{"p10b", "--file", file("wrong-port")}, 1, "", "there is default/p10a"},
		{[]string{"--file", file("wrong-port")}, 2, "", "name a pod"},
		{[]string{"p10a", "--all", "--file", file("wrong-port")}, 2, "", "name a pod"},
		{[]string{"p10a", "-A", "--file", file("wrong-port")}, 2, "", "-A goes with"},
		{[]string{"-l", "app=web", "--file", file("wrong-port")}, 2, "", "no labels"},
		{[]string{"p10a", "--since=-2h", "--file", file("wrong-port")}, 2, "", "in the future"},
		{[]string{"p10a", "pod/p10a", "--file", file("wrong-port")}, 0, "probe-wrong-port", ""},
		{[]string{"p10a", "p10b", "--file", file("wrong-port")}, 1, "probe-wrong-port", "asking about pod/p10b: nothing is known"},
		{[]string{"p10a", "-o", "html", "--file", file("wrong-port")}, 0, "<!doctype html>", ""},
		{[]string{"node/vm", "-o", "html", "--file", file("wrong-port")}, 0, "<!doctype html>", ""},
		{[]string{"p10b", "-o", "html", "--file", file("wrong-port")}, 1, "", "there is default/p10a"},
		{[]string{"--all", "-o", "html", "--file", file("wrong-port")}, 2, "", "show one thing"},
		{[]string{"p10a", "--web", "--suggest", "--file", file("wrong-port")}, 2, "", "leave --what-if"},
		{[]string{"dragon/x", "--file", file("wrong-port")}, 2, "", "not a kind"},
		{[]string{"deploy/x", "--file", file("wrong-port")}, 2, "", "pods only"},
		{[]string{"x", "-o", "xml", "--file", file("wrong-port")}, 2, "", "not known"},
		{[]string{"x", "--file", "nosuch"}, 1, "", "nosuch"},
	} {
		out, errs, code := run(t, "", c.args...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
			t.Errorf("%v: %d\n%s\n%s", c.args, code, out, errs)
		}
		if strings.Contains(out, "\x1b") {
			t.Errorf("%v: escape codes, and no terminal", c.args)
		}
	}
}

func TestWhyJSON(t *testing.T) {
	args := []string{"grace-kill", "-o", "json", "--file", filepath.Join("..", "serve", "testdata", "grace-kill.facts")}
	out, errs, code := run(t, "", args...)
	if code != exit.OK {
		t.Fatal(code, errs)
	}
	var a answer.Answer
	if err := json.Unmarshal([]byte(out), &a); err != nil || a.Verdicts[0].Cause != answer.AppUnhealthy {
		t.Fatal(err, out)
	}
}
