package containers

import (
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// known is what a watcher has already told, so that it tells each change once.
// It is the pure part of Watch: what comes in are the runtime's events and our
// own looks, in any order and as often as you like; what comes out are changes.
//
// A container only moves forward (created, running, exited, gone), so a view of
// an earlier state is old news, wherever it comes from. The same holds for
// sandboxes (ready, not ready, gone). Ids are never used twice.
type known struct {
	containers map[string]seenContainer
	sandboxes  map[string]seenSandbox
	// gone remembers for a while what was removed, so that old news about it does
	// not bring it back.
	gone map[string]time.Time
	// horizon is when the last look began, by the runtime's clock, which is ours.
	// What an older event tells about something that the look did not find, is over.
	horizon time.Time
}

type seenContainer struct {
	view  ContainerView
	since time.Time
}

type seenSandbox struct {
	view  SandboxView
	since time.Time
}

// forgetGone is longer than any event can be late: containerd keeps events five
// minutes for a reader that is away.
const forgetGone = 10 * time.Minute

func newKnown(since *Snapshot) *known {
	k := &known{
		containers: map[string]seenContainer{},
		sandboxes:  map[string]seenSandbox{},
		gone:       map[string]time.Time{},
	}
	if since != nil {
		k.horizon = since.Began
		for _, v := range since.Containers {
			k.containers[v.ID] = seenContainer{view: v, since: since.Began}
		}
		for _, v := range since.Sandboxes {
			k.sandboxes[v.ID] = seenSandbox{view: v, since: since.Began}
		}
	}
	return k
}

// container and sandbox make known a [filter]: a look needs to ask in full only
// for what it finds new or changed.
func (k *known) container(v ContainerView) bool {
	old, ok := k.containers[v.ID]
	return !ok || v.State.age() > old.view.State.age()
}

func (k *known) sandbox(v SandboxView) bool {
	old, ok := k.sandboxes[v.ID]
	return !ok || old.view.Ready && !v.Ready
}

// clone is for a look that runs while events go on coming in.
func (k *known) clone() *known {
	c := newKnown(nil)
	for id, s := range k.containers {
		c.containers[id] = s
	}
	for id, s := range k.sandboxes {
		c.sandboxes[id] = s
	}
	return c
}

// event takes one of the runtime's events, which carries the whole pod.
func (k *known) event(c *Client, e *runtimeapi.ContainerEventResponse, now time.Time) []Event {
	at := nanos(e.CreatedAt)
	old := at.Before(k.horizon)
	var out []Event
	sandbox := ""
	if s := e.PodSandboxStatus; s != nil {
		sandbox = s.Id
		if v := sandboxView(s); v.Pod.UID != "" && (!old || k.hasSandbox(v.ID)) {
			out = append(out, k.sandboxSeen(v, at, now)...)
		}
	}
	for _, s := range e.ContainersStatuses {
		v := c.containerView(s)
		v.Sandbox = sandbox
		if v.Pod.UID != "" && (!old || k.hasContainer(v.ID)) {
			out = append(out, k.containerSeen(v, at, now)...)
		}
	}
	if e.ContainerEventType == runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT {
		out = append(out, k.removed(c, e.ContainerId, at, now)...)
	}
	return out
}

// looked takes a look at everything, of which filtered parts may be brief: those
// that [known.container] and [known.sandbox] knew already.
func (k *known) looked(c *Client, s Snapshot, now time.Time) []Event {
	var out []Event
	found := map[string]bool{}
	for _, v := range s.Sandboxes {
		found[v.ID] = true
		out = append(out, k.sandboxSeen(v, now, now)...)
	}
	for _, v := range s.Containers {
		found[v.ID] = true
		out = append(out, k.containerSeen(v, now, now)...)
	}
	for id, seen := range k.containers {
		if !found[id] && seen.since.Before(s.Began) {
			out = append(out, k.removed(c, id, now, now)...)
		}
	}
	for id, seen := range k.sandboxes {
		if !found[id] && seen.since.Before(s.Began) {
			out = append(out, k.removed(c, id, now, now)...)
		}
	}
	for i := range out {
		out[i].Looked = true
	}
	k.horizon = s.Began
	for id, since := range k.gone {
		if now.Sub(since) > forgetGone {
			delete(k.gone, id)
		}
	}
	return out
}

func (k *known) hasContainer(id string) bool { _, ok := k.containers[id]; return ok }
func (k *known) hasSandbox(id string) bool   { _, ok := k.sandboxes[id]; return ok }

func (k *known) containerSeen(v ContainerView, at, now time.Time) []Event {
	if _, gone := k.gone[v.ID]; gone || !k.container(v) {
		return nil
	}
	since := now
	if old, ok := k.containers[v.ID]; ok {
		since = old.since
		v.Sandbox = orElse(v.Sandbox, old.view.Sandbox)
	}
	k.containers[v.ID] = seenContainer{view: v, since: since}
	return []Event{{Kind: ContainerChanged, At: at, Container: &v}}
}

func (k *known) sandboxSeen(v SandboxView, at, now time.Time) []Event {
	if _, gone := k.gone[v.ID]; gone || !k.sandbox(v) {
		return nil
	}
	since := now
	if old, ok := k.sandboxes[v.ID]; ok {
		since = old.since
	}
	k.sandboxes[v.ID] = seenSandbox{view: v, since: since}
	return []Event{{Kind: SandboxChanged, At: at, Sandbox: &v}}
}

// removed takes the id of a container, with or without scheme, or of a sandbox.
func (k *known) removed(c *Client, id string, at, now time.Time) []Event {
	if seen, ok := k.sandboxes[id]; ok {
		delete(k.sandboxes, id)
		k.gone[id] = now
		return []Event{{Kind: SandboxGone, At: at, Sandbox: &seen.view}}
	}
	id = c.FullID(id)
	k.gone[id] = now
	if seen, ok := k.containers[id]; ok {
		delete(k.containers, id)
		return []Event{{Kind: ContainerGone, At: at, Container: &seen.view}}
	}
	return nil
}
