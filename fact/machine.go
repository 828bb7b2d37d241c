package fact

import (
	"encoding/json"
	"time"
)

// AgentEnd is how a run of an agent ended.
type AgentEnd string

// Ends of an agent's run; NoRunBefore is that of the first.
const (
	NoRunBefore AgentEnd = "first"
	RunClean    AgentEnd = "clean"
	RunKilled   AgentEnd = "killed"
	RunRebooted AgentEnd = "reboot"
)

// AgentStarted says that this node's agent began (again) to look.
type AgentStarted struct {
	Version string `json:"version"`
	PID     int    `json:"pid"`
	// Previous is how the agent's last run ended.
	Previous AgentEnd `json:"previous"`
	// LastSeen is when that run last gave a sign of life: its newest fact, or its
	// last beat.
	LastSeen time.Time `json:"lastSeen,omitzero"`
	// StuckSince is since when that run made no progress when it was killed: its loop took
	// no facts. Zero: it made progress, or nobody watched that.
	StuckSince time.Time `json:"stuckSince,omitzero"`
	// Sources are the optional sources of the kernel that this run has: "connector"
	// (wait statuses) and "signals" (who sent SIGKILL and SIGTERM).
	Sources []Source `json:"sources,omitempty"`
	// Beside is who decides about the node's pods where this agent only watches:
	// kubelet. Empty: the agent decides itself, and what it did not order was not
	// ordered by the node.
	Beside string `json:"beside,omitempty"`
}

// AgentStopped says that the agent was asked to end.
type AgentStopped struct {
	Signal string `json:"signal,omitempty"`
	// Reason is why it was, where its control plane had ended: in words, with what
	// was waited for. Since is when that was.
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

// OOMKilled is a kernel OOM kill, from the kernel log and the cgroup's counters.
// The envelope names pod and container where the cgroup could be mapped.
type OOMKilled struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Main    bool   `json:"main,omitempty"`
	// MainOpen is set where nobody knows whether it was the main process: the container
	// had ended before anybody looked.
	MainOpen    bool   `json:"mainOpen,omitempty"`
	AnonRSS     int64  `json:"anonRSS,omitempty"`  // bytes
	FileRSS     int64  `json:"fileRSS,omitempty"`  // bytes
	ShmemRSS    int64  `json:"shmemRSS,omitempty"` // bytes
	Constraint  string `json:"constraint,omitempty"`
	TaskCgroup  string `json:"taskCgroup,omitempty"`
	OOMCgroup   string `json:"oomCgroup,omitempty"` // whose limit was hit
	Limit       int64  `json:"limit,omitempty"`     // bytes
	Usage       int64  `json:"usage,omitempty"`     // bytes
	OOMScoreAdj int    `json:"oomScoreAdj,omitempty"`
	Invoker     string `json:"invoker,omitempty"`
	// Group is set for those that died with the victim because memory.oom.group is
	// set on their cgroup.
	Group bool `json:"group,omitempty"`
	// FoundBy is how the container was found where the kernel's record named no
	// cgroup; empty where it did. PID and Command are empty where only counters
	// told, of several containers at once.
	FoundBy FoundBy `json:"foundBy,omitempty"`
	// Tasks is the process table the kernel printed, largest first, bounded.
	Tasks []OOMTask `json:"tasks,omitempty"`
	// CgroupAnon and CgroupShmem are what was charged to OOMCgroup and could not be
	// given back, in bytes: the memory of processes, and files in memory (tmpfs,
	// shared memory). Both are 0 where the kernel did not say.
	CgroupAnon  int64 `json:"cgroupAnon,omitempty"`
	CgroupShmem int64 `json:"cgroupShmem,omitempty"`
}

// FoundBy is a way to find the container of a process.
type FoundBy string

// The ways to find a container.
const (
	ByProcess FoundBy = "process" // its process was known
	ByCounter FoundBy = "counter" // its cgroup had counted a kill that nothing else told of
)

// OOMTask is one row of the kernel's table of candidates.
type OOMTask struct {
	PID         int    `json:"pid"`
	Command     string `json:"command"`
	RSS         int64  `json:"rss"` // bytes
	OOMScoreAdj int    `json:"oomScoreAdj"`
}

