package pressure

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/evidence/cgroupfs"
)

// Reader looks at the machine. What cannot be read is missing from its readings.
type Reader struct {
	// Pods is the cgroup of all pods. Memory is set, in bytes, on a node that was
	// told to be smaller than its machine: then what its pods use is what it uses.
	Pods   cgroupfs.Group
	Memory int64
	// PIDs is set on a node whose pods together may have so many processes and
	// threads: then theirs count, and not the machine's.
	PIDs int64
	// NodeDir is where the node keeps its files. ImageDir is a directory where the
	// runtime keeps images and layers; "" where nobody said.
	NodeDir, ImageDir string
	// Proc is /proc, but in tests.
	Proc string
}

// Read takes one look: some twenty system calls.
func (r Reader) Read() Readings {
	all := Readings{}
	r.memory(all)
	fileSystem(all, r.NodeDir, NodeFSAvailable, NodeFSInodesFree)
	fileSystem(all, r.ImageDir, ImageFSAvailable, ImageFSInodesFree)
	r.pids(all)
	return all
}

// memory reads what is left of the node's memory and below the pods' limit. What
// the kernel would give back without harm, the page cache that nobody used lately,
// counts as left (cadvisor's working set). Huge pages count neither as available memory
// nor as capacity, down to what pods use (kubelet's HugepageAwareEviction).
func (r Reader) memory(all Readings) {
	pods, err := r.Pods.Read()
	if err == nil && pods.MemoryLimit > 0 {
		all[AllocatableMemory] = Reading{Available: pods.MemoryLimit - pods.WorkingSet, Capacity: pods.MemoryLimit}
	}
	values := r.meminfo("MemTotal", "MemFree", "Inactive(file)", "Hugetlb")
	huge := values["Hugetlb"]
	if r.Memory > 0 {
		if err == nil {
			left := max(0, r.Memory-huge-pods.WorkingSet) // the machine's huge pages may be more than the node's memory
			all[MemoryAvailable] = Reading{Available: left, Capacity: left + pods.WorkingSet}
		}
		return
	}
	if total := values["MemTotal"]; total > 0 {
		all[MemoryAvailable] = Reading{Available: values["MemFree"] + values["Inactive(file)"], Capacity: total - huge}
	}
}

// meminfo reads some lines of /proc/meminfo, in bytes.
func (r Reader) meminfo(wanted ...string) map[string]int64 {
	data, err := os.ReadFile(filepath.Join(r.Proc, "meminfo"))
	if err != nil {
		return nil
	}
	values := map[string]int64{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() && len(values) < len(wanted) {
		key, rest, _ := strings.Cut(lines.Text(), ":")
		for _, name := range wanted {
			if key == name {
				values[key] = number(strings.TrimSuffix(rest, "kB")) << 10
			}
		}
	}
	return values
}

// pids compares the tasks of the machine, or of the pods where they are bounded,
// with the most there can be.
func (r Reader) pids(all Readings) {
	if r.PIDs > 0 {
		if pods, err := r.Pods.Read(); err == nil {
			all[PIDAvailable] = Reading{Available: r.PIDs - pods.PIDs, Capacity: r.PIDs}
		}
		return
	}
	most := min(r.number("sys/kernel/pid_max"), r.number("sys/kernel/threads-max"))
	fields := strings.Fields(r.text("loadavg")) // the fourth field is running/all
	if most == 0 || len(fields) < 4 {
		return
	}
	_, tasks, _ := strings.Cut(fields[3], "/")
	if n := number(tasks); n > 0 {
		all[PIDAvailable] = Reading{Available: most - n, Capacity: most}
	}
}

func (r Reader) text(name string) string {
	data, err := os.ReadFile(filepath.Join(r.Proc, name))
	if err != nil {
		return ""
	}
	return string(data)
}

func (r Reader) number(name string) int64 { return number(r.text(name)) }

// number is 0 for what is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// fileSystem reads space and inodes of the file system that a directory is on. One
// that does not count inodes (btrfs) has no such reading.
func fileSystem(all Readings, dir string, space, inodes Signal) {
	var fs unix.Statfs_t
	if dir == "" || unix.Statfs(dir, &fs) != nil {
		return
	}
	all[space] = Reading{Available: int64(fs.Bavail) * fs.Bsize, Capacity: int64(fs.Blocks) * fs.Bsize}
	if fs.Files > 0 {
		all[inodes] = Reading{Available: int64(fs.Ffree), Capacity: int64(fs.Files)}
	}
}

// Dedicated says that images lie on another file system than the node's files.
func (r Reader) Dedicated() bool {
	var node, image unix.Stat_t
	if r.ImageDir == "" || unix.Stat(r.NodeDir, &node) != nil || unix.Stat(r.ImageDir, &image) != nil {
		return false
	}
	return node.Dev != image.Dev
}
