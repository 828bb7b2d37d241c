package evidence

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// machine is a /proc and a /sys/fs/cgroup of files, with containers in them.
type machine struct {
	t      *testing.T
	known  node
	reader kernelReader
	told   []fact.Fact
	seq    uint64
}

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, known: node{}}
	m.reader = kernelReader{
		Kernel: Kernel{Containers: m.known, Log: slog.New(slog.DiscardHandler), Proc: t.TempDir(), Cgroups: t.TempDir()},
		emit:   func(f fact.Fact) { m.told = append(m.told, f) },
	}
	m.reader.begin()
	m.reader.placing = true // the tests say when to look
	return m
}

func (m *machine) write(path, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// container runs one, in whose cgroup so many processes were killed.
func (m *machine) container(name string, pid int, killed int64) {
	id := strings.Repeat(name[:1], 64)
	path := "/kubepods/pod" + name + "/" + id
	m.known[id] = Container{Pod: fact.Pod{Name: name, UID: types.UID(name)}, Name: "app", PID: pid}
	m.write(filepath.Join(m.reader.Proc, fmt.Sprint(pid), "cgroup"), "4:memory:"+path+"\n0::/\n")
	m.write(filepath.Join(m.reader.Cgroups, "memory", path, "memory.oom_control"), fmt.Sprintf("oom_kill_disable 0\nunder_oom 0\noom_kill %d\n", killed))
}

// kill is the one line that the kernel leaves of a report.
func (m *machine) kill(pid int) {
	m.seq++
	line := fmt.Sprintf("Memory cgroup out of memory: Killed process %d (hog) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0", pid)
	m.reader.take(context.Background(), fmt.Appendf(nil, "6,%d,%d,-;%s\n", m.seq, monotonic().Microseconds()+1e9, line))
	if n := len(m.reader.unplaced); n > 0 {
		m.reader.unplaced[n-1].wall = time.Now().Add(time.Hour) // however slow the machine is
	}
}

func TestKillsWithoutCgroup(t *testing.T) {
	m := newMachine(t)
	m.container("apple", 100, 1)
	m.container("berry", 200, 1)
	m.container("cherry", 300, 0)
	m.kill(100)
	m.kill(999) // a child of berry's
	m.reader.place()
	if len(m.told) != 2 {
		t.Fatalf("told: %+v", m.told)
	}
	for i, want := range []struct {
		pod  string
		body fact.OOMKilled
	}{
		{"apple", fact.OOMKilled{PID: 100, Command: "hog", Main: true, FoundBy: fact.ByProcess}},
		{"berry", fact.OOMKilled{PID: 999, Command: "hog", FoundBy: fact.ByCounter}},
	} {
		got := m.told[i].Body.(fact.OOMKilled)
		if m.told[i].Pod.Name != want.pod || got.PID != want.body.PID || got.Main != want.body.Main || got.FoundBy != want.body.FoundBy || got.Command != "hog" {
			t.Errorf("told of %s: %+v", m.told[i].Pod.Name, got)
		}
	}
	m.reader.place()
	if len(m.told) != 2 {
		t.Errorf("told twice: %+v", m.told)
	}
}

// TestKillsThatMayBeEithers: the kills are certain, the processes are not.
func TestKillsThatMayBeEithers(t *testing.T) {
	m := newMachine(t)
	m.container("apple", 100, 1)
	m.container("berry", 200, 1)
	m.kill(998)
	m.kill(999)
	m.reader.place()
	if len(m.told) != 2 || m.told[0].Pod.Name != "apple" || m.told[1].Pod.Name != "berry" {
		t.Fatalf("told: %+v", m.told)
	}
	for _, f := range m.told {
		if b := f.Body.(fact.OOMKilled); b.PID != 0 || b.Command != "" || b.AnonRSS != 0 || b.Constraint != "CONSTRAINT_MEMCG" || b.FoundBy != fact.ByCounter {
			t.Errorf("%+v", b)
		}
	}
}

func TestKillOfNobodyKnown(t *testing.T) {
	m := newMachine(t)
	m.container("apple", 100, 0)
	m.kill(999)
	m.reader.place()
	if len(m.told) != 0 || len(m.reader.unplaced) != 1 {
		t.Fatalf("told: %+v", m.told)
	}
	m.reader.unplaced[0].wall = time.Now().Add(-2 * keepUnplaced)
	m.reader.place()
	if len(m.told) != 1 || m.told[0].Pod.UID != "" || len(m.reader.unplaced) != 0 {
		t.Errorf("told: %+v", m.told)
	}
}

// TestManyRealKills has the kernel kill more main processes at once than it
// prints reports of. When all have ended, and the log was read up to then, each
// has been told of, as its container's main process.
func TestManyRealKills(t *testing.T) {
	if f, err := os.Open("/dev/kmsg"); err != nil {
		t.Skipf("the kernel's log cannot be read: %v", err)
	} else {
		f.Close()
	}
	const many = 24
	known := node{}
	uid := types.UID(fmt.Sprintf("5eed0007-0000-4000-8000-%012d", os.Getpid()))
	pod := fact.Pod{Namespace: "shop", Name: "web", UID: uid}
	var all []*exec.Cmd
	gate, open, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for i := range many {
		id := strings.Repeat(fmt.Sprintf("%06x%02d", os.Getpid(), i), 8)
		dir := limited(t, fmt.Sprintf("%s-%d", uid, i), id, 8<<20)
		cmd := exec.Command("/bin/sh", "-c", `echo $$ > "$0"; read x; exec dd if=/dev/zero of=/dev/null bs=100M count=1`, filepath.Join(dir, "cgroup.procs"))
		cmd.Stdin = gate
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
		one := pod
		one.UID = types.UID(fmt.Sprintf("%s-%d", uid, i))
		known[id] = Container{Pod: one, Name: fmt.Sprint(i), PID: cmd.Process.Pid}
	}
	fence := &Fence{}
	facts := make(chan fact.Fact, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Kernel{Containers: known, Log: slog.New(slog.DiscardHandler), Fence: fence}.Run(ctx, func(f fact.Fact) {
			if strings.HasPrefix(string(f.Pod.UID), string(uid)) {
				facts <- f
			}
		})
	}()
	for reads := false; !reads; time.Sleep(time.Millisecond) {
		fence.mu.Lock()
		reads = fence.drain != nil
		fence.mu.Unlock()
	}
	gate.Close()
	open.Close()
	for _, cmd := range all {
		if err := cmd.Wait(); err == nil {
			t.Error("a process lived on")
		}
	}
	fence.Pass()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(facts)
	mains := map[string]int{}
	byProcess := 0
	for f := range facts {
		if b := f.Body.(fact.OOMKilled); b.Main {
			mains[f.Container]++
			if b.FoundBy == fact.ByProcess {
				byProcess++
			}
		}
	}
	for i := range many {
		if n := mains[fmt.Sprint(i)]; n != 1 {
			t.Errorf("the end of %d was told %d times", i, n)
		}
	}
	t.Logf("%d of %d had no cgroup in the kernel's record", byProcess, many)
}

// Of a container that the runtime has not told of in time it is not known whether its main
// process was killed, unless it had no other.
func TestKillInUnknownContainer(t *testing.T) {
	m := newMachine(t)
	m.container("apple", 100, 0)
	unknown := "/kubepods/podapple/" + strings.Repeat("b", 64)
	late, end := context.WithCancel(t.Context())
	end()
	for tasks, want := range map[int]fact.OOMKilled{1: {Main: true}, 2: {MainOpen: true}} {
		k := OOM{OOMKilled: fact.OOMKilled{PID: 7, TaskCgroup: unknown, OOMCgroup: unknown}}
		for pid := range tasks {
			k.Tasks = append(k.Tasks, fact.OOMTask{PID: 7 + pid})
		}
		f := m.reader.fact(late, k, time.Now(), false)
		if b := fact.Of[fact.OOMKilled](&f); f.Pod.UID != "apple" || b.Main != want.Main || b.MainOpen != want.MainOpen {
			t.Errorf("with %d processes: %+v", tasks, f)
		}
	}
}
