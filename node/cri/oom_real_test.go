package cri_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri/critest"
)

// only knows one container.
type only struct {
	id  string
	one evidence.Container
}

func (o only) Container(id string) (evidence.Container, bool) { return o.one, id == o.id }

func (o only) Pod(uid types.UID) (fact.Pod, bool) { return o.one.Pod, uid == o.one.Pod.UID }

func (o only) Running() map[string]evidence.Container {
	return map[string]evidence.Container{o.id: o.one}
}
func (o only) Owner(int) (string, bool) { return "", false }

// TestOOM has the kernel kill a child in a real container. On cgroup v2 the whole
// container dies with it, as it is asked to with each container, or not, where that
// is taken back (make test-cgroup2); on version 1 the container always lives on.
func TestOOM(t *testing.T) {
	for name, group := range map[string]bool{"group": true, "single": false} {
		t.Run(name, func(t *testing.T) {
			n := critest.Start(t)
			if group && !critest.Machine().CgroupV2 {
				t.Skip("needs cgroup v2")
			}
			c := critest.Sh("main", "until [ -e /tmp/go ]; do sleep 0.1; done; dd if=/dev/zero of=/dev/null bs=64M count=1; exit 3")
			c.Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("24Mi")}
			p := n.RunPod(t, func(pod *v1.Pod) { pod.UID = uuid.NewUUID() }, c)
			id := p.Start("main", 0)
			_, pid, err := n.Inspect(t.Context(), id)
			if err != nil || pid == 0 {
				t.Fatal(pid, err)
			}
			if !group && critest.Machine().CgroupV2 {
				single(t, pid)
			}
			plain := strings.TrimPrefix(id, "containerd://")
			kills := oomKills(t, only{plain, evidence.Container{Pod: fact.Pod{UID: p.UID}, Name: "main", PID: pid}})
			touch(t, "/proc/"+itoa(pid)+"/root/tmp/go")
			child := <-kills
			// Where many were killed lately the kernel leaves out its report.
			reported := child.FoundBy == ""
			if child.Command != "dd" || child.Main ||
				reported && (child.Limit != 24<<20 || fact.ParseCgroup(child.TaskCgroup).Container != plain) {
				t.Errorf("the child: %+v", child)
			}
			if group {
				if main := <-kills; !main.Main || !main.Group || main.PID != pid {
					t.Errorf("the main process, which is %d: %+v", pid, main)
				}
			}
			want := map[bool]int32{true: 137, false: 3}[group]
			if v := p.WaitExit(id); v.ExitCode != want {
				t.Errorf("it ended with %d, want %d", v.ExitCode, want)
			}
		})
	}
}

// single has the kernel kill one process at a time in the container of a process.
func single(t *testing.T, pid int) {
	t.Helper()
	cgroup, err := os.ReadFile("/proc/" + itoa(pid) + "/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	_, path, _ := strings.Cut(strings.TrimSpace(string(cgroup)), "::")
	if err := os.WriteFile(filepath.Join("/sys/fs/cgroup", path, "memory.oom.group"), []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
}

// oomKills follows the kernel's log for the kills in a pod. The channel is closed
// where none came for a long time.
func oomKills(t *testing.T, known only) <-chan fact.OOMKilled {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	kills, done := make(chan fact.OOMKilled, 16), make(chan struct{})
	go func() {
		defer close(done)
		defer close(kills)
		err := evidence.Kernel{Containers: known, Log: slog.New(slog.DiscardHandler)}.Run(ctx, func(f fact.Fact) {
			if k, ok := f.Body.(fact.OOMKilled); ok && f.Pod.UID == known.one.Pod.UID {
				kills <- k
			}
		})
		if err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return kills
}
