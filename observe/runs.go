package observe

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// runs knows the newest runs of each container, so that what is told with a time can
// be given to the run that it is about. Safe for concurrent use.
type runs struct {
	mu  sync.Mutex
	all map[types.UID]map[string][]run
}

type run struct {
	attempt    int32
	id         string // the container's, with scheme
	start, end time.Time
	over       bool
}

// mostRuns bounds the runs that are remembered of one container.
const mostRuns = 8

func newRuns() *runs { return &runs{all: map[types.UID]map[string][]run{}} }

// take learns from a fact.
func (r *runs) take(f fact.Fact) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch b := f.Body.(type) {
	case fact.Started:
		r.set(f, func(one *run) { one.id, one.start = b.ContainerID, f.When() })
	case fact.Exited:
		r.set(f, func(one *run) {
			one.id, one.end, one.over = b.ContainerID, f.When(), true
			if one.start.IsZero() {
				one.start = b.StartedAt
			}
		})
	case fact.ObjectGone:
		delete(r.all, f.Pod.UID)
	}
}

// set changes a run, which is made where it is not known. The caller holds mu.
func (r *runs) set(f fact.Fact, change func(*run)) {
	of := r.all[f.Pod.UID]
	if of == nil {
		of = map[string][]run{}
		r.all[f.Pod.UID] = of
	}
	list := of[f.Container]
	at := len(list)
	for at > 0 && list[at-1].attempt >= f.Attempt {
		at--
	}
	if at == len(list) || list[at].attempt != f.Attempt {
		list = append(list[:at:at], append([]run{{attempt: f.Attempt}}, list[at:]...)...)
	}
	change(&list[at])
	of[f.Container] = list[max(0, len(list)-mostRuns):]
}

// known finds a run by its container's id.
func (r *runs) known(uid types.UID, container, id string) (run, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all[uid][container] {
		if one.id == id {
			return one, true
		}
	}
	return run{}, false
}

// id is the container's id in a run; empty where it is not known.
func (r *runs) id(uid types.UID, container string, attempt int32) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all[uid][container] {
		if one.attempt == attempt {
			return one.id
		}
	}
	return ""
}

// second is how exact the times of events are.
const second = time.Second

// at finds the run that something told of a moment, known to the second, is about:
// of several the first that had not ended by then, else the last that had begun.
func (r *runs) at(uid types.UID, container string, at time.Time) (attempt int32, ok bool) {
	return r.within(uid, container, at, second)
}

// exactly is at for a moment that is known to the microsecond.
func (r *runs) exactly(uid types.UID, container string, at time.Time) (attempt int32, ok bool) {
	return r.within(uid, container, at, 0)
}

func (r *runs) within(uid types.UID, container string, at time.Time, exact time.Duration) (attempt int32, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.all[uid][container]
	for _, one := range list {
		begun := one.start.IsZero() || !one.start.After(at.Add(exact))
		if begun && (!one.over || !one.end.Before(at)) {
			return one.attempt, true
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if !list[i].start.After(at.Add(exact)) {
			return list[i].attempt, true
		}
	}
	if len(list) > 0 {
		return list[0].attempt, true
	}
	return 0, false
}
