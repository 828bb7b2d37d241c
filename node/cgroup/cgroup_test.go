package cgroup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"whylet.dev/whylet/evidence/cgroupfs"
)

// newManager works in a root of its own, which is gone after the test.
func newManager(t testing.TB, edit ...func(*Config)) *Manager {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("cgroups need root")
	}
	cfg := Config{
		Root: fmt.Sprintf("/whylet-test-%d-%d", os.Getpid(), time.Now().UnixNano()),
		Allocatable: v1.ResourceList{
			v1.ResourceMemory: resource.MustParse("256Mi"),
			v1.ResourceCPU:    resource.MustParse("2"),
			PIDs:              resource.MustParse("1000"),
		},
		PodPIDs: 100,
		Log:     slog.New(slog.DiscardHandler),
	}
	for _, e := range edit {
		e(&cfg)
	}
	t.Cleanup(func() {
		layout, err := cgroupfs.DetectLayout()
		if err != nil {
			t.Error(err)
		}
		for _, root := range layout.Roots() {
			if err := removeTree(filepath.Join(root, cfg.Root)); err != nil {
				t.Error(err)
			}
		}
	})
	return open(t, cfg)
}

// open is an agent that comes up.
func open(t testing.TB, cfg Config) *Manager {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ensure(t *testing.T, m *Manager, p *v1.Pod) cgroupfs.Group {
	t.Helper()
	parent, err := m.Ensure(p)
	if err != nil {
		t.Fatal(err)
	}
	if g := m.layout.At(parent); g.Exists() {
		return g
	}
	t.Fatalf("%s was not made", parent)
	return cgroupfs.Group{}
}

func sample(t *testing.T, g cgroupfs.Group) cgroupfs.Sample {
	t.Helper()
	s, err := g.Read()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// weight reads what a cgroup has of the CPU, as version 1 shares.
func weight(t *testing.T, g cgroupfs.Group) int64 {
	t.Helper()
	if g.V2 {
		w := readNumber(t, g.Unified, "cpu.weight")
		return ((w-1)*262142)/9999 + 2
	}
	return readNumber(t, g.CPU, "cpu.shares")
}

func readNumber(t *testing.T, dir, name string) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// quota reads the CPU quota in microseconds per 100 ms, -1 for none.
func quota(t *testing.T, g cgroupfs.Group) int64 {
	t.Helper()
	dir, name := g.CPU, "cpu.cfs_quota_us"
	if g.V2 {
		dir, name = g.Unified, "cpu.max"
	}
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); strings.HasPrefix(s, "max") || strings.HasPrefix(s, "-1") {
		return -1
	}
	n, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// podOf makes a pod of one container; quantities are "cpu memory", or "".
func podOf(uid, requests, limits string) *v1.Pod {
	list := func(s string) v1.ResourceList {
		l := v1.ResourceList{}
		for i, f := range strings.Fields(s) {
			if f != "-" {
				l[[]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}[i]] = resource.MustParse(f)
			}
		}
		return l
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid)},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "c", Resources: v1.ResourceRequirements{Requests: list(requests), Limits: list(limits)},
		}}},
	}
}

// near allows for the rounding of version 2 weights.
func near(t *testing.T, what string, got, want int64) {
	t.Helper()
	if got < want-30 || got > want+30 {
		t.Errorf("%s: got %d, want %d", what, got, want)
	}
}

func TestNodeCgroupsAreMadeAndBound(t *testing.T) {
	m := newManager(t)
	s := sample(t, m.Node())
	if s.MemoryLimit != 256<<20 || s.PIDLimit != 1000 {
		t.Errorf("allocatable is not enforced: memory %d, pids %d", s.MemoryLimit, s.PIDLimit)
	}
	near(t, "shares of all pods", weight(t, m.Node()), 2048)
	near(t, "shares of best effort", weight(t, m.layout.At(m.kube.Name(m.besteffort))), 2)
	m.Enforce(v1.ResourceList{v1.ResourceMemory: resource.MustParse("300Mi")})
	if got := sample(t, m.Node()).MemoryLimit; got != 300<<20 {
		t.Errorf("got %d after the node grew", got)
	}
}

