package report

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// reasons are of the events that a recorder was given.
type reasons []string

func (r *reasons) Event(_ runtime.Object, _, reason, _ string) { *r = append(*r, reason) }

func TestEventsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var posted reasons
		l := &delayedRecorder{recorder: &posted}
		for _, reason := range []string{"Killing", "Unhealthy", "Created"} {
			l.Event(&v1.Pod{}, "", reason, "")
		}
		if l.mu.Lock(); len(posted) != 0 {
			t.Errorf("%v at once", posted)
		}
		l.mu.Unlock()
		time.Sleep(eventsLater + 1)
		synctest.Wait()
		l.Event(&v1.Pod{}, "", "Started", "")
		l.flush() // the agent ends
		time.Sleep(eventsLater + 1)
		synctest.Wait()
		if want := []string{"Killing", "Unhealthy", "Created", "Started"}; !slices.Equal(posted, want) {
			t.Errorf("posted %v, want %v", posted, want)
		}
	})
}
