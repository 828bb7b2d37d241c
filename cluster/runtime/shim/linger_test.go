package main

import (
	"context"
	"errors"
	"testing"
	"time"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

// fakeTasks is a task service that always does as told, or fails.
type fakeTasks struct {
	taskapi.TTRPCTaskService
	fail error
}

func (f *fakeTasks) Create(context.Context, *taskapi.CreateTaskRequest) (*taskapi.CreateTaskResponse, error) {
	return &taskapi.CreateTaskResponse{}, f.fail
}

func (f *fakeTasks) Delete(context.Context, *taskapi.DeleteRequest) (*taskapi.DeleteResponse, error) {
	return &taskapi.DeleteResponse{}, f.fail
}

func (f *fakeTasks) Connect(context.Context, *taskapi.ConnectRequest) (*taskapi.ConnectResponse, error) {
	return &taskapi.ConnectResponse{}, nil
}

// clock is a timer that fires when the test says so.
type clock struct{ fire func() }

func (c *clock) Stop() bool {
	c.fire = nil
	return true
}

// shimUnderTest is a lingering service whose time is the test's.
type shimUnderTest struct {
	*lingering
	tasks *fakeTasks
	clock *clock
	ended bool
}

func newShimUnderTest() *shimUnderTest {
	s := &shimUnderTest{tasks: &fakeTasks{}, clock: &clock{}}
	s.lingering = newLingering(s.tasks, func() { s.ended = true })
	s.after = func(_ time.Duration, f func()) stopper {
		s.clock.fire = f
		return s.clock
	}
	s.mu.Lock()
	s.rearm()
	s.mu.Unlock()
	return s
}

// elapse lets the time of the timer pass, if it runs.
func (s *shimUnderTest) elapse() {
	if fire := s.clock.fire; fire != nil {
		s.clock.fire = nil
		fire()
	}
}

func (s *shimUnderTest) stay() error {
	_, err := s.Connect(context.Background(), &taskapi.ConnectRequest{ID: stayID})
	return err
}

// Whatever comes in whatever order: a shim that holds containers never ends, one
// that holds none ends when its time has passed, and one that ends says no to
// every newcomer.
func TestEndsOnlyWhenEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newShimUnderTest()
		held := map[string]bool{}
		id := rapid.SampledFrom([]string{"a", "b", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				c := id.Draw(t, "id")
				s.tasks.fail = nil
				if rapid.Bool().Draw(t, "fails") && !held[c] {
					s.tasks.fail = errors.New("runc failed")
				}
				_, err := s.Create(context.Background(), &taskapi.CreateTaskRequest{ID: c})
				if err == nil {
					held[c] = true
				}
				if s.ended && err == nil {
					t.Fatal("a container was created in a shim that ends")
				}
			},
			"delete": func(t *rapid.T) {
				c := id.Draw(t, "id")
				s.tasks.fail = nil
				if _, err := s.Delete(context.Background(), &taskapi.DeleteRequest{ID: c}); err != nil {
					t.Fatal(err)
				}
				delete(held, c)
			},
			"delete exec": func(t *rapid.T) {
				s.tasks.fail = nil
				if _, err := s.Delete(context.Background(), &taskapi.DeleteRequest{ID: id.Draw(t, "id"), ExecID: "e"}); err != nil {
					t.Fatal(err)
				}
			},
			"shutdown": func(t *rapid.T) {
				if _, err := s.Shutdown(context.Background(), &taskapi.ShutdownRequest{}); err != nil {
					t.Fatal(err)
				}
			},
			"stay": func(t *rapid.T) {
				if err := s.stay(); (err != nil) != s.ended {
					t.Fatalf("stay: %v, ended %v", err, s.ended)
				}
			},
			"time passes": func(t *rapid.T) {
				s.elapse()
				if len(held) == 0 && !s.ended {
					t.Fatal("an empty shim outlives its time")
				}
			},
			"": func(t *rapid.T) {
				if s.ended && len(held) > 0 {
					t.Fatalf("ended with %v", held)
				}
			},
		})
	})
}

// A sandbox that asked the shim to stay has the whole time before it.
func TestStayStartsTheTimeAnew(t *testing.T) {
	s := newShimUnderTest()
	old := s.clock.fire
	if err := s.stay(); err != nil {
		t.Fatal(err)
	}
	if old == nil || s.clock.fire == nil {
		t.Fatal("no timer runs")
	}
	if _, err := s.Create(context.Background(), &taskapi.CreateTaskRequest{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	s.elapse()
	if s.ended {
		t.Error("ended with a container")
	}
}
