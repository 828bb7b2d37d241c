package object

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Own is the node's own object as it was last seen, and a bell for its Reporter. It is
// apart from that because what the reporter tells comes from parts that need the
// object themselves. Safe for concurrent use.
type Own struct {
	ctx     context.Context
	changed chan struct{}
	current atomic.Pointer[v1.Node]
	once    sync.Once
	seen    chan struct{} // closed once there is an object
}

// NewOwn makes an object that was not seen yet. Who waits for it waits no longer than ctx.
func NewOwn(ctx context.Context) *Own {
	return &Own{ctx: ctx, changed: make(chan struct{}, 1), seen: make(chan struct{})}
}

// Changed says that State would now answer something else. It does not wait.
func (o *Own) Changed() {
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

// Node is the object as it was last seen; nil before it was registered. It is
// not to be changed.
func (o *Own) Node() *v1.Node { return o.current.Load() }

// registration is how long those who cannot do without the object wait for it.
const registration = 10 * time.Second

// Get gives the object to those who cannot do without it; it waits up to 10 s for the
// node of that name to be registered.
func (o *Own) Get(name string) (*v1.Node, error) {
	timeout := time.NewTimer(registration)
	defer timeout.Stop()
	select {
	case <-o.seen:
		return o.Node(), nil
	case <-o.ctx.Done():
		return nil, context.Cause(o.ctx)
	case <-timeout.C:
		return nil, fmt.Errorf("node %s is not registered yet", name)
	}
}

// saw takes in the object as it is now, unless a newer one was seen before: the
// watch and the answers to our own writes race. A resource version that cannot be
// compared counts as newer.
func (o *Own) saw(node *v1.Node) {
	for {
		old := o.current.Load()
		if old != nil && old.UID == node.UID && !newer(old.ResourceVersion, node.ResourceVersion) {
			return
		}
		if o.current.CompareAndSwap(old, node) {
			o.once.Do(func() { close(o.seen) })
			return
		}
	}
}

// newer compares resource versions. What cannot be compared counts as newer.
func newer(old, now string) bool {
	order, err := resourceversion.CompareResourceVersion(now, old)
	return err != nil || order > 0
}
