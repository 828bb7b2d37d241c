package main

import (
	"io"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
)

// TestExitCodes: they are those of kubectl why.
func TestExitCodes(t *testing.T) {
	explained, unknown := memoryOf(t, 1), memoryOf(t, 137)
	for _, c := range []struct {
		args []string
		want exit.Code
	}{
		{[]string{"--all", "-A", "--data-dir", explained}, exit.OK},
		{[]string{"--all", "-A", "--data-dir", unknown}, exit.Unknown},
		{[]string{"--all", "-A", "-o", "json", "--data-dir", unknown}, exit.Unknown},
		{[]string{"pod/none", "--data-dir", explained}, exit.Failed},
		{[]string{"pod/none", "--data-dir", t.TempDir()}, exit.Failed},
		{[]string{"--data-dir", explained}, exit.Usage},
		{[]string{"a", "b", "c"}, exit.Usage},
		{[]string{"a", "-A"}, exit.Usage},
		{[]string{"a", "-o", "yaml"}, exit.Usage},
		{[]string{"a", "--since", "-2h"}, exit.Usage},
		{[]string{"--no-such-flag"}, exit.Usage},
	} {
		root := newRoot(io.Discard, io.Discard)
		root.SetArgs(append([]string{"why"}, c.args...))
		if err := root.Execute(); exit.Of(err) != c.want {
			t.Errorf("%v: %v (%d), want %d", c.args, err, exit.Of(err), c.want)
		}
	}
}

// memoryOf makes a data directory of an agent that saw a container end with a code.
func memoryOf(t *testing.T, code int32) string {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Open(filepath.Join(dir, "journal"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pod := fact.Pod{Namespace: "shop", Name: "web", UID: "u"}
	spec := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "app"}}}}
	at := time.Now().UTC().Add(-time.Minute)
	for _, body := range []fact.Body{
		fact.SpecSeen{Source: "api", Object: spec}, fact.Started{ContainerID: "c", PID: 100}, fact.Exited{ContainerID: "c", ExitCode: code},
	} {
		at = at.Add(time.Second)
		f := fact.Fact{ID: j.Next(1), At: at, Seen: at, Pod: pod, Body: body}
		if body.Kind() != (fact.SpecSeen{}).Kind() {
			f.Container = "app"
		}
		if err := j.Append(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}
