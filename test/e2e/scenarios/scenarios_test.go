package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/why"
)

// node is the node that all scenarios share, in a network namespace of its own.
type node struct{ netns, dir string }

var shared *node

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Geteuid() != 0 {
		fmt.Println("SKIP: the scenarios run real containers and need root: sudo make test-e2e")
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	n, err := newNode(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "scenarios: the node did not start:", err)
		return 1
	}
	shared = n
	code := m.Run()
	if err := n.purge(); err != nil {
		fmt.Fprintln(os.Stderr, "scenarios: clean-up:", err)
		return 1
	}
	return code
}

func bin(name string) string {
	dir := os.Getenv("WHYLET_E2E_BIN")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "bin")
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		panic(err)
	}
	return path
}

func newNode(ctx context.Context) (*node, error) {
	dir, err := os.MkdirTemp("", "whylet-scenarios-")
	if err != nil {
		return nil, err
	}
	n := &node{netns: filepath.Base(dir), dir: dir}
	for _, args := range [][]string{{"netns", "add", n.netns}, {"-n", n.netns, "link", "set", "lo", "up"}} {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
	}
	images, err := filepath.Glob(bin("images/*.tar"))
	if err != nil || len(images) == 0 {
		return nil, errors.Join(fmt.Errorf("no images in %s: run 'make images'", bin("images")), n.purge())
	}
	for _, args := range [][]string{
		{"up", "--detach", "--data-dir", n.data(), "--kubeconfig", n.kubeconfig()},
		append([]string{"image", "load", "--data-dir", n.data()}, images...),
	} {
		if _, err := n.command(ctx, "", "whylet", args...); err != nil {
			return nil, errors.Join(err, n.purge())
		}
	}
	return n, nil
}

func (n *node) data() string       { return filepath.Join(n.dir, "data") }
func (n *node) kubeconfig() string { return filepath.Join(n.dir, "kubeconfig") }

// command runs a built program in the node's network namespace.
func (n *node) command(ctx context.Context, stdin, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--net=/run/netns/" + n.netns, bin(program)}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+n.kubeconfig())
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, errOut.String())
	}
	return out.Bytes(), nil
}

func (n *node) purge() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	_, down := n.command(ctx, "", "whylet", "down", "--purge", "--data-dir", n.data())
	netns := exec.CommandContext(ctx, "ip", "netns", "del", n.netns).Run()
	return errors.Join(down, netns, os.RemoveAll(n.dir))
}

// expected is an answer.yaml.
type expected struct {
	Symptom   why.SymptomKind `json:"symptom"`
	Cause     why.Cause       `json:"cause"`
	Container string          `json:"container"`
	RuledOut  []why.Cause     `json:"ruledOut"`
}

// missing says what of the expected answer is not in an answer; nil if all is.
func (e expected) missing(a why.Answer) error {
	for i, v := range a.Verdicts {
		if a.Symptoms[i].Kind != e.Symptom || v.Cause != e.Cause || e.Container != "" && v.Container != e.Container {
			continue
		}
		for _, c := range e.RuledOut {
			if !slices.ContainsFunc(v.RuledOut, func(n why.Note) bool { return n.Cause == c }) {
				return fmt.Errorf("%s is not ruled out", c)
			}
		}
		return nil
	}
	return fmt.Errorf("no verdict is %s: %s (%s)", e.Symptom, e.Cause, e.Container)
}

// patience is how long trouble may take to come about and be understood.
const patience = 3 * time.Minute

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("*/manifest.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			scenario(t, dir)
		})
	}
}

func scenario(t *testing.T, dir string) {
	manifest, err := os.ReadFile(filepath.Join(dir, "manifest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "answer.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var want expected
	if err := yaml.UnmarshalStrict(text, &want); err != nil {
		t.Fatal(err)
	}
	kubectl := func(stdin string, args ...string) error {
		_, err := shared.command(t.Context(), stdin, "kubectl", append([]string{"-n", dir}, args...)...)
		return err
	}
	if err := kubectl("", "create", "namespace", dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, func() error { return kubectl("", "get", "serviceaccount", "default") })
	if err := kubectl(string(manifest), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		a, err := question(t, dir)
		if err != nil {
			return err
		}
		if err := want.missing(a); err != nil {
			return fmt.Errorf("%w\n%s", err, a.Text(why.Style{Wide: true}))
		}
		return nil
	}
	eventually(t, patience, ask)
	if err := kubectl("", "delete", "pod", "subject", "--wait=true", "--timeout=2m"); err != nil {
		t.Fatal(err)
	}
	if want.Symptom == why.Healthy || want.Symptom == why.Pending {
		return // nothing was wrong, or no node ever heard of it
	}
	if err := ask(); err != nil {
		t.Errorf("after it was deleted: %v", err)
	}
}

// question asks about the subject; an exit code of 2 is an answer too.
func question(t *testing.T, namespace string) (why.Answer, error) {
	var a why.Answer
	out, err := shared.command(t.Context(), "", "whylet", "why", "pod/subject", "-n", namespace, "-o", "json")
	if len(out) == 0 {
		return a, err
	}
	return a, json.Unmarshal(out, &a)
}

// eventually waits until check succeeds; its last error says what was missing.
func eventually(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %v", within, err)
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%v: %v", t.Context().Err(), err)
		}
	}
}
