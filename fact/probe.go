package fact

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// ProbeKind is one of Kubernetes' three probes.
type ProbeKind string

// The probes of Kubernetes.
const (
	Liveness  ProbeKind = "Liveness"
	Readiness ProbeKind = "Readiness"
	Startup   ProbeKind = "Startup"
)

// KillingProbes are those for which containers are ended.
var KillingProbes = []ProbeKind{Liveness, Startup}

// ProbeOf is the probe of that kind in a container's spec; nil without one, and without
// a spec.
func ProbeOf(c *v1.Container, kind ProbeKind) *v1.Probe {
	if c == nil {
		return nil
	}
	return map[ProbeKind]*v1.Probe{Liveness: c.LivenessProbe, Readiness: c.ReadinessProbe, Startup: c.StartupProbe}[kind]
}

// SoonestKill returns the shortest time after the start of a container in which a probe can fail as often as its threshold.
func SoonestKill(p *v1.Probe) time.Duration {
	return time.Duration(p.InitialDelaySeconds+(max(p.FailureThreshold, 1)-1)*max(p.PeriodSeconds, 1)) * time.Second
}

// Handler is how a probe asks, named as in the field of its spec.
type Handler string

// The handlers of Kubernetes.
const (
	HTTPGet   Handler = "httpGet"
	TCPSocket Handler = "tcpSocket"
	Exec      Handler = "exec"
	GRPC      Handler = "grpc"
)

// Verdict is what one attempt says about the container.
type Verdict string

// Verdicts. A Warning (an HTTP redirect away from the host) counts as success,
// as in kubelet; Unknown means that the attempt itself could not be made, and
// counts as neither.
const (
	Success Verdict = "Success"
	Warning Verdict = "Warning"
	Failure Verdict = "Failure"
	Unknown Verdict = "Unknown"
)

// LatencyBounds are the upper bounds (inclusive) of the buckets of
// [Probed.Latency]; a last bucket holds whatever took longer.
var LatencyBounds = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
}

// Probed is one probe attempt, or a run of equal successes folded into one.
// Fact.At is when the attempt began; of a run, when its first did, while the
// rest of the envelope is that of its last.
type Probed struct {
	Probe   ProbeKind `json:"probe"`
	Verdict Verdict   `json:"verdict"`
	// Message is worded as kubelet words it in events.
	Message  string        `json:"message,omitempty"`
	Took     time.Duration `json:"took"`
	Evidence *Evidence     `json:"evidence,omitempty"`
	// Late is how long after its due time the attempt began.
	Late time.Duration `json:"late,omitempty"`
	// Count is the number of attempts folded into this fact (0 and 1: just this
	// one), Until the beginning of the last, Latency their histogram by
	// [LatencyBounds], without the empty buckets at its end. Took and Late are
	// then the longest, and Evidence has what the attempts have in common: no
	// timings and no output.
	Count   int64     `json:"count,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	Latency []int64   `json:"latency,omitempty"`
	// By is who saw the attempt, where it was somebody else's.
	By ProbedBy `json:"by,omitempty"`
}

// ProbedBy is where an attempt of somebody else was seen.
type ProbedBy string

// Who saw an attempt. Empty: it was our own.
const (
	ByTap ProbedBy = "tap"  // its packets were
	BySay ProbedBy = "said" // kubelet told of it: only failures, and its evidence is what the text says
)

// Evidence is what an attempt saw on its way: where the time went and who
// answered. A zero duration means that the phase was not reached.
type Evidence struct {
	Handler Handler `json:"handler"`
	Target  string  `json:"target"` // the URL, address or command
	Local   string  `json:"local,omitempty"`
	Remote  string  `json:"remote,omitempty"`

	Connect   time.Duration `json:"connect,omitempty"`
	TLS       time.Duration `json:"tls,omitempty"`
	Sent      time.Duration `json:"sent,omitempty"`
	FirstByte time.Duration `json:"firstByte,omitempty"`
	Body      time.Duration `json:"body,omitempty"`

	// Redirected is the last URL that a redirect led to and that was asked: times,
	// status and error are those of there.
	Redirected string `json:"redirected,omitempty"`

	Status int               `json:"status,omitempty"` // HTTP status
	Proto  string            `json:"proto,omitempty"`
	Header map[string]string `json:"header,omitempty"` // Server, Via, Content-Type, Location
	// Output is the first KiB of the body, of the command's output, or the gRPC status.
	Output   string `json:"output,omitempty"`
	ExitCode *int   `json:"exitCode,omitempty"`
	Timeout  bool   `json:"timeout,omitempty"`
	// Error is the exact error, Errno its system error where there is one (ECONNREFUSED…).
	Error string `json:"error,omitempty"`
	Errno string `json:"errno,omitempty"`
}

// AskedAgain is one more request, made with patience after a probe attempt had
// timed out: it tells an application that answers late from one that answers
// nothing at all. After one that was cut it is made in other protocols, and told only
// where one of them was answered; after a command that failed without a word it is run without
// the filter of its output. It is evidence only and counts for no threshold. The envelope's
// Because names the attempt; Fact.At is when the request began.
type AskedAgain struct {
	Probe ProbeKind `json:"probe"`
	// Patience is how long the answer was waited for; Timeout is the probe's own.
	Patience time.Duration `json:"patience"`
	Timeout  time.Duration `json:"timeout"`
	// Verdict and Message are what a probe with that patience would have said: a
	// Failure whose evidence has Timeout set means that no answer came.
	Verdict  Verdict       `json:"verdict"`
	Message  string        `json:"message,omitempty"`
	Took     time.Duration `json:"took"`
	Evidence *Evidence     `json:"evidence,omitempty"`
	// Cut is set when the container ended, or the node did, before an answer came:
	// Took is then how long it had been waited for, and nothing is known.
	Cut bool `json:"cut,omitempty"`
	// Speaks is the protocol whose beginning was answered in kind, where that is another
	// than the probe's.
	Speaks Protocol `json:"speaks,omitempty"`
	// Unfiltered is set where it is the probe's command without the grep that its output goes
	// through last, which had let nothing through.
	Unfiltered bool `json:"unfiltered,omitempty"`
}

// Protocol is what a port speaks.
type Protocol string

// The protocols that a port is tried for. Proxied is HTTP after the line of the PROXY
// protocol, HTTP2 that without TLS, as gRPC begins.
const (
	TLS     Protocol = "TLS"
	HTTP1   Protocol = "HTTP/1"
	HTTP2   Protocol = "HTTP/2"
	Proxied Protocol = "PROXY"
	FastCGI Protocol = "FastCGI"
)

func (Probed) Kind() Kind     { return "Probed" }
func (AskedAgain) Kind() Kind { return "AskedAgain" }

func (Probed) observed()     {}
func (AskedAgain) observed() {}
