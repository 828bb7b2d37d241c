package object

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is what the machine says of itself. What it does not say is empty.
type Machine struct {
	ID, SystemUUID, BootID string
	Kernel, OSImage        string
	// CPUs is how many processors this process may use.
	CPUs int
	// Memory, Swap and Disk are in bytes. Disk is the size of the file system that
	// the node's directory is on.
	Memory, Swap, Disk int64
	// HugePages is how much memory, in bytes, is set aside in pages of each size
	// (in bytes) that the kernel offers.
	HugePages map[int64]int64
}

// ReadMachine looks at the machine: at the files below root ("/" but in tests),
// the kernel's version, and the file system of dataDir. An error means that what
// a node cannot do without (memory, disk) could not be read.
func ReadMachine(root, dataDir string) (Machine, error) {
	m := Machine{
		ID:         firstLine(root, "etc/machine-id", "var/lib/dbus/machine-id"),
		SystemUUID: firstLine(root, "sys/class/dmi/id/product_uuid", "proc/device-tree/system-id", "proc/device-tree/vm,uuid", "etc/machine-id"),
		BootID:     BootID(root),
		Kernel:     firstLine(root, "proc/sys/kernel/osrelease"),
		OSImage:    osImage(root),
		CPUs:       runtime.NumCPU(),
		HugePages:  hugePages(root),
	}
	memory, err := meminfo(root)
	m.Memory, m.Swap = memory["MemTotal"], memory["SwapTotal"]
	if err == nil && m.Memory == 0 {
		err = fmt.Errorf("%s: no MemTotal", filepath.Join(root, "proc/meminfo"))
	}
	var fs unix.Statfs_t
	if statErr := unix.Statfs(dataDir, &fs); statErr != nil {
		err = errors.Join(err, fmt.Errorf("size of the file system of %s: %w", dataDir, statErr))
	} else {
		m.Disk = int64(fs.Blocks) * fs.Bsize
	}
	return m, err
}

// BootID names this boot of the kernel; empty where the kernel does not say. In a
// container it names this start of it: nothing of what ran in it before runs on. The
// variable WHYLET_BOOT_ID says otherwise: with it a test lets the machine seem to
// have been booted anew.
func BootID(root string) string {
	if id := os.Getenv("WHYLET_BOOT_ID"); id != "" {
		return id
	}
	id := firstLine(root, "proc/sys/kernel/random/boot_id")
	if began := firstProcess(root); id != "" && began > bootTicks {
		id += "-" + strconv.FormatUint(began, 10)
	}
	return id
}

// bootTicks is after how many clock ticks a process 1 is not the kernel's first one.
const bootTicks = 1000

// firstProcess is when process 1 started, in clock ticks after the kernel (proc_pid_stat(5));
// 0 where that is not to be seen.
func firstProcess(root string) uint64 {
	line := firstLine(root, "proc/1/stat")
	// The command, field 2, is in parentheses and may hold anything.
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(fields) < 20 {
		return 0
	}
	ticks, _ := strconv.ParseUint(fields[19], 10, 64)
	return ticks
}

// firstLine is the first line of the first of the files that has one.
func firstLine(root string, files ...string) string {
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(root, file))
		line, _, _ := strings.Cut(string(data), "\n")
		if line = strings.Trim(line, " \t\x00"); err == nil && line != "" {
			return line
		}
	}
	return ""
}

// osImage is the distribution's name for itself (os-release(5)).
func osImage(root string) string {
	for _, file := range []string{"etc/os-release", "usr/lib/os-release"} {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
				return strings.Trim(name, `"'`)
			}
		}
	}
	return ""
}

// meminfo reads /proc/meminfo, in bytes.
func meminfo(root string) (map[string]int64, error) {
	f, err := os.Open(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return nil, fmt.Errorf("memory of the machine: %w", err)
	}
	defer f.Close()
	values := map[string]int64{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, rest, _ := strings.Cut(lines.Text(), ":")
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			continue
		}
		if len(fields) > 1 && fields[1] == "kB" {
			n *= 1024
		}
		values[key] = n
	}
	return values, lines.Err()
}

// hugePages reads how many huge pages there are, per size
// (Documentation/admin-guide/mm/hugetlbpage.rst).
func hugePages(root string) map[int64]int64 {
	dirs, _ := filepath.Glob(filepath.Join(root, "sys/kernel/mm/hugepages/hugepages-*kB"))
	pages := map[int64]int64{}
	for _, dir := range dirs {
		size, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(dir), "hugepages-"), "kB"), 10, 64)
		if err != nil {
			continue
		}
		count, err := strconv.ParseInt(firstLine(dir, "nr_hugepages"), 10, 64)
		if err != nil {
			continue
		}
		pages[size*1024] = count * size * 1024
	}
	return pages
}
