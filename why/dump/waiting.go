package dump

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// tellWaiting takes from a pod's events what its description leaves out: the message of the scheduler, and those of
// containers that wait. Both stand in its status, of which kubectl describe prints the reasons alone.
func tellWaiting(p *v1.Pod, events []told) {
	newest := func(reason, begins string) (message string) {
		for _, e := range events {
			if rest, fits := strings.CutPrefix(e.Message, begins); fits && e.Reason == reason {
				message = rest
			}
		}
		return message
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse {
			if c.Message = newest("FailedScheduling", ""); c.Message != "" {
				c.Reason = v1.PodReasonUnschedulable
			}
		}
	}
	for _, statuses := range [][]v1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, s := range statuses {
			switch w := s.State.Waiting; {
			case w == nil:
			case strings.HasPrefix(w.Reason, "ErrImage") || strings.HasPrefix(w.Reason, "ImagePull") || w.Reason == "InvalidImageName":
				w.Message = newest("Failed", fmt.Sprintf("Failed to pull image %q: ", s.Image))
			case strings.HasPrefix(w.Reason, "CreateContainer") || w.Reason == "RunContainerError":
				w.Message = newest("Failed", "Error: ")
			}
		}
	}
}

// ofKubelet are the reasons of kubelet's events that are about a container.
var ofKubelet = []string{"Pulling", "Pulled", "Created", "Started", "Failed", "Killing", "Unhealthy", "ProbeWarning", "BackOff", "FailedPostStartHook", "FailedPreStopHook"}

// containerOf is the field path of the container that an event of a description is about, which kubectl does not print:
// the one that its message names, by name or image, or the only one that has such a probe; empty where that is not clear.
func containerOf(p *v1.Pod, e told) string {
	if !slices.Contains(ofKubelet, e.Reason) {
		return ""
	}
	var paths []string
	named := false
	words := strings.FieldsFunc(e.Message, func(r rune) bool { return strings.ContainsRune(" \",:", r) })
	add := func(field string, c v1.Container) {
		is := slices.Contains(words, c.Name) || strings.Contains(e.Message, fmt.Sprintf("%q", c.Image))
		probe, _, probed := strings.Cut(e.Message, " probe ")
		has := !probed || map[string]*v1.Probe{"Liveness": c.LivenessProbe, "Readiness": c.ReadinessProbe, "Startup": c.StartupProbe}[probe] != nil
		switch path := fmt.Sprintf("spec.%s{%s}", field, c.Name); {
		case is && !named:
			paths, named = []string{path}, true
		case is || !named && has:
			paths = append(paths, path)
		}
	}
	for _, c := range p.Spec.InitContainers {
		add("initContainers", c)
	}
	for _, c := range p.Spec.Containers {
		add("containers", c)
	}
	if len(paths) != 1 {
		return ""
	}
	return paths[0]
}
