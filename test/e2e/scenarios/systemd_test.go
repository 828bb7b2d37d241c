package scenarios

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"whylet.dev/whylet/test/peer"
	"whylet.dev/whylet/why/answer"
)

// underSystemd is a node in an emulated machine whose cgroups systemd makes, of version 2, with
// a real kubelet, containerd and the agent, beside the control plane of a real stack.
type underSystemd struct {
	*Kubelet // no pods come to its node
	machine  *peer.Machine
}

func (u *underSystemd) Sights() []Sight { return []Sight{ByAgent} }

func (u *underSystemd) Why(ctx context.Context, _ Sight, subject, namespace string) ([]byte, error) {
	out, err := u.machine.Run(ctx, fmt.Sprintf("whylet-observe why %s -n %s -o json", subject, namespace))
	return []byte(out), err
}

func (u *underSystemd) Restart(ctx context.Context, in Situation) error {
	unit := map[Situation]string{Restarted: "whylet-observe", KubeletRestarted: "kubelet"}[in]
	if unit == "" {
		return nil
	}
	_, err := u.machine.Run(ctx, "systemctl kill --signal=KILL "+unit) // it is started again at once
	pause(ctx, acquainted)
	return err
}

// onSystemd are those whose answers turn on whose cgroup is whose, and on what its counters say,
// and some that do not.
var onSystemd = []string{
	"bystander-oom", "cache-at-limit", "child-oom-propagated", "closed-port", "crash-loop", "exits-zero", "grace-kill", "init-failed",
	"no-command", "oom-main", "pod-limit", "probe-command", "segfault", "throttled", "true-complete",
}

// A real kubelet and containerd under systemd on cgroups of version 2, in an emulated machine.
func TestObserveSystemd(t *testing.T) {
	work := os.Getenv("WHYLET_MACHINE")
	if work == "" {
		t.Skip("it runs a real kubelet in an emulated machine: make test-systemd")
	}
	root := filepath.Join("..", "..", "..")
	bin, err := peer.FindBinaries(root)
	if err != nil {
		t.Fatal(err)
	}
	k, err := StartKubelet(t.Context(), bin, nil, NoAgent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Purge(); err != nil {
			t.Error("clean-up:", err)
		}
	})
	if out, err := k.Run(t.Context(), "", "kubectl", "cordon", k.stack.Node); err != nil {
		t.Fatal(string(out), err)
	}
	began := time.Now()
	m, err := k.stack.Emulate(t.Context(), "emulated", filepath.Join(root, "test", "machine"), work)
	if err != nil {
		t.Fatal(err)
	}
	u := &underSystemd{k, m}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := m.Run(context.Background(), "journalctl --no-pager -n 200")
			t.Log(out)
		}
		if err := m.Stop(); err != nil {
			t.Error("clean-up:", err)
		}
	})
	seen, err := m.Run(t.Context(), "whylet-observe doctor; systemd-cgls --no-pager -u kubelet.service; stat -fc %T /sys/fs/cgroup")
	t.Logf("Ready after %v\n%s%v", time.Since(began).Round(time.Second), seen, err)
	u.play(t)
}

// sideBySide is how many pods in trouble one emulated processor carries: of fifteen that end again
// and again each call of the runtime takes seconds, and what is asked of it is not answered.
const sideBySide = 5

// play asks live, after the agent was killed, and after kubelet was; a few pods at a time.
func (u *underSystemd) play(t *testing.T) {
	t.Helper()
	all, err := Load("own", onSystemd...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].Name == "child-oom-propagated" { // kubelet has all of a container die with one of its processes there
			all[i].Want.Either = append(all[i].Want.Either, answer.MemoryLimit)
		}
	}
	s := &Suite{Node: u, Patience: 10 * time.Minute, Every: 20 * time.Second} // a question takes seconds of an emulated processor
	right := map[Situation]int{}
	for some := range slices.Chunk(all, sideBySide) {
		few(t, s, some, right)
	}
	for _, in := range underSystemdIn {
		t.Logf("%s: %d of %d are right", in, right[in], len(all))
		if right[in] < len(all)-1 {
			t.Errorf("%s: %d of %d are right", in, right[in], len(all))
		}
	}
}

var underSystemdIn = []Situation{Live, Restarted, KubeletRestarted}

// few plays some, and counts those that are right.
func few(t *testing.T, s *Suite, some []Scenario, right map[Situation]int) {
	t.Helper()
	if err := s.Prepare(t.Context(), some); err != nil {
		t.Fatal(err)
	}
	for _, in := range underSystemdIn {
		for name, err := range s.Enter(t.Context(), in, some) {
			t.Fatal(name, err)
		}
		results := make([]Result, len(some))
		SideBySide(len(some), 4, func(i int) { results[i] = s.one(t.Context(), &some[i], in, nil)[0] })
		for _, r := range results {
			if graded(t, r) {
				right[in]++
			}
			if r.Grade == Wrong {
				t.Errorf("%v", r)
			}
		}
	}
	for i := range some {
		if err := s.End(t.Context(), &some[i]); err != nil {
			t.Error("clean-up:", err)
		}
	}
}