// Sampled is a look at a container's cgroup, taken rarely when calm and densely
// around trouble. Values are cumulative counters or gauges as the kernel has them.
type Sampled struct {
	MemoryCurrent int64 `json:"memoryCurrent,omitempty"` // bytes
	MemoryPeak    int64 `json:"memoryPeak,omitempty"`    // bytes
	MemoryLimit   int64 `json:"memoryLimit,omitempty"`   // bytes, 0: none
	MemoryFile    int64 `json:"memoryFile,omitempty"`    // page cache, bytes
	MemoryShmem   int64 `json:"memoryShmem,omitempty"`   // tmpfs and shm, bytes
	WorkingSet    int64 `json:"workingSet,omitempty"`    // bytes
	OOMKills      int64 `json:"oomKills,omitempty"`
	// MemoryHigh is the use from which the kernel throttles the container, in bytes (cgroup
	// v2's memory.high); 0: none. HighEvents counts how often that was exceeded.
	MemoryHigh int64 `json:"memoryHigh,omitempty"`
	HighEvents int64 `json:"highEvents,omitempty"`

	CPUUsage         time.Duration `json:"cpuUsage,omitempty"`
	Periods          int64         `json:"periods,omitempty"`
	ThrottledPeriods int64         `json:"throttledPeriods,omitempty"`
	ThrottledTime    time.Duration `json:"throttledTime,omitempty"`

	PIDs     int64 `json:"pids,omitempty"`
	PIDLimit int64 `json:"pidLimit,omitempty"`

	// Pressure totals: time in which some (or all) tasks stalled.
	CPUSome    time.Duration `json:"cpuSome,omitempty"`
	MemorySome time.Duration `json:"memorySome,omitempty"`
	MemoryFull time.Duration `json:"memoryFull,omitempty"`
	IOSome     time.Duration `json:"ioSome,omitempty"`
}

// Looked is a look into the container, mostly when a probe began to fail: its
// main process and what listens in its network namespace.
type Looked struct {
	PID       int    `json:"pid"`
	State     string `json:"state,omitempty"` // as in /proc/PID/stat: R S D T t Z
	Processes int    `json:"processes,omitempty"`
	// Commands are what runs in the container beside the main process, each name once.
	Commands  []string      `json:"commands,omitempty"`
	CPUUsed   time.Duration `json:"cpuUsed,omitempty"` // since the last look
	Over      time.Duration `json:"over,omitempty"`    // the time between the two looks
	Listeners []Listener    `json:"listeners,omitempty"`
	// CPUTotal is what the process used since it began, Age how long ago that was.
	CPUTotal time.Duration `json:"cpuTotal,omitempty"`
	Age      time.Duration `json:"age,omitempty"`
	// MaxCPU is how much it may use until the kernel kills it (the hard RLIMIT_CPU, as
	// ulimit -t sets it); 0: as much as it likes, or nobody could see.
	MaxCPU time.Duration `json:"maxCPU,omitempty"`
	// Files is how many files a process of the container has open: of the one that
	// may open the fewest more.
	Files *Files `json:"files,omitempty"`
	// Stopped is a process of the container beside the main one that is stopped or
	// traced; nil where none is.
	Stopped *StoppedProcess `json:"stopped,omitempty"`
	// Dialing are the connections out of the pod that have been asked for and not been
	// answered yet, neither with an acceptance nor with a refusal.
	Dialing []Dial `json:"dialing,omitempty"`
	// Open are the connections from within the pod that are open, one for each process and
	// place: at most 16.
	Open []Dial `json:"open,omitempty"`
	// Lately are the places, as host:port, to which connections from within the pod were
	// open a moment ago: the kernel remembers them for a minute, and not whose they were.
	// From are the addresses whose connections to a listener of the pod are open, or were
	// then. At most 16 each, without loopback.
	Lately []string `json:"lately,omitempty"`
	From   []string `json:"from,omitempty"`
	// Said are the last lines of the container's log, as [Exited.LastLines] has them; not
	// in every look.
	Said []string `json:"said,omitempty"`
	// SaidAt is when the runtime wrote each line of Said down; none where that is not known.
	SaidAt []time.Time `json:"saidAt,omitempty"`
	// Calm is set for a look that no failing probe asked for: one is taken a little
	// after the container became ready, to compare later ones with.
	Calm  bool   `json:"calm,omitempty"`
	Error string `json:"error,omitempty"` // a look that failed is a fact too
}

// StoppedProcess is a process that lives and never runs: State is T, or t for one
// that is traced.
type StoppedProcess struct {
	PID     int    `json:"pid"`
	Command string `json:"command,omitempty"`
	State   string `json:"state"`
}

// Files are the open files of a process, connections included. Limit is its soft
// RLIMIT_NOFILE, at which the kernel refuses another with EMFILE; Most is the hard
// one, up to which the process may raise it; 0: no limit. Open counts the numbers
// below Limit that are taken.
type Files struct {
	PID     int    `json:"pid"`
	Command string `json:"command,omitempty"`
	Open    int    `json:"open"`
	Limit   int    `json:"limit"`
	Most    int    `json:"most,omitempty"`
}

// Listener is a listening socket in the pod's network namespace.
type Listener struct {
	Address string `json:"address"` // host:port; host may be 127.0.0.1, ::, 0.0.0.0…
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`
	// State is that process's, as in [Looked.State].
	State string `json:"state,omitempty"`
	// Other is set when the process belongs to another container of the pod.
	Other bool `json:"other,omitempty"`
	// Backlog is the number of connections that wait to be accepted.
	Backlog int `json:"backlog,omitempty"`
	// Taken is how many connections to its port are accepted and open, where others wait;
	// Paused is set where others wait although the processes that have it open wait for
	// events, and have taken it out of what they wait for: they take no more for now.
	Taken  int  `json:"taken,omitempty"`
	Paused bool `json:"paused,omitempty"`
	// V6Only is set for one on :: that is known to take no connection over IPv4.
	V6Only bool `json:"v6Only,omitempty"`
}

// Dial is a connection that a process of the pod asked for.
type Dial struct {
	Remote  string `json:"remote"` // host:port
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`
	// Other is set when the process belongs to another container of the pod.
	Other bool `json:"other,omitempty"`
	// Unanswered is how long ago something was sent on an open connection to which nothing has
	// come back for a second or more, the newest of several; 0: nothing is waited for, or
	// nobody could see. Heard is then how long ago anything came from there to the same
	// process; 0: nothing has.
	Unanswered time.Duration `json:"unanswered,omitempty"`
	Heard      time.Duration `json:"heard,omitempty"`
}

