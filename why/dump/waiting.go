package dump

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// tellWaiting sets the messages of an unscheduled pod and of its waiting containers from its events. kubectl describe
// prints only their reasons.
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

// ofKubelet are the reasons of kubelet's events about containers.
var ofKubelet = []string{"Pulling", "Pulled", "Created", "Started", "Failed", "Killing", "Unhealthy", "ProbeWarning", "BackOff", "FailedPostStartHook", "FailedPreStopHook"}

// containerOf returns the field path of the container that an event of a description is about, which kubectl does not
// print: the only one that its message names, by name or image, else the only one with such a probe; empty if several fit.
func containerOf(p *v1.Pod, e told) string {
	if !slices.Contains(ofKubelet, e.Reason) {
		return ""
	}
	words := strings.FieldsFunc(e.Message, func(r rune) bool { return strings.ContainsRune(" \",:", r) })
	kind, _, probed := strings.Cut(e.Message, " probe ")
	var named, fit []string
	add := func(field string, c v1.Container) {
		path := fmt.Sprintf("spec.%s{%s}", field, c.Name)
		if slices.Contains(words, c.Name) || strings.Contains(e.Message, fmt.Sprintf("%q", c.Image)) {
			named = append(named, path)
		}
		if !probed || map[string]*v1.Probe{"Liveness": c.LivenessProbe, "Readiness": c.ReadinessProbe, "Startup": c.StartupProbe}[kind] != nil {
			fit = append(fit, path)
		}
	}
	for _, c := range p.Spec.InitContainers {
		add("initContainers", c)
	}
	for _, c := range p.Spec.Containers {
		add("containers", c)
	}
	if len(named) > 0 {
		fit = named
	}
	if len(fit) != 1 {
		return ""
	}
	return fit[0]
}
