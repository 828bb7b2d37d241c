package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	utilclock "k8s.io/utils/clock"

	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/object"
)

// awayAfter is how long the runtime may be silent at the start before the node says
// so: one that starts beside it answers sooner.
const awayAfter = 3 * time.Second

// errSilent is of a runtime that took a call and has not answered it.
var errSilent = errors.New("it does not answer")

// untilRuntime tries until the runtime answers. When that takes longer than its own
// start would, the node's object and lease are kept meanwhile: else the control plane
// would hear nothing, and say so after 50 s.
func (n *node) untilRuntime(ctx context.Context, try func(context.Context) error) error {
	waiting, answered := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer answered()
	var failure atomic.Pointer[error]
	failure.Store(&errSilent)
	wg.Go(func() {
		select {
		case <-waiting.Done():
		case <-time.After(awayAfter):
			n.sayAway(waiting, func() error { return *failure.Load() })
		}
	})
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, cri.ErrSystemd) {
			return err
		}
		failure.Store(&err)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// sayAway keeps the node's object until ctx ends, with why as the reason of its not
// being ready.
func (n *node) sayAway(ctx context.Context, why func() error) {
	n.config.Progress("waiting for the container runtime to come back")
	n.log.Warn("the container runtime is away", "error", why())
	// With a client of its own: nothing takes the facts yet that the node's tells.
	client, err := kubernetes.NewForConfig(clientConfig(n.config.API))
	if err == nil {
		var r *object.Reporter
		if r, err = n.away(client, why); err == nil {
			r.Run(ctx)
		}
	}
	if err != nil {
		n.log.Error("the node cannot tell that the container runtime is away", "error", err)
	}
}

// away keeps what of the node's object needs no runtime.
func (n *node) away(client kubernetes.Interface, why func() error) (*object.Reporter, error) {
	f, err := newFace(n)
	if err != nil {
		return nil, fmt.Errorf("look at the machine: %w", err)
	}
	c := f.describe(client)
	c.State = func() object.State {
		return object.State{
			Problems: []string{object.RuntimeDown(why())}, Conditions: []v1.NodeCondition{f.journalCondition()},
		}
	}
	return object.New(c), nil
}

// describe says of the node's object what does not change.
func (f *face) describe(client kubernetes.Interface) object.Config {
	return object.Config{
		Name: f.config.Name, IP: f.config.IP, Port: int32(f.config.Port), Version: f.config.Version, Reserve: f.reserve,
		Declares: declared,
		Machine:  func() (object.Machine, error) { return object.ReadMachine("/", f.config.DataDir) },
		Client:   client, Clock: utilclock.RealClock{}, Log: f.log,
	}
}
