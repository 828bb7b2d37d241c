package report

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// eventsLater is how long after a turn its events are posted, at most. They go through
// the same API server into the same database as the status, which tells who serves,
// and written at once they cost it some two milliseconds.
const eventsLater = 20 * time.Millisecond

// delayedRecorder posts events in the order they come in, a little later. Safe for concurrent
// use; it never blocks, as the recorder does not.
type delayedRecorder struct {
	recorder poster

	mu      sync.Mutex
	waiting []func()
}

// Event is the recorder's Event.
func (l *delayedRecorder) Event(object runtime.Object, kind, reason, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, func() { l.recorder.Event(object, kind, reason, message) })
	if len(l.waiting) == 1 {
		time.AfterFunc(eventsLater, l.flush)
	}
}

// flush posts what waits.
func (l *delayedRecorder) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, post := range l.waiting {
		post()
	}
	l.waiting = nil
}
