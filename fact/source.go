package fact

// Source names who tells of what happens. A gap ([Lost]) and a run of the agent
// ([AgentStarted]) name theirs.
type Source string

// The sources. Not all of them are there on each node.
const (
	SourceAPI        Source = "api"           // the API server
	SourceRuntime    Source = "runtime"       // the container runtime
	SourceKernelLog  Source = "kmsg"          // the kernel's log
	SourceConnector  Source = "connector"     // the kernel's process connector
	SourceSignals    Source = "signals"       // the kernel's trace of signals
	SourceClock      Source = "clock"         // steps of the wall clock
	SourceProcesses  Source = "processes"     // connector and signals together
	SourceLooks      Source = "looks"         // what is seen inside of containers
	SourceReprobe    Source = "reprobe"       // requests with more patience after a probe's timeout
	SourceTap        Source = "tap"           // packets of a kubelet's probes
	SourceKubeletLog Source = "kubelet's log" // what a kubelet says
	SourceDetail     Source = "detail"        // what an agent leaves out when its memory is short
	SourceJournal    Source = "journal"       // the agent's own memory
)

// ConfigSource is where a node has a pod from, in kubelet's words (its annotation
// kubernetes.io/config.source; pkg/kubelet/types/constants.go).
type ConfigSource string

// The sources of pods. A pod from a file is a static one.
const (
	FromAPI  ConfigSource = "api"
	FromFile ConfigSource = "file"
)

// BackOffOf is what is tried again after a [BackOff].
type BackOffOf string

// What backs off: the start of a container, the pull of its image, and what a pod needs
// before it has containers.
const (
	BackOffContainer BackOffOf = "container"
	BackOffImage     BackOffOf = "image"
	BackOffSetUp     BackOffOf = "setup"
)
