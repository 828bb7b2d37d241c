package kubelet

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"

	"whylet.dev/whylet/evidence"
)

// Process is a kubelet that runs on this machine.
type Process struct {
	PID     int
	Args    []string
	Started time.Time
	// began tells it from a later process of the same number.
	began uint64
	// Verbosity is its -v; 0 where it was not given one.
	Verbosity int
	// Log is the file that its words go to, as this process can open it; [Journal] for
	// systemd's, empty where they go somewhere else.
	Log string
	// Root is where its paths begin: /proc/PID/root.
	Root string
	// Unit is the systemd unit that it is part of; empty where it is of none.
	Unit string
	// InPod is whether it runs in a pod: anybody may run a program of that name there.
	InPod bool
}

// Find looks for a kubelet. It prefers one outside of pods, then one in this process's own
// network namespace, then the first.
func Find() (Process, bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return Process{}, false
	}
	var found Process
	best := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		p, ok := Look(pid)
		if !ok {
			continue
		}
		rank := 1
		if !p.InPod {
			rank += 2
		}
		if p.Here() {
			rank++
		}
		if rank > best {
			found, best = p, rank
		}
		if rank == 4 {
			break
		}
	}
	if level, ok := found.configured(); ok {
		found.Verbosity = level
	}
	return found, found.PID != 0
}

// Here reports whether it is in this process's own network namespace.
func (p Process) Here() bool {
	own, err := os.Readlink("/proc/self/ns/net")
	its, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", p.PID))
	return err == nil && err2 == nil && own == its
}

// configured is the verbosity of its configuration; ok is false where a flag says it,
// which comes first, or nothing does.
func (p Process) configured() (level int, ok bool) {
	for _, form := range []string{"--v", "-v"} {
		if _, said := flagOf(p.Args, form); said {
			return 0, false
		}
	}
	c, ok := p.configuration()
	return c.Logging.Verbosity, ok
}

// Endpoint is the container runtime's socket by its flags or configuration, unix://…;
// empty where neither says it.
func (p Process) Endpoint() string {
	c, _ := p.configuration()
	named := c.ContainerRuntimeEndpoint
	for _, form := range []string{"--container-runtime-endpoint", "--cri-socket"} { // the latter is k0s's, remote:unix://…
		if v, said := flagOf(p.Args, form); said {
			named = v
		}
	}
	named = strings.TrimPrefix(strings.TrimPrefix(named, "remote:"), "unix://")
	if !filepath.IsAbs(named) {
		return ""
	}
	return "unix://" + filepath.Clean(named)
}

// PodLogs is where it keeps the logs of all pods, in its paths.
func (p Process) PodLogs() string {
	c, _ := p.configuration()
	return cmp.Or(c.PodLogsDir, "/var/log/pods")
}

// configuration is what is read of KubeletConfiguration.
type configuration struct {
	PodLogsDir               string `json:"podLogsDir"`
	ContainerRuntimeEndpoint string `json:"containerRuntimeEndpoint"`
	Logging                  struct {
		Verbosity int `json:"verbosity"`
	} `json:"logging"`
}

// largest bounds a configuration file.
const largest = 1 << 20

// configuration reads --config, and over it, as kubelet does, the files of --config-dir in
// the order of their names. ok is false where no file could be read.
func (p Process) configuration() (c configuration, ok bool) {
	var files []string
	if path, said := flagOf(p.Args, "--config"); said {
		files = append(files, filepath.Join(p.Root, path))
	}
	if dir, said := flagOf(p.Args, "--config-dir"); said {
		over, _ := filepath.Glob(filepath.Join(p.Root, dir, "*.conf")) // sorted; a bad pattern is no folder's name
		files = append(files, over...)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.Size() > largest {
			continue
		}
		raw, err := os.ReadFile(file)
		if err == nil && yaml.Unmarshal(raw, &c) == nil {
			ok = true
		}
	}
	return c, ok
}

// flagOf is a flag's value, in either of the forms that flags have.
func flagOf(args []string, name string) (value string, ok bool) {
	for i, a := range args {
		if v, found := strings.CutPrefix(a, name+"="); found {
			value, ok = v, true
		}
		if a == name && i+1 < len(args) {
			value, ok = args[i+1], true
		}
	}
	return value, ok
}

