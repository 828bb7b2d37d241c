package cri

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	v1 "k8s.io/api/core/v1"
	logs "k8s.io/cri-client/pkg/logs"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/util/tail"
)

// TerminationMessage gives what a pod's status shows as the message of an exited
// container: the runtime's, then what the container left in its termination
// message file, or under FallbackToLogsOnError the end of its log when it failed
// without a word. The file counts up to 4096 bytes, the log up to 80 lines and
// 2048 bytes, both from the end (kubelet: pkg/kubelet/container/runtime.go).
//
// It reads the file now: the view must not be much older than the container's end.
func TerminationMessage(v ContainerView) string {
	if v.State != Exited {
		return ""
	}
	own := ownMessage(v)
	switch {
	case own == "":
		return v.Message
	case v.Message == "":
		return own
	}
	return v.Message + ": " + own
}

func ownMessage(v ContainerView) string {
	// What never ran has no log to fall back to.
	fallback := v.Recorded.MessagePolicy == v1.TerminationMessageFallbackToLogsOnError &&
		v.ExitCode != 0 && v.Reason != "ContainerCannotRun"
	if file := messageFile(v); file != "" {
		text, _, err := tail.ReadAtMost(file, kubecontainer.MaxContainerTerminationMessageLength)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fmt.Sprintf("Error on reading termination log %s: %v", file, err)
		case len(text) > 0:
			return string(text)
		}
	}
	if !fallback {
		return ""
	}
	lines := int64(kubecontainer.MaxContainerTerminationMessageLogLines)
	text, err := logTail(v.LogPath, lines)
	if err != nil {
		return fmt.Sprintf("Error on reading termination message from logs: %v", err)
	}
	return text
}

// LastLines are the last five lines that a container logged; empty where there is
// no log any more.
func LastLines(v ContainerView) string {
	text, err := logTail(v.LogPath, 5)
	if err != nil {
		return ""
	}
	return text
}

// messageFile is the host's side of the mount at the recorded path.
func messageFile(v ContainerView) string {
	if v.Recorded.MessagePath == "" {
		return ""
	}
	inside := messagePath(v.Recorded.MessagePath)
	for _, m := range v.Mounts {
		if m.ContainerPath == inside {
			return m.HostPath
		}
	}
	return ""
}

func logTail(path string, lines int64) (string, error) {
	var text lastBytes
	err := logs.ReadLogs(quiet(context.Background()), path, "", &logs.LogOptions{TailLines: &lines}, nil, &text, &text)
	return text.String(), err
}

// lastBytes keeps the end of what is written to it.
type lastBytes struct{ buf bytes.Buffer }

func (l *lastBytes) Write(p []byte) (int, error) {
	l.buf.Write(p)
	if over := l.buf.Len() - kubecontainer.MaxContainerTerminationMessageLogLength; over > 0 {
		l.buf.Next(over)
	}
	return len(p), nil
}

func (l *lastBytes) String() string { return l.buf.String() }
