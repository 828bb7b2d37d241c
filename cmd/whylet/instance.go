package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/cluster/runtime"
	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/node/object"
)

// settings are the choices that a node keeps from one start to the next: up
// without flags goes on with what up was told before.
type settings struct {
	NodeName    string `json:"nodeName"`
	PodCIDR     string `json:"podCIDR"`
	ServiceCIDR string `json:"serviceCIDR,omitempty"`
	// NodeMemory is a Kubernetes quantity; empty: all of the machine's.
	NodeMemory string `json:"nodeMemory,omitempty"`
	// SystemReserved and KubeReserved are lists such as cpu=100m,memory=1Gi.
	SystemReserved string `json:"systemReserved,omitempty"`
	KubeReserved   string `json:"kubeReserved,omitempty"`
	// EvictionHard and EvictionSoft are in the form of pressure.Parse (empty: its
	// default, and none), EvictionSoftGrace in that of memory.available=90s, and
	// EvictionReclaim in that of nodefs.available=500Mi.
	EvictionHard      string `json:"evictionHard,omitempty"`
	EvictionSoft      string `json:"evictionSoft,omitempty"`
	EvictionSoftGrace string `json:"evictionSoftGracePeriod,omitempty"`
	EvictionReclaim   string `json:"evictionMinimumReclaim,omitempty"`
	// EvictionMaxPodGrace bounds, in seconds, how long a pod may take to end for a
	// soft threshold. EvictionTransition is a Go duration; empty: five minutes.
	EvictionMaxPodGrace int64  `json:"evictionMaxPodGracePeriod,omitempty"`
	EvictionTransition  string `json:"evictionPressureTransitionPeriod,omitempty"`
	// ShutdownGrace is how long all pods have to end before the machine shuts down, the part
	// for critical ones included, and ShutdownGraceByPriority the same by priority, in the
	// form of shutdown.ParsePeriods. The first two are Go durations; all empty: none.
	ShutdownGrace           string `json:"shutdownGracePeriod,omitempty"`
	ShutdownGraceCritical   string `json:"shutdownGracePeriodCriticalPods,omitempty"`
	ShutdownGraceByPriority string `json:"shutdownGracePeriodByPodPriority,omitempty"`
	// NodePIDs bounds the processes and threads of all pods together; 0: not.
	NodePIDs int64 `json:"nodePIDs,omitempty"`
	// PodMaxPIDs bounds the processes and threads of each pod; 0: not.
	PodMaxPIDs int64 `json:"podMaxPIDs,omitempty"`
	// OTLPEndpoint is where facts are exported to; empty: nowhere.
	OTLPEndpoint string `json:"otlpEndpoint,omitempty"`
	// OTLPHeaders is the file of headers that go with them; empty: none.
	OTLPHeaders string `json:"otlpHeaders,omitempty"`
	// OTLPWithValues is set when they go with the values of pods' specs.
	OTLPWithValues bool `json:"otlpWithValues,omitempty"`
	// Front is host:port of a front that is told of the node's pods, FrontCA the file of who
	// vouches for it; empty: none.
	Front   string `json:"front,omitempty"`
	FrontCA string `json:"frontCA,omitempty"`
	// NoProbeAgain is set when no request may follow a probe that timed out.
	NoProbeAgain bool `json:"noProbeAgain,omitempty"`
	// NoLogLines is set when no line of a container's log may be kept in the journal.
	NoLogLines bool `json:"noLogLines,omitempty"`
	// RuntimeEndpoint is a CRI endpoint that the user named; empty: our own containerd.
	RuntimeEndpoint string `json:"runtimeEndpoint,omitempty"`
	APIAddress      string `json:"apiAddress,omitempty"`
	APIPort         int    `json:"apiPort,omitempty"`
	// Kubeconfig is the user's file; empty: admin.conf in the data directory.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// NodeAPIPort is where the node's HTTPS API listens; 0: 10250, as kubelet does.
	NodeAPIPort int `json:"nodeAPIPort,omitempty"`
	// ClientCA, ServingCert and ServingKey are PEM files for the HTTPS API of a node
	// that joins an existing API server; empty: from the kubeconfig, and asked for there.
	ClientCA    string `json:"clientCA,omitempty"`
	ServingCert string `json:"servingCert,omitempty"`
	ServingKey  string `json:"servingKey,omitempty"`
}