// Look reads what a process is; false where it is no kubelet.
func Look(pid int) (Process, bool) {
	dir := fmt.Sprintf("/proc/%d", pid)
	raw, err := os.ReadFile(dir + "/cmdline")
	if err != nil || len(raw) == 0 {
		return Process{}, false
	}
	var args []string
	for part := range bytes.SplitSeq(bytes.TrimRight(raw, "\x00"), []byte{0}) {
		args = append(args, string(part))
	}
	if !isKubelet(args) {
		return Process{}, false
	}
	stat, err := os.ReadFile(dir + "/stat")
	of, err2 := evidence.ParseStat(string(stat))
	if err != nil || err2 != nil {
		return Process{}, false
	}
	p := Process{PID: pid, Args: args, Verbosity: verbosity(args), Root: dir + "/root", Log: logOf(dir), began: of.Began, Started: of.Start()}
	if groups, err := os.ReadFile(dir + "/cgroup"); err == nil {
		p.Unit, p.InPod = unitOf(string(groups)), podCgroup.Match(groups)
	}
	if p.Log == Journal && p.Unit == "" {
		p.Log = "" // a socket of somebody else's
	}
	return p, true
}

// Lives says whether it still runs.
func (p Process) Lives() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	now, err2 := evidence.ParseStat(string(stat))
	return err == nil && err2 == nil && now.Began == p.began && now.State != "Z"
}

// housed are programs that have a kubelet inside, with the arguments that start it.
var housed = map[string][]string{
	"k3s": {"server", "agent"}, "rke2": {"server", "agent"}, "k0s": {"worker", "controller"}, "k3s-server": nil, "k3s-agent": nil,
}

func isKubelet(args []string) bool {
	name := filepath.Base(args[0])
	with, house := housed[name]
	return name == "kubelet" || house && (with == nil || len(args) > 1 && slices.Contains(with, args[1]))
}

// verbosity reads -v, in any of the forms that flags have.
func verbosity(args []string) int {
	level := 0
	for _, form := range []string{"--v", "-v"} {
		if v, ok := flagOf(args, form); ok {
			level, _ = strconv.Atoi(v) // with what is no number kubelet does not start
		}
	}
	return level
}

// Dir is where it keeps its pods' files (--root-dir).
func (p Process) Dir() string {
	if dir, ok := flagOf(p.Args, "--root-dir"); ok {
		return dir
	}
	return "/var/lib/kubelet"
}

// podCgroup matches the cgroups of pods, also as a process in another pod sees them: ../../podUID/….
var podCgroup = regexp.MustCompile(`/(kubepods([.-][^/\n]*)?|pod[0-9a-f]{8}([-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12}|pod[0-9a-f]{32})(/|\n|$)`)

// unitOf finds the unit in a process's cgroups: systemd gives each service one.
func unitOf(groups string) string {
	unit := ""
	for line := range strings.Lines(groups) {
		for part := range strings.SplitSeq(strings.TrimSpace(line), "/") {
			if strings.HasSuffix(part, ".service") {
				unit = part
			}
		}
	}
	return unit
}

// Journal is Process.Log where systemd keeps the log.
const Journal = "journal"

// logOf finds where standard error goes.
func logOf(dir string) string {
	target, err := os.Readlink(dir + "/fd/2")
	switch {
	case err != nil:
		return ""
	case strings.HasPrefix(target, "socket:"):
		return Journal // systemd gives its services a socket to its journal
	case strings.HasPrefix(target, "/dev/"), !strings.HasPrefix(target, "/"), strings.HasSuffix(target, " (deleted)"):
		return ""
	}
	// By the descriptor's own path it can be opened wherever that file system is.
	return dir + "/fd/2"
}

func (p Process) String() string {
	where := "its log goes to " + p.Log
	if target, err := os.Readlink(p.Log); err == nil {
		where = "its log goes to " + target
	}
	if p.Log == Journal {
		where = "its log goes to systemd's journal, as " + p.Unit
	}
	if p.Log == "" {
		where = "where its log goes is not known"
	}
	costs := ""
	switch {
	case p.Verbosity < 1:
		costs = "; at -v below 1 it says nothing of probes, and below 2 not why it ends a container: events and counters stand in"
	case p.Verbosity < 2:
		costs = "; at -v below 2 it does not say why it ends a container: events stand in"
	}
	return fmt.Sprintf("process %d, -v=%d, %s%s", p.PID, p.Verbosity, where, costs)
}
