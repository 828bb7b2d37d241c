package stats

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"whylet.dev/whylet/evidence/cgroupfs"
)

// tree is a pod's cgroup of our own making, with one container that keeps a
// processor busy.
type tree struct {
	all, pod, container cgroupfs.Group
	pid                 int
}

// dirs are the directories of a group.
func dirs(g cgroupfs.Group) []string {
	var all []string
	for _, dir := range []string{g.Unified, g.Memory, g.CPU, g.CPUAcct, g.PIDs} {
		if dir != "" {
			all = append(all, dir)
		}
	}
	return all
}

func newTree(t testing.TB) tree {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("making cgroups needs root")
	}
	layout, err := cgroupfs.DetectLayout()
	if err != nil {
		t.Skip(err)
	}
	root := "/whylet-stats-test-" + strconv.Itoa(os.Getpid()) + "-" + strings.ToLower(t.Name())
	tr := tree{all: layout.At(root), pod: layout.At(root + "/podu1"), container: layout.At(root + "/podu1/c1")}
	t.Cleanup(func() {
		for _, g := range []cgroupfs.Group{tr.container, tr.pod, tr.all} {
			for _, dir := range dirs(g) {
				remove(t, dir)
			}
		}
	})
	for _, dir := range dirs(tr.container) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if layout.V2 {
		for _, g := range []cgroupfs.Group{tr.all, tr.pod} {
			if err := os.WriteFile(filepath.Join(g.Unified, "cgroup.subtree_control"), []byte("+cpu +memory +pids"), 0); err != nil {
				t.Skipf("the controllers of a version 2 hierarchy are the init system's to hand out: %v", err)
			}
		}
	}
	busy := exec.Command("sh", "-c", "read go; kept=$(head -c 4000000 /dev/zero | tr '\\0' x); while :; do :; done")
	started, err := busy.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = busy.Process.Kill()
		_ = busy.Wait()
	})
	tr.pid = busy.Process.Pid
	for _, dir := range dirs(tr.container) {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(tr.pid)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := started.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	return tr
}

// remove removes a cgroup, with the processes that are left in it.
func remove(t testing.TB, dir string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := os.Remove(dir)
		if err == nil || os.IsNotExist(err) {
			return
		}
		if time.Now().After(end) {
			t.Error(err)
			return
		}
		left, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for field := range strings.FieldsSeq(string(left)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// find is Config.Group for the tree.
func (tr tree) find(uid types.UID, id string) (cgroupfs.Group, bool) {
	switch {
	case uid == "u1" && id == "":
		return tr.pod, true
	case uid == "u1" && id == "containerd://c1":
		return tr.container, true
	}
	return cgroupfs.Group{}, false
}

func running(name, id string, since time.Time) v1.ContainerStatus {
	return v1.ContainerStatus{
		Name: name, ContainerID: id,
		State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}},
	}
}

// pods are one that runs, and one without a cgroup.
func pods(since time.Time) []*v1.Pod {
	start := metav1.NewTime(since)
	return []*v1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "pending", UID: "u2"}},
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "u1"},
			Status: v1.PodStatus{
				StartTime: &start,
				InitContainerStatuses: []v1.ContainerStatus{{
					Name: "init", ContainerID: "containerd://c0", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}},
				}},
				ContainerStatuses: []v1.ContainerStatus{
					running("app", "containerd://c1", since),
					running("just-gone", "containerd://c9", since),
				},
			},
		},
	}
}

func measured(t *testing.T, adjust func(*Config)) (*Collector, tree) {
	t.Helper()
	tr := newTree(t)
	logs := t.TempDir()
	dir := filepath.Join(logs, "a_web_u1", "app")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"0.log": 100, "0.log.20260102-030405.gz": 23} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	since := time.Now().Add(-time.Hour)
	config := Config{
		NodeName: "n1", Pods: func() []*v1.Pod { return pods(since) }, Group: tr.find, All: tr.all,
		NetworkPID: func(types.UID) int { return tr.pid },
		Volumes: func(types.UID) (ephemeral, persistent []statsapi.VolumeStats) {
			used, inodes := uint64(1000), uint64(3)
			return []statsapi.VolumeStats{{Name: "cache", FsStats: statsapi.FsStats{UsedBytes: &used, InodesUsed: &inodes}}},
				[]statsapi.VolumeStats{{Name: "data"}}
		},
		Layer:   func(id string) (used, inodes uint64, ok bool) { return 50, 2, id == "containerd://c1" },
		LogsDir: logs, NodeDir: logs, ImageDir: logs, Proc: "/proc", Clock: clock.RealClock{}, Log: slog.New(slog.DiscardHandler),
	}
	if adjust != nil {
		adjust(&config)
	}
	return New(config), tr
}