// instance is what whylet.json says about a node: who runs it, and how.
type instance struct {
	// Command is "up" or "node".
	Command  string   `json:"command"`
	Settings settings `json:"settings"`
	// PID and StartTicks (proc_pid_stat(5), field 22) name the process that runs
	// or last ran the node; StartedAt is the same for people.
	PID        int       `json:"pid"`
	StartTicks uint64    `json:"startTicks"`
	StartedAt  time.Time `json:"startedAt"`
	// BootID is the kernel's, to know after a reboot that nothing runs any more.
	BootID string `json:"bootID"`
	// NetNS is the network namespace it runs in, as readlink shows it.
	NetNS string `json:"netns"`
	// NodeIP is the node's address, Endpoint the CRI endpoint in use, Kubeconfig
	// the file for kubectl.
	NodeIP     string `json:"nodeIP"`
	Endpoint   string `json:"runtimeEndpoint"`
	Kubeconfig string `json:"kubeconfig"`
	// ReadyAt is when the node was Ready for the first time in this run.
	ReadyAt *time.Time `json:"readyAt,omitempty"`
	// Degraded says in sentences what the machine does not allow.
	Degraded []string `json:"degraded,omitempty"`
}

// withNotes adds to what is degraded what a look at the data directory tells.
func (i instance) withNotes(dataDir string) instance {
	i.Degraded = slices.Clone(i.Degraded)
	full := tooFullNote(dataDir, i.Settings)
	if full != "" {
		full += "; " + otherThresholds
	}
	for _, note := range []string{i.servingNote(dataDir), shortOfDisk(dataDir), full} {
		if note != "" {
			i.Degraded = append(i.Degraded, note)
		}
	}
	return i
}

// errForeign: the data directory is somebody else's.
var errForeign = errors.New("the data directory is not Whylet's")

// errRunning: a node runs on the data directory already.
var errRunning = errors.New("already running")

func instanceFile(dataDir string) string { return filepath.Join(dataDir, "whylet.json") }

// readInstance reads whylet.json; fs.ErrNotExist when no node was ever started here.
func readInstance(dataDir string) (instance, error) {
	var i instance
	raw, err := os.ReadFile(instanceFile(dataDir))
	if err != nil {
		return i, fmt.Errorf("reading the node's state: %w", err)
	}
	if err := json.Unmarshal(raw, &i); err != nil {
		return i, fmt.Errorf("%s is damaged (%w); remove it, then whylet up", instanceFile(dataDir), err)
	}
	return i, nil
}

// write replaces whylet.json as a whole.
func (i instance) write(dataDir string) error {
	raw, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the node's state: %w", err)
	}
	next := instanceFile(dataDir) + ".new"
	if err := os.WriteFile(next, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the node's state: %w", err)
	}
	if err := os.Rename(next, instanceFile(dataDir)); err != nil {
		return fmt.Errorf("writing the node's state: %w", err)
	}
	return nil
}

// running reports whether the process that the file names is alive.
func (i instance) running() bool {
	if i.PID == 0 || i.BootID != bootID() {
		return false
	}
	ticks, err := startTicks(i.PID)
	return err == nil && ticks == i.StartTicks
}

// claim makes the data directory ours and locks it for as long as the returned
// file is open. errRunning comes with the instance that holds it; errForeign when
// the directory has files and no whylet.json.
func claim(dataDir string) (*os.File, instance, error) {
	i, err := readInstance(dataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, i, err
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err := refuseForeign(dataDir); err != nil {
			return nil, i, err
		}
	}
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return nil, i, fmt.Errorf("making the data directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dataDir, "whylet.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, i, fmt.Errorf("opening the lock: %w", err)
	}
	if err := lockUnlessRunning(lock, i); err != nil {
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, i, errRunning
		}
		return nil, i, fmt.Errorf("locking %s: %w", dataDir, err)
	}
	if !inPlace(lock) {
		lock.Close() // Who had it took it away, see unclaim.
		return claim(dataDir)
	}
	return lock, i, nil
}

