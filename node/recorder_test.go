package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"whylet.dev/whylet/node/object"
)

// A write without an answer keeps the events of one pod waiting, and nobody else's.
func TestRecorderQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var posted []string
		failed := false
		client := fake.NewClientset()
		client.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			e := a.(clienttesting.CreateAction).GetObject().(*v1.Event)
			if e.InvolvedObject.Name == "stalled" && !failed {
				failed = true
				return true, nil, errors.New("http2: client connection lost")
			}
			posted = append(posted, e.InvolvedObject.Name+" "+e.Reason)
			return true, e, nil
		})
		closing := &closers{}
		defer closing.close()
		r := newRecorder(t.Context(), ground{client: client}, closing)
		post := func(name, reason string) {
			r.Event(&v1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: name, UID: types.UID(name)}, v1.EventTypeNormal, reason, reason)
		}
		post("stalled", "Pulled")
		post("stalled", "Started")
		for i := range 40 {
			post(fmt.Sprint("pod-", i), "Started")
		}
		synctest.Wait()
		mu.Lock()
		var waiting []string
		for i := range 40 {
			if name := fmt.Sprint("pod-", i); !slices.Contains(posted, name+" Started") {
				waiting = append(waiting, name)
			}
		}
		if want := []string{"pod-14", "pod-29"}; !slices.Equal(waiting, want) {
			t.Errorf("behind an event that is tried again wait those of %q, not of %q", waiting, want)
		}
		mu.Unlock()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		own := slices.DeleteFunc(posted, func(s string) bool { return !strings.HasPrefix(s, "stalled") })
		if !slices.Equal(own, []string{"stalled Pulled", "stalled Started"}) {
			t.Errorf("posted in the order %q", own)
		}
	})
}

// The events of registration are posted before there is a Node object, and nothing waits for it.
func TestNodeEventDoesNotWaitForRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		posted := record.NewFakeRecorder(1)
		r := reports{own: object.NewOwn(t.Context()), recorder: posted}
		began := time.Now()
		r.nodeEvent("vm")(object.Event{Type: v1.EventTypeNormal, Reason: "NodeHasNoDiskPressure"})
		if waited := time.Since(began); waited > 0 || len(posted.Events) != 1 {
			t.Errorf("%d events after %s", len(posted.Events), waited)
		}
	})
}
