package evidence

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// node knows the containers of a test.
type node map[string]Container

func (n node) Container(id string) (Container, bool) { c, ok := n[id]; return c, ok }

func (n node) Running() map[string]Container { return n }

// attended says when somebody first asked what runs, as a source does that begins.
type attended struct {
	node
	once  *sync.Once
	begun chan struct{}
}

func (a attended) Running() map[string]Container {
	a.once.Do(func() { close(a.begun) })
	return a.node
}

func (n node) Owner(int) (string, bool) { return "", false }

func (n node) Pod(uid types.UID) (fact.Pod, bool) {
	for _, c := range n {
		if c.Pod.UID == uid {
			return c.Pod, true
		}
	}
	return fact.Pod{}, false
}

const (
	memoryRoot  = "/sys/fs/cgroup/memory"
	unifiedRoot = "/sys/fs/cgroup"
)

// version2 says whether the memory controller is one of cgroup v2.
func version2() bool {
	controllers, err := os.ReadFile(filepath.Join(unifiedRoot, "cgroup.controllers"))
	return err == nil && strings.Contains(string(controllers), "memory")
}

// limited makes the cgroup of a container with a memory limit of its own.
func limited(t *testing.T, uid, id string, bytes int) (dir string) {
	t.Helper()
	root, limit := memoryRoot, "memory.limit_in_bytes"
	if version2() {
		root, limit = unifiedRoot, "memory.max"
	} else if _, err := os.Stat(filepath.Join(memoryRoot, limit)); err != nil {
		t.Skipf("no memory controller: %v", err)
	}
	top := filepath.Join(root, fmt.Sprintf("whylet-evidence-%d-%d", os.Getpid(), time.Now().UnixNano()))
	dir = filepath.Join(top, "kubepods", "burstable", "pod"+uid, id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Skipf("cannot make a cgroup: %v", err)
	}
	t.Cleanup(func() {
		for d := dir; strings.HasPrefix(d, top); d = filepath.Dir(d) {
			if err := os.Remove(d); err != nil {
				t.Errorf("removing the cgroup: %v", err)
			}
		}
	})
	if version2() {
		var above []string
		for d := filepath.Dir(dir); strings.HasPrefix(d, root); d = filepath.Dir(d) {
			above = append(above, d)
		}
		for _, d := range slices.Backward(above) {
			if err := os.WriteFile(filepath.Join(d, "cgroup.subtree_control"), []byte("+memory"), 0); err != nil {
				t.Skipf("the controllers are the init system's to hand out: %v", err)
			}
		}
	}
	write(t, filepath.Join(dir, limit), fmt.Sprint(bytes))
	return dir
}

func write(t *testing.T, path, value string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
		t.Fatal(err)
	}
}