func TestPodCgroupsByClass(t *testing.T) {
	m := newManager(t)
	for _, c := range []struct {
		pod           *v1.Pod
		path          string
		memory, quota int64
		shares        int64
	}{
		{podOf("g", "500m 64Mi", "500m 64Mi"), "/podg", 64 << 20, 50000, 512},
		{podOf("b", "250m 16Mi", "1 32Mi"), "/burstable/podb", 32 << 20, 100000, 256},
		{podOf("o", "250m", ""), "/burstable/podo", 0, -1, 256},
		{podOf("e", "", ""), "/besteffort/pode", 0, -1, 2},
	} {
		t.Run(string(c.pod.UID), func(t *testing.T) {
			g := ensure(t, m, c.pod)
			if !strings.HasSuffix(g.Main(), "/kubepods"+c.path) {
				t.Errorf("made at %s", g.Main())
			}
			s := sample(t, g)
			if s.MemoryLimit != c.memory || s.PIDLimit != 100 {
				t.Errorf("memory %d, pids %d", s.MemoryLimit, s.PIDLimit)
			}
			if got := quota(t, g); got != c.quota {
				t.Errorf("quota %d, want %d", got, c.quota)
			}
			near(t, "shares", weight(t, g), c.shares)
			if got, ok := m.Path(c.pod.UID, ""); !ok || got != g {
				t.Errorf("Path gives %v %v", got, ok)
			}
		})
	}
}

func TestPodLevelResources(t *testing.T) {
	m := newManager(t)
	p := podOf("l", "", "")
	p.Spec.Resources = &v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")},
		Limits:   v1.ResourceList{v1.ResourceMemory: resource.MustParse("48Mi")},
	}
	g := ensure(t, m, p)
	if s := sample(t, g); s.MemoryLimit != 48<<20 {
		t.Errorf("memory limit %d", s.MemoryLimit)
	}
	near(t, "shares", weight(t, g), 102)
}

func TestBurstableClassFollowsItsPods(t *testing.T) {
	m := newManager(t)
	class := m.layout.At(m.kube.Name(m.burstable))
	ensure(t, m, podOf("a", "500m", ""))
	ensure(t, m, podOf("b", "1500m", ""))
	ensure(t, m, podOf("g", "1 1Mi", "1 1Mi"))
	near(t, "two pods", weight(t, class), 2048)
	if err := m.Update(podOf("a", "1", "")); err != nil {
		t.Fatal(err)
	}
	near(t, "after a resize", weight(t, class), 2560)
	if err := m.Remove(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	near(t, "after one went", weight(t, class), 1024)
	if err := m.Remove(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	near(t, "without pods", weight(t, class), 2)
}

func TestResizeInPlace(t *testing.T) {
	m := newManager(t)
	g := ensure(t, m, podOf("r", "500m 64Mi", "500m 64Mi"))
	mixed := podOf("r", "1 32Mi", "1 32Mi") // more CPU, less memory
	if err := m.Widen(mixed); err != nil {
		t.Fatal(err)
	}
	if s := sample(t, g); s.MemoryLimit != 64<<20 || quota(t, g) != 100000 {
		t.Errorf("before the containers change: memory %d, quota %d", s.MemoryLimit, quota(t, g))
	}
	if err := m.Update(mixed); err != nil {
		t.Fatal(err)
	}
	if s := sample(t, g); s.MemoryLimit != 32<<20 || quota(t, g) != 100000 {
		t.Errorf("after: memory %d, quota %d", s.MemoryLimit, quota(t, g))
	}
	near(t, "shares", weight(t, g), 1024)
}

// The next agent finds cgroups, sets what they should be, and lists those that
// nobody needs.
func TestNextAgentTakesCgroupsOver(t *testing.T) {
	m := newManager(t)
	kept := podOf("kept", "500m", "- 32Mi")
	ensure(t, m, kept)
	ensure(t, m, podOf("lost", "", ""))
	next := open(t, m.cfg)
	grown := podOf("kept", "500m", "- 64Mi")
	g := ensure(t, next, grown)
	if s := sample(t, g); s.MemoryLimit != 64<<20 {
		t.Errorf("memory limit %d", s.MemoryLimit)
	}
	if g, ok := next.Path("lost", ""); !ok || !g.Exists() {
		t.Error("a pod of the earlier agent is not found")
	}
	orphans, err := next.Orphans(sets.New[types.UID]())
	if err != nil || len(orphans) != 1 || orphans[0] != "lost" {
		t.Fatalf("orphans %v %v", orphans, err)
	}
	if err := next.Remove(t.Context(), "lost"); err != nil {
		t.Fatal(err)
	}
	if _, ok := next.Path("lost", ""); ok {
		t.Error("the orphan is still there")
	}
	if orphans, err = next.Orphans(nil); err != nil || len(orphans) > 0 {
		t.Errorf("orphans %v %v", orphans, err)
	}
}

// sleeper starts a process and puts it into a container's cgroup, as a runtime
// does: in every hierarchy, the empty one of a hybrid machine too. The channel is
// closed when the process is gone.
func sleeper(t *testing.T, m *Manager, parent, name string) <-chan struct{} {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
	})
	for _, root := range m.layout.Roots() {
		dir := filepath.Join(root, parent, name)
		if m.layout.V2 {
			write(t, filepath.Dir(dir), "cgroup.subtree_control", "+cpu +memory +pids")
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(root, parent, "cpuset.cpus")); err == nil && !m.layout.V2 {
			mems, _ := os.ReadFile(filepath.Join(root, parent, "cpuset.mems"))
			write(t, dir, "cpuset.cpus", string(b))
			write(t, dir, "cpuset.mems", string(mems))
		}
		write(t, dir, "cgroup.procs", strconv.Itoa(cmd.Process.Pid))
	}
	return exited
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}

