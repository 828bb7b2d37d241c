package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"whylet.dev/whylet/test/peer"
	"whylet.dev/whylet/why/answer"
)

// besideKubelet starts the real stack with the agent beside its kubelet, for a test.
func besideKubelet(t *testing.T, runtime peer.Runtime, settings ...string) *Kubelet {
	t.Helper()
	bin, err := peer.FindBinaries(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	bin.Runtime = runtime
	stack, err := peer.StartKubelet(t.Context(), bin, settings...)
	if err != nil {
		t.Fatal(err)
	}
	node, err := beside(t.Context(), bin, stack)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs end:\n%s", node.Log())
		}
		if err := node.Purge(); err != nil {
			t.Error("clean-up:", err)
		}
	})
	if node.Sights()[0] != ByAgent {
		t.Fatal("whylet-observe is not built: make observe")
	}
	return node
}

// play asks about scenarios live and then in other situations; it gives how many were
// answered rightly and wrongly, by situation. What is wrong and called recorded fails the test.
func play(t *testing.T, node *Kubelet, all []Scenario, situations ...Situation) (right, wrong map[Situation]int) {
	t.Helper()
	s := &Suite{Node: node, Patience: min(patience(t), 2*time.Minute), Every: 2 * time.Second}
	if err := s.Prepare(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	right, wrong = map[Situation]int{}, map[Situation]int{}
	var lock sync.Mutex
	for _, in := range append([]Situation{Live}, situations...) {
		for name, err := range s.Enter(t.Context(), in, all) {
			t.Fatal(name, err)
		}
		SideBySide(len(all), width(t), func(i int) {
			r := s.one(t.Context(), &all[i], in, nil)[0]
			lock.Lock()
			defer lock.Unlock()
			if graded(t, r) {
				right[in]++
			}
			if r.Grade == Wrong {
				wrong[in]++
			}
		})
		t.Logf("%s: %d of %d right, %d wrong", in, right[in], len(all), wrong[in])
	}
	return right, wrong
}

// onAnyRuntime are those whose answers need what a container runtime tells: ends, exit codes,
// commands in containers, starts that fail, and whose cgroup is whose.
var onAnyRuntime = []string{
	"crash-loop", "exec-kills", "exec-probe-oom", "exits-zero", "grace-kill", "hang-killed", "hook", "init-failed", "kill-9-outside",
	"no-command", "oom-main", "probe-command", "segfault", "true-complete",
}

// Debian's containerd, version 1.6: an older CRI, under the real kubelet.
func TestObserveDebianContainerd(t *testing.T) { observeOn(t, peer.DebianContainerd) }

// CRI-O, whose containers are looked at every second, under the real kubelet.
func TestObserveCRIO(t *testing.T) { observeOn(t, peer.CRIO) }

func observeOn(t *testing.T, runtime func(programs string) peer.Runtime) {
	t.Helper()
	programs := os.Getenv("WHYLET_E2E_RUNTIMES")
	if programs == "" {
		t.Skip("it runs a real kubelet on another container runtime: make test-runtimes")
	}
	all, err := Load("own", onAnyRuntime...)
	if err != nil {
		t.Fatal(err)
	}
	right, wrong := play(t, besideKubelet(t, runtime(programs)), all, Restarted)
	for _, in := range []Situation{Live, Restarted} {
		if right[in] < len(all)-1 || wrong[in] > 0 {
			t.Errorf("%s: %d of %d are right, %d wrong", in, right[in], len(all), wrong[in])
		}
	}
}

// Pods as the webhooks of other meshes make them, with a stand-in for their proxies.
func TestObserveMeshes(t *testing.T) {
	if os.Getenv("WHYLET_OBSERVE") == "" {
		t.Skip("it runs a real kubelet with the agent beside it: make test-observe")
	}
	all, err := Load("meshes")
	if err != nil {
		t.Fatal(err)
	}
	if right, wrong := play(t, besideKubelet(t, nil), all); right[Live] < len(all) || wrong[Live] > 0 {
		t.Errorf("%d of %d are right, %d wrong", right[Live], len(all), wrong[Live])
	}
}

// The order in which kubelet would evict pods is in its log; whom it evicted and who would have
// been next is told with what each used.
func TestObserveEviction(t *testing.T) {
	if os.Getenv("WHYLET_OBSERVE") == "" {
		t.Skip("it runs a real kubelet with the agent beside it: make test-observe")
	}
	smaller, err := peer.Smaller(700 << 20)
	if err != nil {
		t.Fatal(err)
	}
	node := besideKubelet(t, nil, smaller)
	if err := node.stack.Namespace(t.Context(), "short"); err != nil {
		t.Fatal(err)
	}
	// Beside 20 MiB the eater leaves less than the 100 MiB that kubelet keeps, and more than none. kubelet's figures of
	// it are up to a quarter of a minute old, so it eats slowly: it has passed the other long before it is too much.
	var manifest strings.Builder
	for name, args := range map[string]string{
		"next":  `image: "stress:1", args: ["--vm", "1", "--vm-bytes", "20M", "--vm-hang", "0"]`,
		"first": `image: "eater:1", args: ["-mib", "610", "-rate", "20"]`,
		"last":  `image: "busybox:1", command: [sleep, "1000"], resources: {requests: {memory: 32Mi}}`,
	} {
		fmt.Fprintf(&manifest, "---\n{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers: [{name: c, %s}]}}\n", name, args)
	}
	if out, err := node.Run(t.Context(), manifest.String(), "kubectl", "-n", "short", "apply", "-f", "-"); err != nil {
		t.Fatal(string(out), err)
	}
	within, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var said string // at last: the time may be over in the midst of a question
	err = eventually(within, time.Second, func() error {
		out, err := node.Why(within, ByAgent, "pod/first", "short")
		var a answer.Answer
		if json.Unmarshal(out, &a) != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		said = a.Text(answer.Style{Wide: true})
		text := strings.Join(strings.Fields(said), " ")
		for _, words := range []string{"evicted-memory", "the order of eviction was: 1. short/first", "2. short/next uses ", "3. short/last"} {
			if !strings.Contains(text, words) {
				return fmt.Errorf("it does not say %q", words)
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("%v; the last answer:\n%s", err, said)
	}
}
