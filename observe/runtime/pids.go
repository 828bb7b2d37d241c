package runtime

import (
	"os"
	"strconv"
	"strings"

	"whylet.dev/whylet/evidence"
)

// hostPID is the number that this machine gives a container's main process. The
// runtime may live in a process namespace of its own and count otherwise: then the
// process is looked for by the container's cgroup.
func hostPID(id string, told int) int {
	if told != 0 && evidence.ContainerOf(told) == id {
		return told
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	found := map[int]int{} // process to parent
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && evidence.ContainerOf(pid) == id {
			found[pid] = parentOf(pid)
		}
	}
	best := 0
	for pid, parent := range found {
		if _, inside := found[parent]; !inside && (best == 0 || pid < best) {
			best = pid
		}
	}
	return best
}

func parentOf(pid int) int {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The command stands in brackets and may hold anything, brackets too.
	_, rest, _ := strings.Cut(string(b)[max(0, strings.LastIndexByte(string(b), ')')):], " ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}
