package answer

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