func TestFirstSummaryHasEverything(t *testing.T) {
	c, _ := measured(t, nil)
	began := time.Now()
	s, err := c.Summary(context.Background(), false)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %s", took)
	}
	if len(s.Pods) != 1 || len(s.Pods[0].Containers) != 1 {
		t.Fatalf("%+v", s.Pods)
	}
	pod := s.Pods[0]
	app := pod.Containers[0]
	if pod.PodRef != (statsapi.PodReference{Namespace: "a", Name: "web", UID: "u1"}) || app.Name != "app" {
		t.Errorf("%+v %s", pod.PodRef, app.Name)
	}
	// The process does nothing but turn; the machine may be busy with others.
	if rate := *app.CPU.UsageNanoCores; rate < 1e8 || rate > 15e8 {
		t.Errorf("a busy loop uses %d nanocores", rate)
	}
	if pod.CPU.UsageNanoCores == nil || s.Node.CPU.UsageNanoCores == nil || *s.Node.CPU.UsageNanoCores == 0 {
		t.Errorf("no CPU rate: %+v %+v", pod.CPU, s.Node.CPU)
	}
	if *app.Memory.WorkingSetBytes == 0 || *app.Memory.WorkingSetBytes > *app.Memory.UsageBytes {
		t.Errorf("working set %d of %d", *app.Memory.WorkingSetBytes, *app.Memory.UsageBytes)
	}
	if *s.Node.Memory.WorkingSetBytes <= *app.Memory.WorkingSetBytes || *s.Node.Memory.AvailableBytes == 0 {
		t.Errorf("node memory %+v", s.Node.Memory)
	}
	if *app.Logs.UsedBytes != 123 || *app.Logs.InodesUsed != 2 || *app.Rootfs.UsedBytes != 50 {
		t.Errorf("logs %d bytes in %d files, layer %d", *app.Logs.UsedBytes, *app.Logs.InodesUsed, *app.Rootfs.UsedBytes)
	}
	if *pod.EphemeralStorage.UsedBytes != 123+50+1000 || *pod.EphemeralStorage.InodesUsed != 2+2+3 || len(pod.VolumeStats) != 2 {
		t.Errorf("ephemeral storage %+v, volumes %+v", *pod.EphemeralStorage.UsedBytes, pod.VolumeStats)
	}
	// While it still fills its memory it has children; and a machine may have the
	// loopback interface only, which is left out.
	lonely := parseNetDev(c.file("self/net/dev")) == nil
	if *pod.ProcessStats.ProcessCount < 1 || (pod.Network == nil) != lonely || (s.Node.Network == nil) != lonely {
		t.Errorf("processes %d, network %+v", *pod.ProcessStats.ProcessCount, pod.Network)
	}
	if s.Node.Fs == nil || *s.Node.Fs.CapacityBytes == 0 || s.Node.Runtime.ImageFs == nil || *s.Node.Rlimit.MaxPID == 0 || s.Node.StartTime.IsZero() {
		t.Errorf("%+v", s.Node)
	}
	if len(s.Node.SystemContainers) != 1 || s.Node.SystemContainers[0].Name != "pods" {
		t.Errorf("%+v", s.Node.SystemContainers)
	}
}

func TestSmallSummaryIsSmall(t *testing.T) {
	c, _ := measured(t, nil)
	s, err := c.Summary(context.Background(), true)
	if err != nil {
		t.Fatal(err)
	}
	if s.Node.Fs != nil || s.Node.Network != nil || s.Pods[0].Network != nil || s.Pods[0].VolumeStats != nil || s.Pods[0].Containers[0].Logs != nil {
		t.Errorf("%+v", s)
	}
	if s.Pods[0].Containers[0].CPU.UsageNanoCores == nil {
		t.Error("no CPU rate")
	}
}

