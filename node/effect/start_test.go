package effect

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/lanes"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense/containers"
)

// hooking is a container whose postStart hook takes an hour.
func hooking() (pods.Pod, fact.Fact) {
	object := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "c", Lifecycle: &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 3600}}},
	}}}}
	p := pods.Pod{Key: fact.Pod{UID: "u"}, Object: object, Containers: map[string]pods.Container{"c": {ID: "x://1", Running: true}}}
	return p, fact.Fact{ID: 1, Pod: p.Key, Container: "c", Body: fact.Start{}}
}

// effects end with the agent; what they say comes by the channel.
func effects(ctx context.Context) (*Effects, chan fact.Fact) {
	said := make(chan fact.Fact, 1)
	return &Effects{
		Config: Config{Runtime: &cri.Client{Client: &containers.Client{}}, Submit: func(f fact.Fact) { said <- f }},
		ctx:    ctx, lanes: lanes.New[lane](ctx), starting: map[startKey]context.CancelFunc{},
	}, said
}

// A container that is killed does not keep its pod until its postStart hook is over:
// what is torn down waits for the hook.
func TestPostStartHookEndsWithItsContainer(t *testing.T) {
	e, said := effects(t.Context())
	p, start := hooking()
	e.Act(p, start)
	e.endStart(startKey{"u", "c"})
	select {
	case f := <-said:
		if ran, ok := f.Body.(fact.HookRan); !ok || ran.Error == "" {
			t.Errorf("it says %+v", f)
		}
	case <-time.After(time.Minute):
		t.Error("the hook goes on")
	}
}

// An agent that ends has not seen a hook fail: the container would be killed for it.
func TestHookThatTheAgentsEndCutsShort(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e, said := effects(ctx)
	p, start := hooking()
	cancel()
	e.hook(ctx, p, start, cri.Hook{Kind: fact.PostStart, Container: &p.Object.Spec.Containers[0], ContainerID: "x://1"})
	if len(said) > 0 {
		t.Errorf("it says %+v", <-said)
	}
}
