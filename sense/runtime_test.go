package sense

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense/containers"
)

// events is a runtime that tells what it is given.
type events chan containers.Event

func (e events) Watch(context.Context, *containers.Snapshot, containers.WatchOptions) <-chan containers.Event {
	return e
}

func ended(pod, id string) containers.Event {
	return containers.Event{Kind: containers.ContainerChanged, Container: &containers.ContainerView{
		ID: id, Pod: fact.Pod{UID: types.UID("u" + pod)}, State: containers.Exited,
	}}
}

// The exit of one pod's container does not wait for what the kernel has to say of
// another's; what is told of one pod keeps its order.
func TestExitsDoNotWaitForEachOther(t *testing.T) {
	told, kernel, runtime := make(chan fact.Fact, 3), make(chan bool), make(events, 3)
	s := &Runtime{Client: runtime, Log: slog.New(slog.DiscardHandler), Complete: func(_ context.Context, _ pods.Registry, e *fact.Exited) {
		if e.ContainerID == "slow" {
			<-kernel
		}
	}}
	runtime <- ended("slow", "slow")
	runtime <- containers.Event{Kind: containers.SandboxGone, Sandbox: &containers.SandboxView{Pod: fact.Pod{UID: "uslow"}}}
	runtime <- ended("quick", "quick")
	close(runtime)
	done := make(chan error)
	go func() { done <- s.Run(t.Context(), pods.New(), func(f fact.Fact) { told <- f }) }()
	if f := <-told; f.Pod.UID != "uquick" {
		t.Fatalf("the first that was told is %+v", f)
	}
	close(kernel)
	for _, want := range []fact.Kind{fact.Exited{}.Kind(), fact.SandboxLost{}.Kind()} {
		if f := <-told; f.Pod.UID != "uslow" || f.Body.Kind() != want {
			t.Errorf("told %s of %s, not %s", f.Body.Kind(), f.Pod.UID, want)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A wait for the kernel's word ends with the source.
func TestCompletingHonoursItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	tries := 0
	until(ctx, time.Hour, time.Millisecond, func() bool { tries++; return false })
	if tries != 1 || time.Since(began) > time.Minute {
		t.Errorf("tried %d times in %v", tries, time.Since(began))
	}
}