func TestASummaryServesAllWhoAskInTheSameSecond(t *testing.T) {
	looks := 0
	c, _ := measured(t, func(c *Config) {
		ask := c.Pods
		c.Pods = func() []*v1.Pod {
			looks++
			return ask()
		}
	})
	answers := make(chan *statsapi.Summary)
	for range 8 {
		go func() {
			s, err := c.Summary(context.Background(), true)
			if err != nil {
				t.Error(err)
			}
			answers <- s
		}()
	}
	first := <-answers
	for range 7 {
		if s := <-answers; !reflect.DeepEqual(s, first) {
			t.Error("answers differ")
		}
	}
	if looks != 2 {
		t.Errorf("%d looks for eight questions, want the two that a rate needs", looks)
	}
}

func TestSummaryIsGivenUpWithItsRequest(t *testing.T) {
	c, _ := measured(t, func(c *Config) { c.Clock = clocktesting.NewFakeClock(t0) })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Summary(ctx, true); err == nil {
		t.Error("an answer without a wait")
	}
}

func TestNodeThatIsAPartOfItsMachineIsWhatItsPodsAre(t *testing.T) {
	c, _ := measured(t, func(c *Config) { c.Memory = 512 << 20 })
	s, err := c.Summary(context.Background(), true)
	if err != nil {
		t.Fatal(err)
	}
	pods := s.Node.SystemContainers[0]
	if *s.Node.Memory.WorkingSetBytes != *pods.Memory.WorkingSetBytes || *s.Node.CPU.UsageCoreNanoSeconds != *pods.CPU.UsageCoreNanoSeconds {
		t.Errorf("node %+v, pods %+v", s.Node.Memory, pods.Memory)
	}
	if *s.Node.Memory.AvailableBytes != 512<<20-*pods.Memory.WorkingSetBytes {
		t.Errorf("available %d", *s.Node.Memory.AvailableBytes)
	}
}

func TestResourceMetrics(t *testing.T) {
	c, _ := measured(t, nil)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewResources(c))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		`container_cpu_usage_seconds_total{container="app",namespace="a",pod="web"} `,
		`container_memory_working_set_bytes{container="app",namespace="a",pod="web"} `,
		`container_swap_usage_bytes{container="app",namespace="a",pod="web"} `,
		`container_start_time_seconds{container="app",namespace="a",pod="web"} `,
		`pod_cpu_usage_seconds_total{namespace="a",pod="web"} `,
		`pod_memory_working_set_bytes{namespace="a",pod="web"} `,
		"\nnode_cpu_usage_seconds_total ", "\nnode_memory_working_set_bytes ", "\nresource_scrape_error 0\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "just-gone") || strings.Contains(text.String(), "pending") {
		t.Errorf("invented:\n%s", text.String())
	}
}

func TestNothingOfAContainerThatIsGoneIsKept(t *testing.T) {
	c, _ := measured(t, nil)
	if _, err := c.Summary(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.meters["containerd://c1"]; !ok {
		t.Fatal("no meter for a running container")
	}
	c.c.Pods = func() []*v1.Pod { return nil }
	c.last = snapshot{}
	s, err := c.Summary(context.Background(), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.meters["containerd://c1"]; ok || len(s.Pods) != 0 {
		t.Errorf("kept: %v, %+v", c.meters, s.Pods)
	}
	if text, err := json.Marshal(s); err != nil || !strings.Contains(string(text), `"pods":[]`) {
		t.Errorf("%s, %v", text, err)
	}
}

// A look at 500 pods with a container each: a thousand cgroups.
func BenchmarkLook500(b *testing.B) {
	tr := newTree(b)
	var all []*v1.Pod
	for i := range 500 {
		name := strconv.Itoa(i)
		all = append(all, &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name)},
			Status:     v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{running("c", name, t0)}},
		})
	}
	c := New(Config{
		Pods:  func() []*v1.Pod { return append([]*v1.Pod(nil), all...) },
		Group: func(types.UID, string) (cgroupfs.Group, bool) { return tr.container, true }, All: tr.all,
		Proc: "/proc", Clock: clock.RealClock{}, Log: slog.New(slog.DiscardHandler),
	})
	for b.Loop() {
		c.mu.Lock()
		c.take()
		c.mu.Unlock()
	}
}

func TestGoneCgroupIsGone(t *testing.T) {
	c := New(Config{Clock: clock.RealClock{}, Log: slog.New(slog.DiscardHandler)})
	if _, ok := c.read(cgroupfs.Group{V2: true, Unified: "/sys/fs/cgroup/no/such"}); ok {
		t.Error("read")
	}
}
