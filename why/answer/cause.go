package answer

import "strings"

// Cause is an id of the closed list of causes. Ids are an interface: the list
// grows when a real case needs it, and no id is ever renamed.
type Cause string

// The process.
const (
	AppExitError       Cause = "app-exit-error"
	AppExitSuccess     Cause = "app-exit-success"
	AppCrashSignal     Cause = "app-crash-signal"
	AppStartFailed     Cause = "app-start-failed"
	AppSlowStart       Cause = "app-slow-start"
	AppHang            Cause = "app-hang"
	AppOverloaded      Cause = "app-overloaded"
	AppUnhealthy       Cause = "app-unhealthy"
	AppNotListening    Cause = "app-not-listening"
	AppListensElse     Cause = "app-listens-elsewhere"
	ChildProcessEnded  Cause = "child-process-ended"
	ProcessStopped     Cause = "process-stopped"
	KilledByOther      Cause = "killed-by-other"
	AppIgnoredSIGTERM  Cause = "app-ignored-sigterm"
	MemoryLimit        Cause = "container-memory-limit"
	MemoryLimitChild   Cause = "container-memory-limit-child"
	PodMemoryLimit     Cause = "pod-memory-limit"
	MemoryBackedVolume Cause = "memory-backed-volume"
	NodeOutOfMemory    Cause = "node-out-of-memory"
	NodeOvercommitted  Cause = "node-overcommitted"
	CPUThrottled       Cause = "cpu-throttled"
	MemoryThrottled    Cause = "memory-throttled"
	NodeCPUSaturated   Cause = "node-cpu-saturated"
	DiskFull           Cause = "disk-full"
	NetworkBlocked     Cause = "network-blocked"
	NetworkPolicy      Cause = "network-policy"
	ProcessLimit       Cause = "process-limit"
)

// Probes and the mesh.
const (
	ProbeWrongPort       Cause = "probe-wrong-port"
	ProbeWrongPath       Cause = "probe-wrong-path"
	ProbeWrongScheme     Cause = "probe-wrong-scheme"
	ProbeTimeoutTooShort Cause = "probe-timeout-too-short"
	ProbeCommandFailed   Cause = "probe-command-failed"
	ProbePortNameUnknown Cause = "probe-port-name-unknown"
	ProbeProtocol        Cause = "probe-protocol"
	DependencyDown       Cause = "dependency-down"
	MeshNotRewritten     Cause = "mesh-probe-not-rewritten"
	MeshSidecarAnswered  Cause = "mesh-sidecar-answered"
	MeshSidecarNotReady  Cause = "mesh-sidecar-not-ready"
)

// The pod, and what it needs.
const (
	SiblingNotReady          Cause = "sibling-not-ready"
	ReadinessGate            Cause = "readiness-gate"
	InitFailed               Cause = "init-failed"
	InitWaiting              Cause = "init-waiting"
	HookFailed               Cause = "hook-failed"
	RestartPolicy            Cause = "restart-policy"
	ActiveDeadline           Cause = "active-deadline"
	ImageNotFound            Cause = "image-not-found"
	ImageUnauthorized        Cause = "image-unauthorized"
	ImageRegistryUnreachable Cause = "image-registry-unreachable"
	ImagePolicyNever         Cause = "image-policy-never"
	ConfigMissing            Cause = "config-missing"
	ConfigChanged            Cause = "config-changed"
	VolumeFailed             Cause = "volume-failed"
	SecurityRefused          Cause = "security-refused"
	SelectorMismatch         Cause = "selector-mismatch"
	ServicePortMismatch      Cause = "service-port-mismatch"
	LoadBalancerFailed       Cause = "load-balancer-failed"
)

// Scheduling, the node, and people.
const (
	InsufficientResources Cause = "insufficient-resources"
	NoMatchingNode        Cause = "no-matching-node"
	VolumeUnbound         Cause = "volume-unbound"
	SchedulingGate        Cause = "scheduling-gate"
	SchedulerMissing      Cause = "scheduler-missing"
	EvictedMemory         Cause = "evicted-memory"
	EvictedDisk           Cause = "evicted-disk"
	EvictedPIDs           Cause = "evicted-pids"
	Preempted             Cause = "preempted"
	NodeLost              Cause = "node-lost"
	NodeRestarted         Cause = "node-restarted"
	RuntimeFailed         Cause = "runtime-failed"
	SandboxFailed         Cause = "sandbox-failed"
	RemovedByOther        Cause = "removed-by-other"
	Deleted               Cause = "deleted"
	RolledOut             Cause = "rolled-out"
	ScaledDown            Cause = "scaled-down"
	SpecChanged           Cause = "spec-changed"
	Suspended             Cause = "suspended"
	None                  Cause = "none"
	CauseUnknown          Cause = "unknown"
)

