package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"whylet.dev/whylet/why/answer"
)

// A question about an exported history needs no cluster and no node.
func TestWhyFile(t *testing.T) {
	file := func(name string) string { return filepath.Join("..", "..", "why", "serve", "testdata", name+".facts") }
	for _, c := range []struct {
		args      []string
		code      int
		out, errs string
	}{
		{[]string{"why", "p10a", "--file", file("wrong-port")}, 0, "probe-wrong-port", ""},
		{[]string{"why", "pod/p10a", "--file", file("wrong-port")}, 0, "probe-wrong-port", ""},
		{[]string{"why", "pod", "p10a", "-n", "default", "-o", "wide", "--file", file("wrong-port")}, 0, "#", ""},
		{[]string{"why", "po/p10a", "-o", "yaml", "--file", file("wrong-port")}, 0, "kind: Answer", ""},
		{[]string{"why", "--all", "--file", file("other-container")}, 0, "sibling-not-ready", ""},
		{[]string{"why", "p8b", "--what-if", "livenessProbe.timeoutSeconds=5", "--file", file("slow-handler")}, 0, "what if livenessProbe.timeoutSeconds of container c = 5 instead of 1", ""},
		{[]string{"why", "pod/p8b", "--what-if", "c:memory=64Mi", "--what-if", "livenessProbe.failureThreshold=9", "-o", "yaml", "--file", file("slow-handler")}, 0, "kind: WhatIf", ""},
		{[]string{"why", "p8b", "--suggest", "-o", "json", "--file", file("slow-handler")}, 0, `"kind": "Suggestions"`, ""},
		{[]string{"why", "p8b", "--suggest", "--file", file("slow-handler")}, 0, "good answers", ""},
		{[]string{"why", "p8b", "--what-if", "livenessProbe.timeoutSeconds=-5", "--file", file("slow-handler")}, 1, "", "must be greater than or equal to 0"},
		{[]string{"why", "p8b", "--what-if", "livenessProbe.timeout=5", "--file", file("slow-handler")}, 2, "", "cannot be asked about"},
		{[]string{"why", "--all", "--suggest", "--file", file("slow-handler")}, 2, "", "about one pod"},
		{[]string{"why", "p8c", "--suggest", "--file", file("slow-handler")}, 1, "", "there is default/p8b"},
		{[]string{"why", "p10b", "--file", file("wrong-port")}, 1, "", "there is default/p10a"},
		{[]string{"why", "--file", file("wrong-port")}, 2, "", "name a pod"},
		{[]string{"why", "dragon/x", "--file", file("wrong-port")}, 2, "", "not a kind"},
		{[]string{"why", "deploy/x", "--file", file("wrong-port")}, 2, "", "pods only"},
		{[]string{"why", "x", "-o", "xml", "--file", file("wrong-port")}, 2, "", "not known"},
		{[]string{"why", "x", "--file", "nosuch"}, 1, "", "nosuch"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), c.args, streams{in: strings.NewReader(""), out: &out, err: &errs})
		if code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.errs) {
			t.Errorf("%v: %d\n%s\n%s", c.args, code, out.String(), errs.String())
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("%v: escape codes, and no terminal", c.args)
		}
	}
}

func TestWhyJSON(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"why", "grace-kill", "-o", "json", "--file", filepath.Join("..", "..", "why", "serve", "testdata", "grace-kill.facts")}
	if code := run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &errs}); code != 0 {
		t.Fatal(code, errs.String())
	}
	var a answer.Answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil || a.Verdicts[0].Cause != answer.AppUnhealthy {
		t.Fatal(err, out.String())
	}
}
