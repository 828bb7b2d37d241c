package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
)

var (
	day = time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	web = fact.Pod{Namespace: "shop", Name: "web-1", UID: "00000000-0000-4000-8000-000000000001"}
	db  = fact.Pod{Namespace: "data", Name: "db-0", UID: "00000000-0000-4000-8000-000000000002"}
)

var errUsage = errors.New("usage")

// node is a journal with the beginning of two pods' lives, and an exit.
func node(t *testing.T) (dataDir string, j *journal.Journal) {
	t.Helper()
	dataDir = t.TempDir()
	j, err := journal.Open(filepath.Join(dataDir, "journal"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	at := day
	for _, key := range []fact.Pod{web, db} {
		object := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{Name: "app", Image: "i"}}}}
		object.Name, object.Namespace, object.UID = key.Name, key.Namespace, key.UID
		state := health.New(health.Policy{})
		for _, o := range []struct {
			ctr  string
			body fact.Observed
		}{
			{"", fact.SpecSeen{Object: object, Source: "api"}},
			{"", fact.Admitted{}},
			{"", fact.SetUpDone{SandboxID: "s"}},
			{"app", fact.Created{ContainerID: "containerd://1"}},
			{"app", fact.Started{ContainerID: "containerd://1"}},
			{"app", fact.Exited{ContainerID: "containerd://1", ExitCode: 3, RuntimeReason: "Error", Message: "out of \x1b[31mluck"}},
		} {
			at = at.Add(time.Second)
			f := fact.Fact{ID: j.Next(1), At: at, Seen: at, Boot: "b007", Pod: key, Container: o.ctr, Body: o.body}
			var decisions []fact.Decision
			state, decisions = health.Step(state, f)
			batch := []fact.Fact{f}
			for _, d := range decisions {
				batch = append(batch, d.Fact(j.Next(1), f))
			}
			if err := j.Append(batch...); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Append(fact.Fact{ID: j.Next(1), At: at, Seen: at, Body: fact.AgentStarted{Version: "1", PID: 7, Previous: fact.NoRunBefore}}); err != nil {
		t.Fatal(err)
	}
	return dataDir, j
}

// whylet runs `whylet journal` with args.
func whylet(ctx context.Context, args ...string) (out, errOut string, err error) {
	var o, e bytes.Buffer
	cmd := New(Env{
		Out: &o, Err: &e, DataDir: "/nonexistent",
		Dir:   func(dataDir string) string { return filepath.Join(dataDir, "journal") },
		Node:  func(string) string { return "n1" },
		Usage: func(err error) error { return errors.Join(errUsage, err) },
		Trace: func(io.Writer, journal.Source, string, string, string) error { return nil },
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	err = cmd.ExecuteContext(ctx)
	return o.String(), e.String(), err
}

func TestCommands(t *testing.T) {
	dataDir, _ := node(t)
	file := filepath.Join(t.TempDir(), "web.facts")
	imported := filepath.Join(t.TempDir(), "imported")
	for _, tt := range []struct {
		args string
		out  []string // all must be there
		not  []string // none may be there
		err  string   // "": none
	}{
		{"list web-1 --data-dir D", []string{"shop/web-1 app   Exited containerID=containerd://1 exitCode=3", "→ SetPhase", "SpecSeen"}, []string{"data/db-0", "node", "\x1b"}, ""},
		{"list pod/db-0 --data-dir D --kind exited", []string{"data/db-0 app   Exited"}, []string{"Started"}, ""},
		{"list shop/web-1 --data-dir D --last 1", []string{"shop/web-1"}, []string{"SpecSeen"}, ""},
		{"list --node --data-dir D", []string{"node   AgentStarted", "previous=first"}, []string{"shop"}, ""},
		{"list --data-dir D --since 1m", nil, []string{"shop"}, ""},
		{"list web-1 --data-dir D -o json --kind Exited", []string{`"kind":"Exited"`}, nil, ""},
		{"list web-2 --data-dir D", nil, nil, "of these there is: shop/web-1"},
		{"export web-1 --data-dir D --since 1h --to x.pftrace", nil, nil, "a trace has all of a pod's history"},
		{"list other/web-1 --data-dir D", nil, nil, "nothing is known of a pod web-1 in namespace other"},
		{"list --kind Nothing --data-dir D", nil, nil, "usage"},
		{"list --from yesterday --data-dir D", nil, nil, "usage"},
		{"list -o xml --data-dir D", nil, nil, "usage"},
		{"list a b --data-dir D", nil, nil, "usage"},
		{"list --data-dir /nonexistent", nil, nil, "--file reads an exported one"},
		{"stats --data-dir D", []string{"of 2 pods and the node", "not yet"}, nil, ""},
		{"stats --pods --data-dir D", []string{"NAMESPACE", "shop", "db-0", "(the node)"}, nil, ""},
		{"stats -o json --data-dir D", []string{`"Pods": 2`}, nil, ""},
		{"show 0 --data-dir D", nil, nil, "usage"},
		{"show 999 --data-dir D", nil, nil, "there is no fact 999"},
		{"show 3 --data-dir D", []string{`"kind": "SetUp"`, "rests on", "SpecSeen"}, nil, ""},
		{"export web-1 --data-dir D", nil, nil, "usage"},
		{"export web-1 --data-dir D --to F", nil, nil, ""},
		{"list --file F", []string{"shop/web-1 app   Exited", "node   AgentStarted"}, []string{"db-0"}, ""},
		{"show 3 --file F", []string{`"kind": "SetUp"`}, nil, ""},
		{"stats --file F", []string{"of 1 pods"}, nil, ""},
		{"tail --file F", []string{"shop/web-1 app   Exited"}, []string{"db-0"}, ""},
		{"tail --file F --last 1", []string{"node   AgentStarted"}, []string{"shop"}, ""},
		{"tail --file F --last 0", nil, []string{"node"}, ""},
		{"replay --file F", []string{"1 pods", "the same, byte for byte"}, nil, ""},
		{"replay --data-dir D -o json", []string{`"pods": 2`}, nil, ""},
		{"import F", nil, nil, "usage"},
		{"import F --to I", nil, nil, ""},
		{"list --dir I", []string{"shop/web-1 app   Exited"}, nil, ""},
		{"import F --to I", nil, nil, "not empty"},
		{"import D/journal/lock --to I2", nil, nil, "not an exported journal"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			args := strings.NewReplacer("I2", imported+"2").Replace(tt.args)
			var words []string
			for _, w := range strings.Fields(args) {
				switch {
				case w == "D":
					w = dataDir
				case w == "F":
					w = file
				case w == "I":
					w = imported
				case strings.HasPrefix(w, "D/"):
					w = dataDir + w[1:]
				}
				words = append(words, w)
			}
			out, errOut, err := whylet(t.Context(), words...)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error %v, want %q; %s", err, tt.err, errOut)
			}
			for _, want := range tt.out {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in\n%s", want, out)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(out, not) {
					t.Errorf("%q is in\n%s", not, out)
				}
			}
		})
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the exported file: %v %v", info.Mode(), err)
	}
}

