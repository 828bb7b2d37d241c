package cri_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/cri/critest"
	"whylet.dev/whylet/sense/containers"
)

// follow starts to watch from now on, and gives what is told about one pod.
func follow(t testing.TB, n *critest.Node, o containers.WatchOptions) <-chan containers.Event {
	t.Helper()
	since, err := n.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	events := n.Watch(ctx, &since, o)
	if e := next(t, events); e.Kind != containers.Synced {
		t.Fatalf("first event %+v", e)
	}
	return events
}

func next(t testing.TB, events <-chan containers.Event) containers.Event {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatal("the watch has ended")
		}
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no event within 30 s")
	}
	return containers.Event{}
}

// short writes an event as a word or two.
func short(e containers.Event) string {
	switch e.Kind {
	case containers.ContainerChanged:
		return fmt.Sprintf("%s/%d %s", e.Container.Name, e.Container.Attempt, e.Container.State)
	case containers.ContainerGone:
		return fmt.Sprintf("%s/%d gone", e.Container.Name, e.Container.Attempt)
	case containers.SandboxChanged:
		return fmt.Sprintf("sandbox ready=%v", e.Sandbox.Ready)
	case containers.SandboxGone:
		return "sandbox gone"
	}
	return string(e.Kind)
}

func TestWatchTellsALife(t *testing.T) {
	n := critest.Start(t)
	events := follow(t, n, containers.WatchOptions{})
	p := n.RunPod(t, nil, critest.Sh("main", "exit 4"))
	v := p.Run("main", 0)
	if err := n.Remove(t.Context(), v, false); err != nil {
		t.Fatal(err)
	}
	if err := n.StopSandbox(t.Context(), p.Sandbox.ID); err != nil {
		t.Fatal(err)
	}
	if err := n.RemoveSandbox(t.Context(), p.Sandbox.ID); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) < 7 {
		e := next(t, events)
		got = append(got, short(e))
		if e.Container != nil && (e.Container.Pod.UID != p.UID || e.Container.Sandbox != p.Sandbox.ID) {
			t.Errorf("whose container? %+v", e.Container)
		}
		if e.Kind == containers.ContainerChanged && e.Container.State == cri.Exited && e.Container.ExitCode != 4 {
			t.Errorf("exit code %d", e.Container.ExitCode)
		}
	}
	want := []string{
		"sandbox ready=true", "main/0 created", "main/0 running", "main/0 exited", "main/0 gone", "sandbox ready=false", "sandbox gone",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWatchSurvivesTheRuntime ends containerd while a container runs. It exits
// meanwhile, and the watch finds out by itself.
func TestWatchSurvivesTheRuntime(t *testing.T) {
	n := critest.Start(t)
	p := n.RunPod(t, nil, critest.Sh("main", "while [ ! -e /proc/1/root/tmp/go ]; do sleep 0.05; done; exit 5"), critest.Sh("other", "sleep 100"))
	id := p.Start("main", 0)
	p.Start("other", 0)
	_, pid, err := n.Inspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	events := follow(t, n, containers.WatchOptions{})
	n.Interrupt(t, func() {
		if e := next(t, events); e.Kind != containers.Lost || e.Err == nil {
			t.Errorf("while the runtime is down: %+v", e)
		}
		touch(t, "/proc/"+itoa(pid)+"/root/tmp/go")
		gone(t, pid)
	})
	e := next(t, events)
	if short(e) != "main/0 exited" || !e.Looked {
		t.Fatalf("after the gap: %s, looked %v", short(e), e.Looked)
	}
	// containerd does not learn how it ended: it removes a shim that it finds without
	// processes, and with it the exit code. It says so, and so do we.
	if e.Container.ExitCode != 5 && e.Container.Reason != "Unknown" {
		t.Errorf("an invented end: %+v", e.Container)
	}
	e = next(t, events)
	if e.Kind != containers.Synced || e.Err == nil || e.From.IsZero() || !e.From.Before(e.At) {
		t.Errorf("end of the gap: %+v", e)
	}
	if v := p.Start("other", 1); v == "" {
		t.Error("the connection did not come back")
	}
	for short(e) != "other/1 running" {
		e = next(t, events)
	}
}

// TestWatchFromNothing tells everything there is, and then that that was all.
func TestWatchFromNothing(t *testing.T) {
	n := critest.Start(t)
	p := n.RunPod(t, nil, critest.Sh("main", "sleep 100"), critest.Sh("done", "exit 6"))
	p.Start("main", 0)
	p.Run("done", 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for e := range n.Watch(ctx, nil, containers.WatchOptions{}) {
		if e.Kind == containers.Synced {
			break
		}
		if !e.Looked {
			t.Errorf("%s was not found by looking", short(e))
		}
		got = append(got, short(e))
	}
	slices.Sort(got)
	if want := []string{"done/0 exited", "main/0 running", "sandbox ready=true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	n := critest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	events := n.Watch(ctx, nil, containers.WatchOptions{})
	cancel()
	for {
		select {
		case _, ok := <-events:
			if !ok {
				return
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the channel is still open")
		}
	}
}