// follow runs a Kernel and hands on the facts about a pod.
func follow(t *testing.T, k Kernel, uid types.UID) <-chan fact.Fact {
	t.Helper()
	if _, err := os.ReadFile("/proc/self/stat"); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	facts := make(chan fact.Fact, 100)
	done := make(chan error, 1)
	k.Log = slog.New(slog.DiscardHandler)
	go func() {
		done <- k.Run(ctx, func(f fact.Fact) {
			if f.Pod.UID == uid {
				facts <- f
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("at its end: %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("it does not end")
		}
	})
	return facts
}

// TestRealOOM has the kernel kill a process of a container for its memory
// limit: once the main process, once a child of one that lives on.
func TestRealOOM(t *testing.T) {
	if f, err := os.Open("/dev/kmsg"); err != nil {
		t.Skipf("the kernel's log cannot be read: %v", err)
	} else {
		f.Close()
	}
	for i, tt := range []struct {
		name   string
		script string
		main   bool
		gone   bool // before anybody saw which process was its main one
	}{
		{"main", `echo $$ > "$0"; read go; exec dd if=/dev/zero of=/dev/null bs=100M count=1`, true, false},
		{"main, gone", `echo $$ > "$0"; read go; exec dd if=/dev/zero of=/dev/null bs=100M count=1`, true, true},
		{"child", `echo $$ > "$0"; read go; dd if=/dev/zero of=/dev/null bs=100M count=1; read x; exit 0`, false, false},
		{"child, gone", `echo $$ > "$0"; read go; dd if=/dev/zero of=/dev/null bs=100M count=1; read x; exit 0`, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := int(time.Now().UnixNano() / 1e6 % 1e9) // the log still has what an earlier run met
			uid := fmt.Sprintf("5eed%04d-0000-4000-8000-%012d", i, run)
			id := strings.Repeat(fmt.Sprintf("%08x%d", run, i), 7)
			dir := limited(t, uid, id, 8<<20)
			pod := fact.Pod{Namespace: "shop", Name: "web", UID: types.UID(uid)}
			known := node{id: {Pod: pod, Name: "app", Attempt: 3}}
			cmd := exec.Command("/bin/sh", "-c", tt.script, filepath.Join(dir, "cgroup.procs"))
			begun := time.Now()
			lives, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ends := sync.OnceValue(func() error { lives.Close(); return cmd.Wait() })
			t.Cleanup(func() { _ = ends() })
			c := known[id]
			if !tt.gone {
				c.PID = cmd.Process.Pid
			}
			known[id] = c
			// A kill from before the source began, whose report the kernel left out because
			// there were many lately, is nobody's.
			begins := attended{known, &sync.Once{}, make(chan struct{})}
			facts := follow(t, Kernel{Containers: begins}, pod.UID)
			select {
			case <-begins.begun:
			case <-time.After(time.Minute):
				t.Fatal("the source did not begin")
			}
			if _, err := lives.Write([]byte("\n")); err != nil {
				t.Fatal(err)
			}
			left := false // the report, because there were many lately
			select {
			case f := <-facts:
				k, _ := f.Body.(fact.OOMKilled)
				left = k.FoundBy != ""
				// With several such kills at once, those of other tests too, who it was is not said.
				counted := k.FoundBy == fact.ByCounter
				if left && (counted || tt.gone || k.Main == tt.main) {
					t.Logf("the kernel left out its report: %+v", k)
				} else if k.Main != tt.main || k.MainOpen != (tt.gone && !tt.main) || k.Command != "dd" || k.Limit != 8<<20 || k.AnonRSS == 0 || k.Constraint != "CONSTRAINT_MEMCG" ||
					k.TaskCgroup != k.OOMCgroup || !strings.HasSuffix(k.TaskCgroup, uid+"/"+id) || len(k.Tasks) == 0 || k.Usage == 0 {
					t.Errorf("%+v", k)
				}
				if !counted && tt.main != (k.PID == cmd.Process.Pid) {
					t.Errorf("killed was %d, the main process is %d", k.PID, cmd.Process.Pid)
				}
				if f.Pod != pod || f.Container != "app" || f.Attempt != 3 {
					t.Errorf("whose: %+v %s#%d", f.Pod, f.Container, f.Attempt)
				}
				if f.At.Before(begun.Add(-time.Second)) || f.At.After(time.Now().Add(time.Second)) {
					t.Errorf("at %s, it began at %s", f.At, begun)
				}
			case <-time.After(time.Minute):
				t.Fatal("nothing was told")
			}
			if err := ends(); (err != nil) != tt.main {
				t.Errorf("the main process ended with %v", err)
			}
			if left {
				return // without a cgroup nobody can say later whose it was
			}
			// Another agent of this boot tells it again, unless it knows.
			again := follow(t, Kernel{Containers: known}, pod.UID)
			select {
			case f := <-again:
				kills := []fact.Fact{f}
				for range 3 {
					if !Reported(kills)(f.Body, f.At.Add(time.Second)) {
						t.Error("it does not know its own fact again")
					}
				}
				if Reported(kills)(f.Body, f.At.Add(time.Hour)) {
					t.Error("it takes a later kill for one it knows")
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the log of before the start is not told")
			}
		})
	}
}

// TestGapIsTold: records that were overwritten are counted, and what was half
// read is dropped.
func TestGapIsTold(t *testing.T) {
	var facts []fact.Fact
	r := kernelReader{
		Kernel: Kernel{Containers: node{}, Log: slog.New(slog.DiscardHandler)}, clock: startClock(),
		emit: func(f fact.Fact) { facts = append(facts, f) },
	}
	seq := 10
	say := func(text string) {
		r.take(t.Context(), []byte(fmt.Sprintf("4,%d,%d,-;%s\n", seq, time.Duration(seq)/time.Microsecond, text)))
		seq++
	}
	say("dd invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0")
	say("memory: usage 8192kB, limit 8192kB, failcnt 119")
	seq += 7
	say("Memory cgroup out of memory: Killed process 6541 (dd) total-vm:1kB, anon-rss:1kB, file-rss:1kB, shmem-rss:0kB")
	if len(facts) != 2 {
		t.Fatalf("%+v", facts)
	}
	if l, _ := facts[0].Body.(fact.Lost); l.Source != "kmsg" || l.Count != 7 {
		t.Errorf("%+v", l)
	}
	if k, _ := facts[1].Body.(fact.OOMKilled); k.PID != 6541 || k.Limit != 0 || k.Invoker != "" {
		t.Errorf("%+v", k)
	}
}

func TestKernelClock(t *testing.T) {
	c := startClock()
	if at, backlog := c.wall(c.began - time.Hour); !backlog || time.Since(at) < 59*time.Minute || time.Since(at) > 61*time.Minute {
		t.Errorf("an hour ago is %s, backlog %v", at, backlog)
	}
	// The log's clock is two seconds behind: what is read as it comes is now.
	c.began -= 10 * time.Second
	if at, backlog := c.wall(monotonic() - 2*time.Second); backlog || time.Since(at) > 100*time.Millisecond {
		t.Errorf("a record that comes is from %s, backlog %v", at, backlog)
	}
	if at, _ := c.wall(monotonic() - 5*time.Second); time.Since(at) < 2900*time.Millisecond {
		t.Errorf("one that was read late is from %s", at)
	}
}

func TestMemoryCgroup(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"12:pids:/p\n4:cpu,memory:/kubepods/x\n0::/u\n": "/kubepods/x",
		"1:name=systemd:/s\n0::/kubepods.slice/a:b\n":   "/kubepods.slice/a:b",
	} {
		if got := memoryCgroup(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestLogCannotBeRead: the source fails, and says why.
func TestLogCannotBeRead(t *testing.T) {
	err := Kernel{Path: "/nonexistent"}.Run(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "kernel's log") {
		t.Error(err)
	}
}

// TestRealGroupOOM has the kernel kill a whole container for one process of it
// (memory.oom.group, which containerd sets where it is asked to). Only cgroup v2
// can; it runs in make test-cgroup2.
func TestRealGroupOOM(t *testing.T) {
	if !version2() {
		t.Skip("needs cgroup v2")
	}
	uid := fmt.Sprintf("5eed9999-0000-4000-8000-%012d", os.Getpid())
	id := strings.Repeat(fmt.Sprintf("%07xf", os.Getpid()), 8)
	dir := limited(t, uid, id, 8<<20)
	write(t, filepath.Join(dir, "memory.oom.group"), "1")
	pod := fact.Pod{Namespace: "shop", Name: "web", UID: types.UID(uid)}
	known := node{id: {Pod: pod, Name: "app"}}
	facts := follow(t, Kernel{Containers: known}, pod.UID)
	cmd := exec.Command("/bin/sh", "-c", `echo $$ > "$0"; dd if=/dev/zero of=/dev/null bs=100M count=1; exit 0`, filepath.Join(dir, "cgroup.procs"))
	if err := cmd.Run(); err == nil {
		t.Fatal("the shell lived on, though its group was to be killed")
	}
	victims, group := map[int]bool{}, 0
	for len(victims) < 2 {
		select {
		case f := <-facts:
			k, _ := f.Body.(fact.OOMKilled)
			victims[k.PID] = true
			if k.Group {
				group++
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("told of %v", victims)
		}
	}
	if !victims[cmd.Process.Pid] || group == 0 {
		t.Errorf("victims are %v, %d of them by group; the main process is %d", victims, group, cmd.Process.Pid)
	}
}

func TestTableFull(t *testing.T) {
	for text, want := range map[string]bool{
		"4,1,2,-;nf_conntrack: nf_conntrack: table full, dropping packet":                     true,
		"4,1,2,-;nf_conntrack: nf_conntrack: table full in netns 4026531840, dropping packet": true,
		"12,1,2,-;nf_conntrack: table full, dropping packet":                                  false, // a process wrote that
		"6,1,2,-;nf_conntrack: default automatic helper assignment has been turned off":       false,
	} {
		r, err := ParseRecord([]byte(text))
		if err != nil || tableFull(r) != want {
			t.Errorf("%s: %v, %v", text, tableFull(r), err)
		}
	}
}
