package mesh

import "whylet.dev/whylet/fact"

// The ports on which the sidecar answers probes, outside of the redirect.
const (
	LivenessPort    int32 = 15901
	ReadinessPort   int32 = 15902
	StartupPort     int32 = 15903
	HealthcheckPort int32 = 15904
)

// The paths of the probes.
const (
	LivenessPath    = "/osm-liveness-probe"
	ReadinessPath   = "/osm-readiness-probe"
	StartupPath     = "/osm-startup-probe"
	HealthcheckPath = "/osm-healthcheck"
)

// OriginalTCPPort is the header that tells the health-check server which port a
// tcpSocket probe was about.
const OriginalTCPPort = "Original-Tcp-Port"

// AnsweredBy is the response header by which the sidecar says whose answer it
// is; its values are Sidecar and Application.
const (
	AnsweredBy  = "X-Whylet-Answered-By"
	Sidecar     = "sidecar"
	Application = "application"
)

// Kinds lists the kinds of probes in the order of Kubernetes' documentation.
var Kinds = []fact.ProbeKind{fact.Liveness, fact.Readiness, fact.Startup}

// Port is where the sidecar answers probes of a kind.
func Port(kind fact.ProbeKind) int32 {
	switch kind {
	case fact.Liveness:
		return LivenessPort
	case fact.Readiness:
		return ReadinessPort
	}
	return StartupPort
}

// Path is osm-edge's path for probes of a kind.
func Path(kind fact.ProbeKind) string {
	switch kind {
	case fact.Liveness:
		return LivenessPath
	case fact.Readiness:
		return ReadinessPath
	}
	return StartupPath
}

// ContainerPath is the path of one container's probe in the default form.
func ContainerPath(kind fact.ProbeKind, container string) string {
	return Path(kind) + "/" + container
}

// isMeshPort says whether a probe on this port is one that was rewritten already.
func isMeshPort(port int32) bool { return port >= LivenessPort && port <= HealthcheckPort }
