package fact

import v1 "k8s.io/api/core/v1"

// LogLines is the annotation of a pod, or of its namespace, that says whether lines of its containers' logs are kept: not with "false".
const LogLines = "why.whylet.dev/log-lines"

// KeepsLogLines reports whether lines of a pod's logs may be kept; true of one that is not known.
func KeepsLogLines(pod *v1.Pod) bool { return pod == nil || AllowsLogLines(pod.Annotations) }

// AllowsLogLines reports whether the annotations of a pod, or of a namespace, let lines of logs be kept.
func AllowsLogLines(annotations map[string]string) bool { return annotations[LogLines] != "false" }

// HasLogLines reports whether a fact has lines of a container's log.
func HasLogLines(f Fact) bool {
	switch b := f.Body.(type) {
	case Exited:
		return len(b.LastLines) > 0 || b.LogEnd != nil
	case Looked:
		return len(b.Said) > 0
	}
	return false
}

// WithoutLogLines returns a fact without lines of a container's log. The fact itself is not changed.
func WithoutLogLines(f Fact) Fact {
	switch b := f.Body.(type) {
	case Exited:
		b.LastLines, b.LastLinesAt, b.LogEnd = nil, nil, nil
		f.Body = b
	case Looked:
		b.Said, b.SaidAt = nil, nil
		f.Body = b
	}
	return f
}