func TestRemoveKillsWhatIsInsideOnly(t *testing.T) {
	m := newManager(t)
	parent, err := m.Ensure(podOf("p", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	other, err := m.Ensure(podOf("pp", "", "")) // the name begins alike
	if err != nil {
		t.Fatal(err)
	}
	inside, outside := sleeper(t, m, parent, "ctr"), sleeper(t, m, other, "ctr")
	g, ok := m.Path("p", "containerd://ctr")
	if !ok {
		t.Fatal("the container's cgroup is not found")
	}
	if s := sample(t, g); s.PIDs != 1 {
		t.Errorf("the container's cgroup shows %+v", s)
	}
	if in, others := m.Processes("p"), m.Processes("pp"); len(in) != 1 || len(others) != 1 || in[0] == others[0] {
		t.Errorf("the pods' processes are %v and %v", in, others)
	}
	if none := m.Processes("nobody"); none != nil {
		t.Errorf("a pod without a cgroup has processes %v", none)
	}
	if err := m.Remove(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-inside:
	case <-time.After(10 * time.Second):
		t.Error("what was inside lives")
	}
	select {
	case <-outside:
		t.Error("what was outside was killed")
	default:
	}
	for _, root := range m.layout.Roots() {
		if _, err := os.Stat(filepath.Join(root, parent)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there", filepath.Join(root, parent))
		}
	}
	if _, err := g.Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading what is gone: %v", err)
	}
	if err := m.Remove(t.Context(), "p"); err != nil {
		t.Error("again is no error:", err)
	}
	if err := m.Remove(t.Context(), "pp"); err != nil {
		t.Fatal(err)
	}
}

func TestOOMKillIsCounted(t *testing.T) {
	m := newManager(t)
	parent, err := m.Ensure(podOf("oom", "", "- 8Mi"))
	if err != nil {
		t.Fatal(err)
	}
	sleeper(t, m, parent, "ctr")
	g, _ := m.Path("oom", "ctr")
	// The sleeper's cgroup gets a process that takes more than the pod may have:
	// a shell that moves itself there and then fills memory.
	shell := exec.Command("sh", "-c", `for d; do echo $$ > $d/cgroup.procs; done; exec dd if=/dev/zero of=/dev/null bs=100M count=1`, "sh")
	for _, root := range m.layout.Roots() {
		shell.Args = append(shell.Args, filepath.Join(root, parent, "ctr"))
	}
	err = shell.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("want a SIGKILL, got %v", err)
	}
	if s := sample(t, g); s.OOMKills == 0 || s.MemoryPeak == 0 {
		t.Errorf("got %+v", s)
	}
	if s := sample(t, m.layout.At(parent)); s.LimitHits == 0 {
		t.Errorf("the pod's limit was not hit: %+v", s)
	}
	if err := m.Remove(t.Context(), "oom"); err != nil {
		t.Fatal(err)
	}
}

