package api

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/reported"
)

// Events reads the events about pods, each time what is new. It is the weakest of all
// sources: kubelet gives up on events beyond 25 and one in five minutes a pod
// (k8s.io/client-go/tools/record/events_cache.go). Not safe for concurrent use.
type Events struct {
	Client *Client
	// counts are those told of, by the event's UID.
	counts map[types.UID]int64
}

// mostEvents bounds one look, mostCounts what is remembered of events.
const (
	mostEvents = 200
	mostCounts = 10000
)

// Look reads the events of one pod, oldest first.
func (e *Events) Look(ctx context.Context, namespace string, uid types.UID) ([]reported.Event, error) {
	list, err := e.list(ctx, namespace, fields.Set{"involvedObject.uid": string(uid)})
	if err != nil {
		return nil, fmt.Errorf("events of pod %s: %w", uid, err)
	}
	if e.counts == nil || len(e.counts) > mostCounts {
		e.counts = map[types.UID]int64{}
	}
	var all []reported.Event
	for i := range list {
		if t, ok := e.fresh(&list[i]); ok {
			all = append(all, t)
		}
	}
	return all, nil
}

// Deletions reads what a controller says of the pods that it deleted, all of it.
func (e *Events) Deletions(ctx context.Context, namespace string, controller types.UID) ([]reported.Event, error) {
	list, err := e.list(ctx, namespace, fields.Set{"involvedObject.uid": string(controller), "reason": fact.DeletedPod})
	return told(list), err
}

// Scalings reads what a Deployment says of its ReplicaSets, all of it.
func (e *Events) Scalings(ctx context.Context, namespace, deployment string) ([]reported.Event, error) {
	list, err := e.list(ctx, namespace, fields.Set{"involvedObject.kind": "Deployment", "involvedObject.name": deployment, "reason": fact.ScaledSet})
	return told(list), err
}

func (e *Events) list(ctx context.Context, namespace string, which fields.Set) ([]v1.Event, error) {
	var list v1.EventList
	err := e.Client.rest.Get().Namespace(namespace).Resource("events").Param("fieldSelector", which.AsSelector().String()).
		Param("limit", fmt.Sprint(mostEvents)).Do(ctx).Into(&list)
	return list.Items, err
}

func told(list []v1.Event) []reported.Event {
	var all []reported.Event
	for i := range list {
		all = append(all, reported.Read(&list[i]))
	}
	return all
}

// fresh is what an event tells that it did not tell before.
func (e *Events) fresh(v *v1.Event) (reported.Event, bool) {
	t, was := reported.Read(v), e.counts[v.UID]
	if t.New <= was {
		return reported.Event{}, false
	}
	e.counts[v.UID] = t.New
	if t.New -= was; was > 0 {
		t.First = time.Time{}
	}
	return t, true
}
