package record

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Line is one thing that is compared: what it is about, and its value. A key that
// ends with [IfBoth] is compared only where both sides have it.
type Line struct{ Key, Value string }

// IfBoth ends the keys of what only a life that lasted long enough shows.
const IfBoth = " while it ran"

// Reduce makes lines of a pod's history and of the events about it.
func Reduce(h History, events []v1.Event) []Line {
	if len(h.Versions) == 0 {
		return []Line{{"pod", "never seen"}}
	}
	last := h.Versions[len(h.Versions)-1]
	lines := []Line{
		{"phase", strings.Join(phases(h.Versions), " → ")},
		{"deleted", fmt.Sprint(h.Deleted)},
		{"reason", normal(last, joinNonEmpty(": ", last.Status.Reason, last.Status.Message))},
		{"qos", string(last.Status.QOSClass)},
	}
	lines = append(lines, conditions(h.Versions)...)
	for _, name := range containers(last) {
		lines = append(lines, life(h.Versions, name)...)
	}
	return append(lines, said(last, events)...)
}

// phases is the sequence of phases. Running is put in before the end of a pod
// whose containers ran, where no version shows it.
func phases(versions []*v1.Pod) []string {
	var seen []string
	for _, pod := range versions {
		phase := string(pod.Status.Phase)
		ended := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
		if ended && !slices.Contains(seen, string(v1.PodRunning)) && mainRan(pod) {
			seen = append(seen, string(v1.PodRunning))
		}
		seen = appendNew(seen, phase)
	}
	return seen
}

func mainRan(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c v1.ContainerStatus) bool {
		t := c.State.Terminated
		return t != nil && hasRun(t)
	})
}

// conditions gives a line for each condition's sequence of values, and one for
// what it says last.
func conditions(versions []*v1.Pod) []Line {
	sequences, last := map[string][]string{}, map[string]string{}
	for _, pod := range versions {
		for _, c := range pod.Status.Conditions {
			kind := string(c.Type)
			sequences[kind] = appendNew(sequences[kind], joinNonEmpty(" ", string(c.Status), c.Reason))
			last[kind] = normal(pod, c.Message)
		}
	}
	var lines []Line
	for kind, sequence := range sequences {
		if kind == string(v1.PodReady) || kind == string(v1.ContainersReady) {
			if n := len(versions); !overSoon(versions[n-1]) {
				lines = append(lines, Line{"condition " + kind + IfBoth, fmt.Sprintf("was True: %t", slices.Contains(sequence, "True"))})
			}
			sequence = sequence[len(sequence)-1:] // whether a short False between two True was published depends on when somebody looked
		}
		lines = append(lines,
			Line{"condition " + kind, strings.Join(sequence, " → ")},
			Line{"condition " + kind + " message", last[kind]})
	}
	slices.SortFunc(lines, func(a, b Line) int { return strings.Compare(a.Key, b.Key) })
	return lines
}

// overSoon reports whether a pod has ended whose containers ran too briefly for a poll to have seen that they were ready.
func overSoon(pod *v1.Pod) bool {
	all := pod.Status.ContainerStatuses
	return len(all) > 0 && !slices.ContainsFunc(all, func(c v1.ContainerStatus) bool {
		t := c.State.Terminated
		return t == nil || c.RestartCount > 0 || t.FinishedAt.Sub(t.StartedAt.Time) >= shortest
	})
}

// containers lists the names of a pod's containers, init containers first.
func containers(pod *v1.Pod) []string {
	var names []string
	for _, c := range pod.Spec.InitContainers {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	return names
}

// said gives a line for each different event.
func said(pod *v1.Pod, events []v1.Event) []Line {
	var lines []Line
	for _, e := range events {
		where := strings.TrimSuffix(strings.TrimPrefix(e.InvolvedObject.FieldPath, "spec."), "}")
		where = strings.NewReplacer("containers{", "", "initContainers{", "init ").Replace(where)
		key := joinNonEmpty(" ", "event", e.Type, e.Reason, where) + ": " + normal(pod, e.Message)
		if line := (Line{key, "said"}); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	slices.SortFunc(lines, func(a, b Line) int { return strings.Compare(a.Key, b.Key) })
	return lines
}

func appendNew(sequence []string, value string) []string {
	if len(sequence) > 0 && sequence[len(sequence)-1] == value {
		return sequence
	}
	return append(sequence, value)
}

func joinNonEmpty(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}