// A node that comes back smaller than what its pods use: version 1 refuses the
// limit until they use less.
// A pod that is held back cannot take what is left to its neighbours, and one
// that has less already keeps its limit.
func TestHoldBack(t *testing.T) {
	m := newManager(t)
	hungry, small := podOf("hungry", "- 1Mi", ""), podOf("small", "", "- 8Mi")
	group, bounded := ensure(t, m, hungry), ensure(t, m, small)
	before := sample(t, bounded).MemoryLimit
	for _, uid := range []types.UID{"hungry", "small", "nobody"} {
		if err := m.HoldBack(uid); err != nil {
			t.Fatal(err)
		}
	}
	name := "memory.limit_in_bytes"
	if group.V2 {
		name = "memory.high"
	}
	if got := readNumber(t, group.Main(), name); got <= 0 || got > mostMore+1<<20 {
		t.Errorf("the pod may still use %d bytes", got)
	}
	if got := sample(t, bounded).MemoryLimit; got != before {
		t.Errorf("a limit of %d became %d", before, got)
	}
}

func TestEnforcementIsTriedAgain(t *testing.T) {
	m := newManager(t)
	if m.layout.V2 {
		t.Skip("version 2 takes any limit")
	}
	parent, err := m.Ensure(podOf("big", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command("sh", "-c",
		`echo $$ > $0/cgroup.procs; x=$(head -c 16000000 /dev/zero | tr '\0' a); echo ready; exec 1>&-; sleep 600; echo $x`,
		m.layout.At(parent).Memory)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Wait() })
	if text, err := io.ReadAll(out); err != nil || string(text) != "ready\n" {
		t.Fatalf("%q %v", text, err)
	}
	m.Enforce(v1.ResourceList{v1.ResourceMemory: resource.MustParse("4Mi")})
	if m.unenforced == nil {
		t.Error("the kernel took a limit below what is used")
	}
	if err := m.Remove(t.Context(), "big"); err != nil {
		t.Fatal(err)
	}
	if got := sample(t, m.Node()).MemoryLimit; got != 4<<20 || m.unenforced != nil {
		t.Errorf("limit %d after the pod went", got)
	}
}

func TestOddUIDs(t *testing.T) {
	m := newManager(t)
	for _, uid := range []types.UID{"", "a/b", "..", "../x", "a_b"} {
		if _, err := m.Ensure(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}); err == nil {
			t.Errorf("Ensure took %q", uid)
		}
		if err := m.Remove(t.Context(), uid); err == nil {
			t.Errorf("Remove took %q", uid)
		}
	}
}

func TestWithin(t *testing.T) {
	text := "5:memory:/a/kubepods/podx/ctr\n1:cpu:/\n0::/a/kubepods/podx\n"
	for path, want := range map[string]bool{
		"/a/kubepods/podx": true, "/a/kubepods/podx/ctr": true, "/a/kubepods": true,
		"/a/kubepods/pod": false, "/a/kubepods/podx/ct": false, "/kubepods/podx": false, "/b": false,
	} {
		if got := within(text, path); got != want {
			t.Errorf("%s: got %v", path, got)
		}
	}
}

func TestReadOwnMachine(t *testing.T) {
	m := newManager(t)
	parent, err := m.Ensure(podOf("p", "", "- 32Mi"))
	if err != nil {
		t.Fatal(err)
	}
	sleeper(t, m, parent, "ctr")
	g, ok := m.Path("p", "ctr")
	if !ok {
		t.Fatal("no cgroup")
	}
	s := sample(t, g)
	if s.PIDs != 1 || s.WorkingSet > s.MemoryCurrent {
		t.Errorf("%+v", s)
	}
	if !s.PSI && g.Unified != "" {
		t.Error("pressure is not read")
	}
	if p, err := g.Pressure(); err != nil || p.PSI != s.PSI {
		t.Errorf("%+v %v", p, err)
	}
	if err := m.Remove(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
}