func TestCutFileIsRead(t *testing.T) {
	dataDir, _ := node(t)
	file := filepath.Join(t.TempDir(), "all.facts")
	if _, _, err := whylet(t.Context(), "export", "--data-dir", dataDir, "--to", file); err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := z.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, plain[:len(plain)-400], 0o600); err != nil {
		t.Fatal(err)
	}
	out, errOut, err := whylet(t.Context(), "list", "--file", file)
	if err != nil || !strings.Contains(errOut, "cut short") || !strings.Contains(out, "Exited") {
		t.Errorf("%v, %q, %d bytes of facts", err, errOut, len(out))
	}
}

func TestReplayFindsForgery(t *testing.T) {
	dataDir, j := node(t)
	forged := fact.Fact{ID: j.Next(1), At: day, Seen: day, Pod: web, Because: []fact.ID{1}, Body: fact.SetPhase{Phase: v1.PodFailed}}
	if err := j.Append(forged); err != nil {
		t.Fatal(err)
	}
	out, _, err := whylet(t.Context(), "replay", "--data-dir", dataDir)
	if !errors.Is(err, errDiffers) || !strings.Contains(out, "does not now") || !strings.Contains(out, `"phase":"Failed"`) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTailFollows(t *testing.T) {
	dataDir, j := node(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := make(chan string, 100)
	done := make(chan error, 1)
	go func() {
		cmd := New(Env{
			Out: lineWriter(lines), Err: &bytes.Buffer{}, DataDir: dataDir,
			Dir: func(dataDir string) string { return filepath.Join(dataDir, "journal") },
		})
		cmd.SetArgs([]string{"tail", "--last", "1", "-o", "json", "--kind", "AgentStarted,AgentStopped"})
		done <- cmd.ExecuteContext(ctx)
	}()
	next := func() (f fact.Fact) {
		select {
		case line := <-lines:
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatal(err)
			}
		case err := <-done:
			t.Fatalf("it ended: %v", err)
		case <-time.After(20 * time.Second):
			t.Fatal("nothing came")
		}
		return f
	}
	if f := next(); f.Body.Kind() != "AgentStarted" {
		t.Errorf("first %s", f.Body.Kind())
	}
	now := time.Now()
	for _, b := range []fact.Body{fact.ClockStepped{By: 1}, fact.AgentStopped{Signal: "SIGTERM"}} {
		if err := j.Append(fact.Fact{ID: j.Next(1), At: now, Seen: now, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	if f := next(); f.Body.Kind() != "AgentStopped" {
		t.Errorf("then %s", f.Body.Kind())
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("at the end: %v", err)
	}
}

// lineWriter hands on what is written, a line at a time.
type lineWriter chan<- string

func (w lineWriter) Write(b []byte) (int, error) {
	w <- strings.TrimSpace(string(b))
	return len(b), nil
}
