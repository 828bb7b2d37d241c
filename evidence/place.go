package evidence

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
)

// The kernel prints at most ten whole reports in five seconds. Of other kills it
// prints the last line only, which names a process and no cgroup (mm/oom_kill.c,
// oom_kill_process). Whose such a process was is found out here: a main process
// is known by its number, and a cgroup counts the kills in it.

// unplaced is a kill of which it is not known whose process it was.
type unplaced struct {
	OOM
	wall time.Time
}

const (
	// placeAfter is how long the reader waits for more of the kind before it looks.
	placeAfter = 20 * time.Millisecond
	// keepUnplaced is how long such a kill may wait for its container to be known.
	keepUnplaced = time.Second
	// mostCounted bounds the containers whose kills are counted.
	mostCounted = 1024
)

// begin notes what the cgroups have counted so far.
func (r *kernelReader) begin() {
	r.told = map[string]int64{}
	for id, c := range r.Containers.Running() {
		if _, n, ok := r.counted(id, c.PID); ok {
			r.told[id] = n
		}
	}
}

// tell counts a kill that is attributed to a container.
func (r *kernelReader) tell(id string) {
	if id == "" {
		return
	}
	r.told[id]++
	if len(r.told) > mostCounted {
		running := r.Containers.Running()
		maps.DeleteFunc(r.told, func(id string, _ int64) bool { _, runs := running[id]; return !runs })
	}
}

// putAside keeps a kill of which the kernel named no cgroup until the rest of
// what it logged at the time was read.
func (r *kernelReader) putAside(k OOM, at time.Time) {
	r.unplaced = append(r.unplaced, unplaced{k, at})
}

// place attributes what it can, and tells of the rest when it has waited enough.
// The caller holds mu.
func (r *kernelReader) place() {
	if len(r.unplaced) == 0 {
		return
	}
	running := r.Containers.Running()
	r.unplaced = slices.DeleteFunc(r.unplaced, func(u unplaced) bool { return r.placeByProcess(u, running) })
	r.placeByCounter(running)
	r.unplaced = slices.DeleteFunc(r.unplaced, func(u unplaced) bool {
		if u.old() {
			r.emit(fact.Fact{At: u.wall, Body: u.OOMKilled})
		}
		return u.old()
	})
	if len(r.unplaced) > 0 && !r.placing {
		r.placing = true
		time.AfterFunc(placeAfter, r.placeLater)
	}
}

func (r *kernelReader) placeLater() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.placing = false
	if !r.ended {
		r.place()
	}
}

func (u unplaced) old() bool { return time.Since(u.wall) > keepUnplaced }

// placeByProcess finds a kill's container by the process.
func (r *kernelReader) placeByProcess(u unplaced, running map[string]Container) bool {
	u.FoundBy = fact.ByProcess
	for id, c := range running {
		if c.PID == u.PID || c.PID == u.TGID {
			u.Main = true
			r.emitFor(id, c, u)
			return true
		}
	}
	id, ok := r.Containers.Owner(u.PID)
	c, known := running[id]
	if !ok || !known {
		return false
	}
	r.emitFor(id, c, u)
	return true
}

// risen is a container in whose cgroup more processes were killed than were told of.
type risen struct {
	id, cgroup string
}

// placeByCounter finds the containers of kills by their cgroups' counters. With
// several kills or several containers, which process was whose is not known, and
// not said; as long as records may still come that say more, it waits.
func (r *kernelReader) placeByCounter(running map[string]Container) {
	if len(r.unplaced) == 0 {
		return
	}
	var all []risen
	for _, id := range slices.Sorted(maps.Keys(running)) {
		path, n, ok := r.counted(id, running[id].PID)
		for range max(0, n-r.told[id]) {
			if ok {
				all = append(all, risen{id, path})
			}
		}
	}
	certain := len(all) == 1 && len(r.unplaced) == 1
	if len(all) > len(r.unplaced) && !r.unplaced[0].old() {
		return
	}
	for _, one := range all[:min(len(all), len(r.unplaced))] {
		u := r.unplaced[0]
		r.unplaced = r.unplaced[1:]
		if !certain {
			u.OOMKilled = fact.OOMKilled{Constraint: u.Constraint}
		}
		u.TaskCgroup, u.FoundBy = one.cgroup, fact.ByCounter
		r.emitFor(one.id, running[one.id], u)
	}
}

func (r *kernelReader) emitFor(id string, c Container, u unplaced) {
	r.tell(id)
	r.emit(fact.Fact{At: u.wall, Pod: c.Pod, Container: c.Name, Attempt: c.Attempt, Body: u.OOMKilled})
}

// counted reads how many processes were OOM-killed in a container's cgroup, which
// is that of its main process.
func (r *kernelReader) counted(id string, pid int) (path string, n int64, ok bool) {
	path = r.cgroupOf(pid)
	if fact.ParseCgroup(path).Container != id {
		return "", 0, false
	}
	root := r.Cgroups
	if root == "" {
		root = "/sys/fs/cgroup"
	}
	for _, file := range []string{
		filepath.Join(root, "memory", path, "memory.oom_control"), // v1
		filepath.Join(root, path, "memory.events"),                // v2
	} {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if number, found := strings.CutPrefix(line, "oom_kill "); found {
				n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
				return path, n, err == nil
			}
		}
	}
	return "", 0, false
}

// ContainerOf is the runtime's id of the container that a living process is in, by
// its cgroup; empty for one of no container and for one that is gone.
func ContainerOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return ""
	}
	return fact.ParseCgroup(memoryCgroup(string(b))).Container
}
