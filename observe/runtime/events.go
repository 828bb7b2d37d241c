package runtime

import (
	"context"
	"fmt"
	"time"

	apievents "github.com/containerd/containerd/api/events"
	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/protobuf/proto"
)

// told is one of containerd's events about a task.
type told struct {
	container string
	exec      string // of a process beside the main one
	pid       uint32
	started   bool
	at        time.Time
	code      uint32
}

// ours are the events that are asked for: those of Kubernetes' containers.
var ours = []string{
	`namespace==k8s.io,topic=="/tasks/start"`, `namespace==k8s.io,topic=="/tasks/exit"`, `namespace==k8s.io,topic=="/tasks/exec-started"`,
}

// hear reads containerd's events until ctx or the stream ends. connected is called when
// it has been opened; what happened before has to be looked for.
func (c *Client) hear(ctx context.Context, connected func(), tell func(told)) error {
	stream, err := eventsapi.NewEventsClient(c.conn).Subscribe(ctx, &eventsapi.SubscribeRequest{Filters: ours})
	if err != nil {
		return fmt.Errorf("containerd's events: %w", err)
	}
	connected()
	for {
		e, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("containerd's events: %w", err)
		}
		if t, ok := read(e); ok {
			tell(t)
		}
	}
}

// read understands one event; ok is false for what is of no interest.
func read(e *types.Envelope) (told, bool) {
	raw := e.GetEvent().GetValue()
	switch e.GetTopic() {
	case "/tasks/start":
		var b apievents.TaskStart
		err := proto.Unmarshal(raw, &b)
		return told{container: b.ContainerID, pid: b.Pid, started: true, at: e.GetTimestamp().AsTime()}, err == nil && b.ContainerID != ""
	case "/tasks/exec-started":
		var b apievents.TaskExecStarted
		err := proto.Unmarshal(raw, &b)
		return told{container: b.ContainerID, exec: b.ExecID, pid: b.Pid, started: true, at: e.GetTimestamp().AsTime()}, err == nil && b.ExecID != ""
	case "/tasks/exit":
		var b apievents.TaskExit
		err := proto.Unmarshal(raw, &b)
		t := told{container: b.ContainerID, pid: b.Pid, at: b.GetExitedAt().AsTime(), code: b.ExitStatus}
		if b.ID != b.ContainerID {
			t.exec = b.ID
		}
		return t, err == nil && b.ContainerID != ""
	}
	return told{}, false
}