// NodeSignals is a look at the node as a whole.
type NodeSignals struct {
	MemoryAvailable int64 `json:"memoryAvailable"` // bytes
	MemoryCapacity  int64 `json:"memoryCapacity"`  // bytes
	NodeFSAvailable int64 `json:"nodeFSAvailable"` // bytes
	NodeFSCapacity  int64 `json:"nodeFSCapacity"`  // bytes
	NodeFSInodes    int64 `json:"nodeFSInodes"`    // free
	PIDsAvailable   int64 `json:"pidsAvailable"`

	Conditions []string `json:"conditions,omitempty"` // those that are True beside Ready
}

// ClockStepped says that the wall clock was set while the agent ran.
type ClockStepped struct {
	By time.Duration `json:"by"`
}

// PacketsDropped says that the kernel dropped packets of new connections, of whatever
// pod, because its table of connections was full (nf_conntrack_max). It says so now and
// then while that lasts.
type PacketsDropped struct {
	Message string `json:"message"` // the kernel's own words
}

// GPUError is an error that NVIDIA's driver reported to the kernel's log (Xid). The envelope
// has the container whose process the driver names.
type GPUError struct {
	Device string `json:"device"` // the GPU's PCI address
	// Code is NVIDIA's number of the error: 79 is a GPU that fell off the bus, 48 a double
	// bit error of its memory.
	Code int `json:"code"`
	// PID and Command are the process that used the GPU, as the host numbers it; 0 and
	// empty where the driver names none.
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`
	Message string `json:"message,omitempty"` // the driver's own words, bounded
}

// Lost is a gap in what the agent could see: the API server, the runtime or the
// kernel log did not answer, or records were overrun.
type Lost struct {
	Source Source    `json:"source"`
	Reason string    `json:"reason"`
	From   time.Time `json:"from,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	Count  int64     `json:"count,omitempty"`
}

// AgentStalled says that the agent lived and did nothing for a while: its own
// beat, due every second, came that late. What the kernel counted meanwhile says
// why; a counter that it does not have is 0.
type AgentStalled struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	// Continued says that a SIGCONT came: somebody had stopped the process.
	Continued bool `json:"continued,omitempty"`
	// Suspended is how long the whole machine slept (CLOCK_BOOTTIME went on and
	// CLOCK_MONOTONIC did not).
	Suspended time.Duration `json:"suspended,omitempty"`
	// CPUWait is how long the main thread was ready to run and had no CPU
	// (/proc/self/schedstat), MemoryStall how long everything on the machine waited
	// for memory (PSI, full).
	CPUWait     time.Duration `json:"cpuWait,omitempty"`
	MemoryStall time.Duration `json:"memoryStall,omitempty"`
	// MajorFaults are pages that had to come from disk for the agent to go on.
	MajorFaults int64 `json:"majorFaults,omitempty"`
}

// Checkpoint is the whole health state of the pod after the facts before it, so
// that older ones can be dropped and a restart need not replay them all.
type Checkpoint struct {
	State json.RawMessage `json:"state"`
	// Node is what the agent's loop keeps of the pod beside its health: the object
	// and the names of sandbox and containers.
	Node json.RawMessage `json:"node,omitempty"`
}

func (AgentStarted) Kind() Kind   { return "AgentStarted" }
func (AgentStopped) Kind() Kind   { return "AgentStopped" }
func (OOMKilled) Kind() Kind      { return "OOMKilled" }
func (Sampled) Kind() Kind        { return "Sampled" }
func (Looked) Kind() Kind         { return "Looked" }
func (NodeSignals) Kind() Kind    { return "NodeSignals" }
func (AgentStalled) Kind() Kind   { return "AgentStalled" }
func (ClockStepped) Kind() Kind   { return "ClockStepped" }
func (PacketsDropped) Kind() Kind { return "PacketsDropped" }
func (GPUError) Kind() Kind       { return "GPUError" }
func (Lost) Kind() Kind           { return "Lost" }
func (Checkpoint) Kind() Kind     { return "Checkpoint" }

func (AgentStarted) observed()   {}
func (AgentStopped) observed()   {}
func (OOMKilled) observed()      {}
func (Sampled) observed()        {}
func (Looked) observed()         {}
func (NodeSignals) observed()    {}
func (AgentStalled) observed()   {}
func (ClockStepped) observed()   {}
func (PacketsDropped) observed() {}
func (GPUError) observed()       {}
func (Lost) observed()           {}
func (Checkpoint) observed()     {}