// inPlace reports whether an open file still has its name.
func inPlace(f *os.File) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(opened, named)
}

// unclaim removes what is left of a start that was refused before anything was
// started or written down: nothing where a node was started before. made says that
// the directory itself was not there before.
func unclaim(dataDir string, made bool) {
	lock, i, err := claim(dataDir)
	if err != nil {
		return
	}
	defer lock.Close()
	if i.Command != "" {
		return
	}
	_ = os.Remove(lock.Name())
	_ = os.Remove(outputFile(dataDir))
	_ = os.Remove(filepath.Join(dataDir, "logs"))
	if made {
		_ = os.Remove(dataDir)
	}
}

// dying is how long a killed process may take to let go of its files: the kernel
// first gives back its memory.
const dying = 10 * time.Second

// lockUnlessRunning takes the lock. While the process that holds it is already
// dead but not yet gone, it waits.
func lockUnlessRunning(lock *os.File, holder instance) error {
	deadline := time.Now().Add(dying)
	for {
		err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || holder.PID == 0 || holder.running() || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// refuseForeign refuses a directory that holds something which is not ours. What
// a first start left behind before whylet.json was written counts as ours.
func refuseForeign(dataDir string) error {
	entries, err := os.ReadDir(dataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the data directory: %w", err)
	}
	for _, e := range entries {
		if e.Name() != "whylet.lock" && e.Name() != "lost+found" && e.Name() != "logs" {
			return fmt.Errorf("%w: %s holds %s but no whylet.json; choose an empty or new directory with --data-dir", errForeign, dataDir, e.Name())
		}
	}
	return nil
}

// self fills in what names the running process.
func (i *instance) self() error {
	ticks, err := startTicks(os.Getpid())
	if err != nil {
		return err
	}
	netns, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return fmt.Errorf("reading the network namespace: %w", err)
	}
	i.PID, i.StartTicks, i.StartedAt = os.Getpid(), ticks, time.Now().Truncate(time.Second)
	i.BootID, i.NetNS = bootID(), netns
	return nil
}

// startTicks is when a process started, in clock ticks since boot. With the pid
// and the boot id it names a process for good.
func startTicks(pid int) (uint64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the start of process %d: %w", pid, err)
	}
	// The command, field 2, is in parentheses and may hold anything.
	_, rest, ok := strings.Cut(string(raw[strings.LastIndexByte(string(raw), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields after the command, want at least 20", pid, len(fields))
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return 0, fmt.Errorf("process %d is dead", pid)
	}
	ticks, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading the start of process %d: %w", pid, err)
	}
	return ticks, nil
}

// bootID names this boot of the kernel; empty where the kernel does not say.
func bootID() string { return object.BootID("/") }

// absDataDir is the data directory as an absolute path without links, so that one
// directory has one name.
func absDataDir(dataDir string) (string, error) {
	abs, err := filepath.Abs(dataDir)
	if err != nil {
		return "", exit.UsageError("--data-dir %q: %w", dataDir, err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	return abs, nil
}

// localNode reads the state of the node in dataDir for a command that talks to
// it, and the CRI endpoint that it uses.
func localNode(dataDir string) (instance, error) {
	abs, err := absDataDir(dataDir)
	if err != nil {
		return instance{}, err
	}
	i, err := readInstance(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return i, exit.With(exit.NotRunning, fmt.Errorf("no node was started in %s: whylet up --data-dir %s", abs, abs))
	}
	if err == nil && i.Endpoint == "" {
		i.Endpoint = runtime.Endpoint(abs)
	}
	return i, err
}
