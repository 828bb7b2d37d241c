package observe

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/shadow"
)

// restore learns from the journal what an earlier agent knew of the pods that were
// there, and gives when that agent was last heard of; zero where there was none.
func (l *loop) restore(j journal.Source) (last time.Time, err error) {
	gone := map[types.UID]bool{} // with whether lines of their logs may be kept
	for f, err := range j.Query(journal.Query{SinceCheckpoint: true}) {
		if err != nil {
			return last, fmt.Errorf("reading the journal: %w", err)
		}
		if f.Seen.After(last) {
			last = f.Seen
		}
		if f.Pod.UID == "" {
			continue
		}
		if _, ok := f.Body.(fact.ObjectGone); ok {
			gone[f.Pod.UID] = gone[f.Pod.UID] || l.allowsLines(f.Pod.UID)
		}
		l.relearn(f)
	}
	for uid, lines := range gone {
		l.forget(uid, lines)
	}
	return last, nil
}

func (l *loop) relearn(f fact.Fact) {
	uid := f.Pod.UID
	switch b := f.Body.(type) {
	case fact.Checkpoint:
		var state shadow.State
		if json.Unmarshal(b.State, &state) != nil || l.pods.Restore(f.Pod, b.Node) != nil {
			return
		}
		l.shadows[uid], l.since[uid] = state, 0
		if state.Status != nil {
			l.pods.SetStatus(uid, *state.Status)
		}
		if pod, ok := l.pods.Get(uid); ok {
			for name, c := range pod.Containers {
				l.runs.take(fact.Fact{Pod: f.Pod, Container: name, Attempt: c.Attempt, At: f.Seen, Seen: f.Seen, Body: fact.Started{ContainerID: c.ID}})
				if !c.Running {
					l.runs.take(fact.Fact{Pod: f.Pod, Container: name, Attempt: c.Attempt, At: f.Seen, Seen: f.Seen, Body: fact.Exited{ContainerID: c.ID}})
				}
			}
		}
		return
	case fact.Act:
		return
	case fact.StatusSeen:
		defer func() { l.pods.SetStatus(uid, b.Status) }()
	case fact.Admitted:
		l.told(f, "admitted")
	case fact.StartFailed:
		if b.Exited {
			l.told(f, "failed/"+b.ContainerID)
		}
	}
	l.pods.Take(f)
	l.runs.take(f)
	if _, ok := l.pods.Get(uid); ok {
		l.shadows[uid], _ = shadow.Step(l.shadows[uid], f)
	}
	l.since[uid]++
}

// vanished says of the pods that an earlier agent knew and the API server does not
// know that they are gone. It is to be called once the first list is in.
func (l *loop) vanished(has func(types.UID) bool) {
	for _, pod := range l.pods.All() {
		if !has(pod.Key.UID) {
			l.submit(fact.Fact{Pod: pod.Key, Body: fact.DeletionSeen{Gone: true}})
			l.submit(fact.Fact{Pod: pod.Key, Body: fact.ObjectGone{}})
		}
	}
}