// Causes is the closed list.
var Causes = []Cause{
	AppExitError, AppExitSuccess, AppCrashSignal, AppStartFailed, AppSlowStart, AppHang, AppOverloaded, AppUnhealthy,
	AppNotListening, AppListensElse, ChildProcessEnded, ProcessStopped, KilledByOther, AppIgnoredSIGTERM,
	MemoryLimit, MemoryLimitChild, PodMemoryLimit, MemoryBackedVolume, NodeOutOfMemory, NodeOvercommitted,
	CPUThrottled, MemoryThrottled, NodeCPUSaturated, DiskFull, NetworkBlocked, NetworkPolicy, ProcessLimit,
	ProbeWrongPort, ProbeWrongPath, ProbeWrongScheme, ProbeTimeoutTooShort, ProbeCommandFailed, ProbePortNameUnknown,
	ProbeProtocol, DependencyDown, MeshNotRewritten, MeshSidecarAnswered, MeshSidecarNotReady,
	SiblingNotReady, ReadinessGate, InitFailed, InitWaiting, HookFailed, RestartPolicy, ActiveDeadline,
	ImageNotFound, ImageUnauthorized, ImageRegistryUnreachable, ImagePolicyNever, ConfigMissing, ConfigChanged,
	VolumeFailed, SecurityRefused, SelectorMismatch, ServicePortMismatch, LoadBalancerFailed,
	InsufficientResources, NoMatchingNode, VolumeUnbound, SchedulingGate, SchedulerMissing, EvictedMemory, EvictedDisk, EvictedPIDs, Preempted,
	NodeLost, NodeRestarted, RuntimeFailed, SandboxFailed, RemovedByOther, Deleted, RolledOut, ScaledDown, SpecChanged, Suspended,
	None, CauseUnknown,
}

// may has a clause for each cause that an answer may leave open.
var may = map[Cause]string{
	AppExitError:         "the main process failed by itself",
	AppExitSuccess:       "the main process ended by itself with its work done",
	AppCrashSignal:       "the main process crashed",
	AppSlowStart:         "the application starts more slowly than the probe allows",
	AppHang:              "the application hangs",
	AppOverloaded:        "the application is overloaded",
	AppUnhealthy:         "the application itself reports that it is unhealthy",
	AppNotListening:      "the application does not listen on that port",
	AppListensElse:       "the application listens on another address or port",
	ChildProcessEnded:    "a process that the main process started has ended",
	KilledByOther:        "another process killed the main process",
	MemoryLimit:          "the container reached its memory limit",
	MemoryLimitChild:     "a child process was killed at the container's memory limit",
	PodMemoryLimit:       "the pod reached its memory limit",
	MemoryBackedVolume:   "files in memory filled the container's memory limit",
	NodeOutOfMemory:      "the node ran out of memory",
	CPUThrottled:         "the CPU limit slows the application down",
	NetworkPolicy:        "a NetworkPolicy blocks the connection",
	NetworkBlocked:       "the network drops or refuses the connection",
	DependencyDown:       "a dependency of the container does not work",
	ProbeWrongPort:       "the probe asks on the wrong port",
	ProbeWrongPath:       "the probe asks for a path that is not there",
	ProbeWrongScheme:     "the probe asks by HTTP where HTTPS is spoken, or the other way round",
	ProbeCommandFailed:   "the probe's command itself does not work",
	ProbeProtocol:        "the port speaks another protocol than the probe",
	ProbeTimeoutTooShort: "the application answers after the probe's timeout",
	Deleted:              "somebody deleted the pod",
}

// MayBe is the sentence of what remains possible. It does not say that nothing else is.
func MayBe(causes []Cause) string {
	said := make([]string, len(causes))
	for i, c := range causes {
		if said[i] = may[c]; said[i] == "" {
			said[i] = "the cause is " + string(c)
		}
	}
	n := len(said)
	switch n {
	case 0:
		return ""
	case 1:
		return "It may be that " + said[0] + "."
	}
	return "It may be that " + strings.Join(said[:n-1], ", that ") + ", or that " + said[n-1] + "."
}
