package containers

import (
	"fmt"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"pgregory.net/rapid"
)

// world is a runtime as it truly is: what there is, and the events it has sent.
// Events and looks reach the watcher late, twice, or in any order.
type world struct {
	clock      int64
	containers map[string]*runtimeapi.ContainerStatus
	order      []string
	events     []*runtimeapi.ContainerEventResponse
	looks      []Snapshot
	client     *Client
}

func newWorld() *world {
	return &world{clock: time.Now().UnixNano(), containers: map[string]*runtimeapi.ContainerStatus{}, client: &Client{name: "test"}}
}

func (w *world) now() time.Time { return time.Unix(0, w.clock) }

// send makes an event with the pod as it is now.
func (w *world) send(id string, kind runtimeapi.ContainerEventType) {
	e := &runtimeapi.ContainerEventResponse{ContainerId: id, ContainerEventType: kind, CreatedAt: w.clock}
	for _, id := range w.order {
		if c, ok := w.containers[id]; ok {
			e.ContainersStatuses = append(e.ContainersStatuses, copyStatus(c))
		}
	}
	w.events = append(w.events, e)
}

func copyStatus(c *runtimeapi.ContainerStatus) *runtimeapi.ContainerStatus {
	return &runtimeapi.ContainerStatus{
		Id: c.Id, State: c.State, CreatedAt: c.CreatedAt, Labels: c.Labels, Metadata: c.Metadata, ExitCode: c.ExitCode,
	}
}

func (w *world) create() {
	id := fmt.Sprintf("c%d", len(w.order))
	w.containers[id] = &runtimeapi.ContainerStatus{
		Id: id, State: runtimeapi.ContainerState_CONTAINER_CREATED, CreatedAt: w.clock,
		Labels:   map[string]string{"io.kubernetes.pod.uid": "u", "io.kubernetes.pod.name": "p", "io.kubernetes.pod.namespace": "n"},
		Metadata: &runtimeapi.ContainerMetadata{Name: "main", Attempt: uint32(len(w.order))},
	}
	w.order = append(w.order, id)
	w.send(id, runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT)
}

// advance moves a container one step on in its life.
func (w *world) advance(id string) {
	c, ok := w.containers[id]
	if !ok {
		return
	}
	switch c.State {
	case runtimeapi.ContainerState_CONTAINER_CREATED:
		c.State = runtimeapi.ContainerState_CONTAINER_RUNNING
		w.send(id, runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT)
	case runtimeapi.ContainerState_CONTAINER_RUNNING:
		c.State = runtimeapi.ContainerState_CONTAINER_EXITED
		w.send(id, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)
	default:
		delete(w.containers, id)
		w.send(id, runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT)
	}
}

// look takes a snapshot; it is delivered later.
func (w *world) look() Snapshot {
	s := Snapshot{Began: w.now()}
	for _, c := range w.containers {
		s.Containers = append(s.Containers, w.client.containerView(c))
	}
	return s
}

// TestKnownTellsEachChangeOnceAndForward delivers events and looks late, twice and
// in any order, and loses some. Whatever comes, a container's told life only
// moves forward, nothing is told twice, and a last look brings the whole truth.
func TestKnownTellsEachChangeOnceAndForward(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, k := newWorld(), newKnown(nil)
		told := map[string]int{} // id → age of the last state told; 5: gone
		hear := func(events []Event) {
			for _, e := range events {
				age := 5
				if e.Kind == ContainerChanged {
					age = e.Container.State.age()
				}
				if old := told[e.Container.ID]; age <= old {
					rt.Fatalf("%s of %s told after age %d", e.Kind, e.Container.ID, old)
				}
				told[e.Container.ID] = age
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"create": func(*rapid.T) { w.clock += 1000; w.create() },
			"advance": func(rt *rapid.T) {
				if len(w.order) > 0 {
					w.clock += 1000
					w.advance(rapid.SampledFrom(w.order).Draw(rt, "which"))
				}
			},
			"begin look": func(*rapid.T) { w.clock += 1000; w.looks = append(w.looks, w.look()) },
			"end look": func(*rapid.T) {
				// Looks do not overtake each other: there is one at a time.
				if len(w.looks) > 0 {
					hear(k.looked(w.client, w.looks[0], w.now()))
					w.looks = w.looks[1:]
				}
			},
			"deliver": func(rt *rapid.T) {
				if len(w.events) > 0 {
					i := rapid.IntRange(0, len(w.events)-1).Draw(rt, "event")
					hear(k.event(w.client, w.events[i], w.now()))
				}
			},
		})
		w.clock += 1000
		hear(k.looked(w.client, w.look(), w.now()))
		for id, seen := range told {
			c, exists := w.containers[Bare(id)]
			switch {
			case exists && seen != states[c.State].age():
				rt.Fatalf("%s is %s, but age %d was told", id, c.State, seen)
			case !exists && seen != 5:
				rt.Fatalf("%s is gone, but age %d was told", id, seen)
			}
		}
		for id := range w.containers {
			if _, ok := told[w.client.FullID(id)]; !ok {
				rt.Fatalf("%s was never told", id)
			}
		}
	})
}

func TestKnownIgnoresNewsOlderThanTheLook(t *testing.T) {
	w := newWorld()
	w.create()
	w.advance("c0")
	old := w.events[1] // runs
	w.advance("c0")
	w.advance("c0") // gone
	w.clock += 1000
	k := newKnown(nil)
	if events := k.looked(w.client, w.look(), w.now()); len(events) != 0 {
		t.Fatalf("an empty runtime tells %v", events)
	}
	if events := k.event(w.client, old, w.now()); len(events) != 0 {
		t.Errorf("an event from before the look brought back a removed container: %+v", events[0].Container)
	}
}

func TestKnownForgetsWhatIsLongGone(t *testing.T) {
	w, k := newWorld(), newKnown(nil)
	w.create()
	w.advance("c0")
	w.advance("c0")
	w.advance("c0")
	for _, e := range w.events {
		k.event(w.client, e, w.now())
	}
	if len(k.gone) != 1 {
		t.Fatalf("%d containers remembered as gone", len(k.gone))
	}
	w.clock += int64(forgetGone) + 1
	k.looked(w.client, w.look(), w.now())
	if len(k.gone) != 0 {
		t.Errorf("still remembered: %v", k.gone)
	}
}
