package mesh

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// Probes is the part of the proxy's configuration that osm-edge derives from a
// pod: its probes as they are after rewriting. Absent kinds are null.
type Probes struct {
	ReadinessProbes []v1.Probe
	LivenessProbes  []v1.Probe
	StartupProbes   []v1.Probe
}

// ProxyConfig is osm-edge's configuration of a pod's proxy, as far as it is about
// probes.
type ProxyConfig struct {
	Probes Probes
}

// ProxyConfigOf derives the proxy's configuration from a pod that was rewritten.
// tcpSocket probes are not in it: they go past the proxy.
func ProxyConfigOf(pod *v1.Pod) ProxyConfig {
	var c ProxyConfig
	form := Form(pod.Annotations[FormAnnotation])
	for _, container := range probed(pod, form) {
		for _, kind := range Kinds {
			probe := probeOf(container, kind)
			if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Port.IntVal != Port(kind) {
				continue
			}
			told := withDefaults(probe)
			switch kind {
			case fact.Readiness:
				c.Probes.ReadinessProbes = append(c.Probes.ReadinessProbes, told)
			case fact.Liveness:
				c.Probes.LivenessProbes = append(c.Probes.LivenessProbes, told)
			case fact.Startup:
				c.Probes.StartupProbes = append(c.Probes.StartupProbes, told)
			}
		}
	}
	return c
}

// withDefaults fills in what the API server does before a webhook sees a pod
// (SetDefaults_Probe), so that a manifest that it never saw gives the same.
func withDefaults(probe *v1.Probe) v1.Probe {
	p := *probe.DeepCopy()
	p.TimeoutSeconds = cmp.Or(p.TimeoutSeconds, 1)
	p.PeriodSeconds = cmp.Or(p.PeriodSeconds, 10)
	p.SuccessThreshold = cmp.Or(p.SuccessThreshold, 1)
	p.FailureThreshold = cmp.Or(p.FailureThreshold, 3)
	return p
}

// Route is a probe that the sidecar answers: whose it is, and what to ask of the
// application.
type Route struct {
	Container string         `json:"container"`
	Kind      fact.ProbeKind `json:"kind"`
	// Probe is the original; its port is a number.
	Probe v1.Probe `json:"probe"`
}

// SidecarConfig is what the sidecar has to know of its pod. The webhook puts it
// into the sidecar's environment as JSON.
type SidecarConfig struct {
	Form   Form    `json:"form"`
	Routes []Route `json:"routes,omitempty"`
	// TCPPorts are the ports of tcpSocket probes, which the health-check server
	// answers.
	TCPPorts []int32 `json:"tcpPorts,omitempty"`
}

// SidecarConfigOf derives the sidecar's configuration from a pod that was
// rewritten. Routes are in the order of the containers, so that the last one of
// a kind is the one that osm-edge's plain path means.
func SidecarConfigOf(pod *v1.Pod) (SidecarConfig, error) {
	saved, err := savedOriginals(pod)
	if err != nil {
		return SidecarConfig{}, err
	}
	c := SidecarConfig{Form: Form(pod.Annotations[FormAnnotation])}
	if c.Form == "" {
		c.Form = Default
	}
	for _, container := range probed(pod, c.Form) {
		for _, kind := range Kinds {
			probe, ok := saved[container.Name][kind]
			switch {
			case !ok:
			case probe.TCPSocket != nil:
				if port := probe.TCPSocket.Port.IntVal; !slices.Contains(c.TCPPorts, port) {
					c.TCPPorts = append(c.TCPPorts, port)
				}
			default:
				c.Routes = append(c.Routes, Route{Container: container.Name, Kind: kind, Probe: probe})
			}
		}
	}
	return c, nil
}

// ParseSidecarConfig reads what the webhook wrote.
func ParseSidecarConfig(text string) (SidecarConfig, error) {
	var c SidecarConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return SidecarConfig{}, fmt.Errorf("the sidecar's configuration in %s is not readable; was the pod edited? %w", ConfigEnv, err)
	}
	for _, r := range c.Routes {
		if r.Probe.HTTPGet == nil && r.Probe.GRPC == nil {
			return SidecarConfig{}, fmt.Errorf("the %s probe of container %s in %s is neither httpGet nor grpc; was the pod edited?", r.Kind, r.Container, ConfigEnv)
		}
	}
	return c, nil
}
