package shadow

import (
	"strings"

	"whylet.dev/whylet/fact"
)

// reasonOf reads kubelet's words for why it ends a container: the message of its
// event Killing, which is the containerMessage of its log as well
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions; and
// kuberuntime_container.go, killContainer).
func reasonOf(message string) (fact.KillReason, bool) {
	switch {
	case strings.Contains(message, "failed liveness probe"):
		return fact.KillLiveness, true
	case strings.Contains(message, "failed startup probe"):
		return fact.KillStartup, true
	case strings.Contains(message, "definition changed"), strings.Contains(message, "spec hash changed"):
		return fact.KillSpec, true
	case strings.Contains(message, "resize requires restart"):
		return fact.KillResize, true
	case strings.Contains(message, "FailedPostStartHook"):
		return fact.KillHook, true
	case strings.Contains(message, "Removing all containers before pod restarts"), strings.Contains(message, "RestartAllContainers"):
		return fact.KillRestart, true
	}
	return "", false
}

// probeOf is the probe for whose failing a container is ended.
func probeOf(r fact.KillReason) (fact.ProbeKind, bool) {
	switch r {
	case fact.KillLiveness:
		return fact.Liveness, true
	case fact.KillStartup:
		return fact.Startup, true
	}
	return "", false
}

// The lines and events of kubelet that are about ends.
const (
	SaidKilling = "Killing"                               // event
	LogKilling  = "Killing container with a grace period" // log, -v=2
	LogMessage  = "Message for Container of pod"          // log, -v=2
)
