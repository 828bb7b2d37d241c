package main

import (
	"context"
	"sync"
	"time"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/task"
	ptypes "github.com/containerd/containerd/v2/pkg/protobuf/types"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/containerd/v2/pkg/shutdown"
	"github.com/containerd/containerd/v2/plugins"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	runc "github.com/containerd/go-runc"
	"github.com/containerd/log"
	"github.com/containerd/plugin"
	"github.com/containerd/plugin/registry"
	"github.com/containerd/ttrpc"
)

const (
	// linger is how long a shim without containers stays, so that a node whose
	// pods come and go does not start one for each.
	linger = 30 * time.Second

	// stayID is the container id with which a new sandbox asks the shim to stay.
	// It is none that containerd could choose: those are not this short.
	stayID = "stay"
)

// lingering is the task service of a shim that several pods share. It counts the
// containers, those being created included, and ends the process when there has
// been none for a while.
//
// Invariant: once stay has succeeded, the process does not end for linger, which
// is far longer than a sandbox needs from there to Create.
type lingering struct {
	taskapi.TTRPCTaskService
	end   func()
	after func(time.Duration, func()) stopper

	mu         sync.Mutex
	containers map[string]bool
	ending     bool
	timer      stopper
}

// stopper is what lingering needs of a timer.
type stopper interface{ Stop() bool }

func newLingering(inner taskapi.TTRPCTaskService, end func()) *lingering {
	l := &lingering{
		TTRPCTaskService: inner, end: end, containers: map[string]bool{},
		after: func(d time.Duration, f func()) stopper { return time.AfterFunc(d, f) },
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rearm()
	return l
}

// rearm starts the time after which an empty shim ends anew. The lock is held.
func (l *lingering) rearm() {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = l.after(linger, l.endIfEmpty)
}

func (l *lingering) endIfEmpty() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.containers) > 0 || l.ending {
		return
	}
	l.ending = true
	l.end()
}

// stay keeps the shim from ending for a while, or is false when it ends already.
func (l *lingering) stay() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ending {
		l.rearm()
	}
	return !l.ending
}

// Connect with stayID keeps the shim from ending for a while, or fails when it
// ends already; with any other id it is the service's own.
func (l *lingering) Connect(ctx context.Context, r *taskapi.ConnectRequest) (*taskapi.ConnectResponse, error) {
	if r.ID == stayID && !l.stay() {
		return nil, errgrpc.ToGRPCf(errdefs.ErrFailedPrecondition, "this shim is ending")
	}
	return l.TTRPCTaskService.Connect(ctx, r)
}

// Create counts the container before the service makes it.
func (l *lingering) Create(ctx context.Context, r *taskapi.CreateTaskRequest) (*taskapi.CreateTaskResponse, error) {
	l.mu.Lock()
	if l.ending {
		l.mu.Unlock()
		return nil, errgrpc.ToGRPCf(errdefs.ErrFailedPrecondition, "this shim is ending")
	}
	l.containers[r.ID] = true
	l.mu.Unlock()
	answer, err := l.TTRPCTaskService.Create(ctx, r)
	if err != nil && !errdefs.IsAlreadyExists(errgrpc.ToNative(err)) {
		l.forget(r.ID)
	}
	return answer, err
}

// Delete forgets the container when it, and not one of its execs, is deleted.
func (l *lingering) Delete(ctx context.Context, r *taskapi.DeleteRequest) (*taskapi.DeleteResponse, error) {
	answer, err := l.TTRPCTaskService.Delete(ctx, r)
	if err == nil && r.ExecID == "" {
		l.forget(r.ID)
	}
	return answer, err
}

func (l *lingering) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.containers, id)
	l.rearm()
}

// Shutdown is what containerd asks with every sandbox that goes. The shim decides
// for itself.
func (l *lingering) Shutdown(context.Context, *taskapi.ShutdownRequest) (*ptypes.Empty, error) {
	return &ptypes.Empty{}, nil
}

// RegisterTTRPC makes the service known to the shim's server.
func (l *lingering) RegisterTTRPC(server *ttrpc.Server) error {
	taskapi.RegisterTTRPCTaskService(server, l)
	return nil
}

// The service takes the place of upstream's plugin "task".
func init() {
	registry.Register(&plugin.Registration{
		Type:     plugins.TTRPCPlugin,
		ID:       "task",
		Requires: []plugin.Type{plugins.EventPlugin, plugins.InternalPlugin},
		InitFn: func(ic *plugin.InitContext) (any, error) {
			publisher, err := ic.GetByID(plugins.EventPlugin, "publisher")
			if err != nil {
				return nil, err
			}
			sd, err := ic.GetByID(plugins.InternalPlugin, "shutdown")
			if err != nil {
				return nil, err
			}
			inner, err := task.NewTaskService(ic.Context, publisher.(shim.Publisher), sd.(shutdown.Service))
			if err != nil {
				return nil, err
			}
			runc.Monitor = inProcess{runc.Monitor} // which the task service has just set
			service := newLingering(patient{thorough{inner}, outputWait}, sd.(shutdown.Service).Shutdown)
			if err := service.openDoor(); err != nil {
				log.G(ic.Context).WithError(err).Warn("each sandbox starts a program to find this shim")
			}
			return service, nil
		},
	})
}
