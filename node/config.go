package node

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/node/pressure"
	"whylet.dev/whylet/node/shutdown"
)

// Config is all that a node needs to know before it starts.
type Config struct {
	// Name is the node's name in the API; IP its address, reported as InternalIP.
	Name string
	IP   string
	// DataDir is the node's directory: journal/, pods/, logs/, images… below it.
	// PodLogsDir is where container logs go (kubectl logs reads them there).
	DataDir    string
	PodLogsDir string
	// API says how to reach the API server, with the node's own credentials
	// (system:node:NAME, group system:nodes).
	API *rest.Config
	// RuntimeEndpoint is the CRI socket, unix:///….
	RuntimeEndpoint string
	// SandboxSeccomp is the file of the seccomp profile for sandboxes' own processes,
	// as the runtime finds it; empty: the runtime's default.
	SandboxSeccomp string
	// Answered is called once that runtime has answered, which the node waits for;
	// an error of it ends the node. May be nil.
	Answered func(context.Context) error
	// CgroupRoot is the cgroup under which kubepods is made, "/" or "/whylet-…".
	CgroupRoot string
	// Memory is how much memory the node says it has, in bytes; 0: all the machine
	// has. Allocatable is enforced by a cgroup in either case.
	Memory int64
	// SystemReserved and KubeReserved are kept back from the pods: CPU, memory and
	// ephemeral-storage.
	SystemReserved, KubeReserved v1.ResourceList
	MaxPods                      int
	// PIDs bounds the processes and threads of all pods together; 0: no bound.
	PIDs int64
	// PodPIDs bounds the processes and threads of each pod; 0: no bound.
	PodPIDs int64

	// Eviction says how much of the node's memory, disk and process ids should be
	// left; nil: pressure.Defaults. A pod has at most EvictionSoftGraceSeconds to
	// end for a threshold with a grace period. PressureTransition is how long a
	// pressure goes on after it was last seen; 0: 5 min.
	Eviction                 []pressure.Threshold
	EvictionSoftGraceSeconds int64
	PressureTransition       time.Duration

	// Shutdown is how long pods have to end before their machine shuts down, by priority;
	// none: they end with it.
	Shutdown []shutdown.Period

	// Beat is called every BeatEvery that the node's loop makes progress; 0: never.
	Beat      func()
	BeatEvery time.Duration

	// OTLPEndpoint is the OpenTelemetry collector that gets the facts as log records
	// (http://host:4317, http://host:4318/v1/logs, https://…); empty: none.
	OTLPEndpoint string
	// OTLPHeaders are sent to it with each request.
	OTLPHeaders http.Header
	// OTLPWithValues leaves the values of pods' specs in what is sent.
	OTLPWithValues bool
	// NoProbeAgain is set when no second, patient request may follow a probe that
	// timed out.
	NoProbeAgain bool
	// NoLogLines is set when no line of a container's log may be kept in the journal.
	NoLogLines bool

	// ClusterDNS and ClusterDomain go into the pods' resolv.conf.
	ClusterDNS    []string
	ClusterDomain string

	// StaticPodDir is where static pods are read from; empty: none.
	StaticPodDir string

	// ListenAddress and Port are where the node's HTTPS API listens.
	ListenAddress string
	Port          int
	// ServingCert, ServingKey and ClientCA are PEM files for it.
	ServingCert, ServingKey, ClientCA string

	// AuditEvents are what the control plane tells of pods by name, without a UID. May be nil.
	AuditEvents <-chan fact.Fact

	// Reported is told each time that the node has written to the API server how it
	// is. May be nil.
	Reported func()

	// Answer is run while the node does, with its memory and the handlers of what it is asked:
	// whoever else asks it, or is told. May be nil.
	Answer func(ctx context.Context, j *journal.Journal, handlers map[string]http.Handler)

	// Version is Whylet's own version.
	Version string
	Log     *slog.Logger
	// Progress is told, in a few words, what the start is waiting for. May be nil.
	Progress func(string)
}

// pressureTransition is how long a pressure goes on after it was last seen
// (kubelet: evictionPressureTransitionPeriod).
const pressureTransition = 5 * time.Minute

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	if c.Eviction == nil {
		c.Eviction = pressure.Defaults()
	}
	c.PressureTransition = cmp.Or(c.PressureTransition, pressureTransition)
	return c
}
