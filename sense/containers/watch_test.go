package containers

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// scripted is a runtime with one container, whose stream and listings fail as told.
type scripted struct {
	criapi.RuntimeService
	mu     sync.Mutex
	status *runtimeapi.ContainerStatus
	stream func(ctx context.Context, events chan *runtimeapi.ContainerEventResponse) error
	fail   error
	lists  int
	full   int
}

func newScripted() *scripted {
	w := newWorld()
	w.create()
	c := w.containers["c0"]
	c.State = runtimeapi.ContainerState_CONTAINER_RUNNING
	return &scripted{status: c}
}

func (s *scripted) set(state runtimeapi.ContainerState, fail error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.State, s.fail = state, fail
}

// says has streams that begin from now on say something else.
func (s *scripted) says(stream func(context.Context, chan *runtimeapi.ContainerEventResponse) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stream = stream
}

// counted is how often containers were listed, and how often all of one was asked for.
func (s *scripted) counted() (lists, full int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.full
}

func (s *scripted) ListContainers(context.Context, *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	return []*runtimeapi.Container{{Id: s.status.Id, State: s.status.State, Labels: s.status.Labels, Metadata: s.status.Metadata}}, s.fail
}

func (s *scripted) ListPodSandbox(context.Context, *runtimeapi.PodSandboxFilter) ([]*runtimeapi.PodSandbox, error) {
	return nil, nil
}

func (s *scripted) ContainerStatus(context.Context, string, bool) (*runtimeapi.ContainerStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full++
	return &runtimeapi.ContainerStatusResponse{Status: copyStatus(s.status)}, nil
}

func (s *scripted) GetContainerEvents(ctx context.Context, events chan *runtimeapi.ContainerEventResponse, up func(runtimeapi.RuntimeService_GetContainerEventsClient)) error {
	up(nil)
	s.mu.Lock()
	stream := s.stream
	s.mu.Unlock()
	return stream(ctx, events)
}

// quietStream stays open and says nothing.
func quietStream(ctx context.Context, _ chan *runtimeapi.ContainerEventResponse) error {
	<-ctx.Done()
	return ctx.Err()
}

func watch(ctx context.Context, s *scripted) <-chan Event {
	return (&Client{name: "test", runtime: s}).Watch(ctx, nil, WatchOptions{})
}

func kinds(t *testing.T, events <-chan Event, n int) []EventKind {
	t.Helper()
	var got []EventKind
	for range n {
		got = append(got, (<-events).Kind)
	}
	return got
}

// TestWatchPollsARuntimeWithoutEvents: an older runtime has no stream.
func TestWatchPollsARuntimeWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newScripted()
		s.stream = func(context.Context, chan *runtimeapi.ContainerEventResponse) error {
			return grpcstatus.Error(codes.Unimplemented, "unknown method GetContainerEvents")
		}
		events := watch(ctx, s)
		if got := kinds(t, events, 2); !slices.Equal(got, []EventKind{ContainerChanged, Synced}) {
			t.Errorf("%v", got)
		}
		time.Sleep(30 * time.Second)
		began := time.Now()
		s.set(runtimeapi.ContainerState_CONTAINER_EXITED, nil)
		if e := <-events; e.Kind != ContainerChanged || e.Container.State != Exited || !e.Looked {
			t.Errorf("%+v", e)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("found after %v", took)
		}
		cancel()
		for range events {
		}
		synctest.Wait()
	})
}

// TestWatchCostsNothingAtRest: with a stream, two listings a minute and no status.
func TestWatchCostsNothingAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newScripted()
		s.stream = quietStream
		events := watch(ctx, s)
		kinds(t, events, 2)
		time.Sleep(10 * time.Second) // settled
		lists, full := s.counted()
		time.Sleep(10 * time.Minute)
		moreLists, moreFull := s.counted()
		if moreLists-lists > 10 {
			t.Errorf("%d looks in ten minutes", moreLists-lists)
		}
		if moreFull != full {
			t.Errorf("%d statuses asked for while nothing changed", moreFull-full)
		}
		cancel()
		for range events {
		}
		synctest.Wait()
	})
}

// TestWatchFindsWhatTheStreamDropped: the slow look is the safety net.
func TestWatchFindsWhatTheStreamDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newScripted()
		s.stream = quietStream
		events := watch(ctx, s)
		kinds(t, events, 2)
		time.Sleep(10 * time.Second)
		began := time.Now()
		s.set(runtimeapi.ContainerState_CONTAINER_EXITED, nil)
		if e := <-events; e.Kind != ContainerChanged || e.Container.State != Exited || time.Since(began) > time.Minute {
			t.Errorf("%+v after %v", e, time.Since(began))
		}
		cancel()
		for range events {
		}
		synctest.Wait()
	})
}

// TestWatchTellsAGapOnce, however often the runtime is asked in vain.
func TestWatchTellsAGapOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newScripted()
		broken := make(chan struct{})
		s.stream = func(ctx context.Context, _ chan *runtimeapi.ContainerEventResponse) error {
			select {
			case <-broken:
				return grpcstatus.Error(codes.Unavailable, "connection refused")
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		events := watch(ctx, s)
		kinds(t, events, 2)
		away := errors.New("connection refused")
		s.set(runtimeapi.ContainerState_CONTAINER_RUNNING, away)
		close(broken)
		lost := <-events
		if lost.Kind != Lost || lost.Err == nil {
			t.Errorf("%+v", lost)
		}
		time.Sleep(5 * time.Minute)
		select {
		case e := <-events:
			t.Errorf("told again: %+v", e)
		default:
		}
		s.says(quietStream)
		s.set(runtimeapi.ContainerState_CONTAINER_EXITED, nil)
		began := time.Now()
		if got := kinds(t, events, 1); got[0] != ContainerChanged {
			t.Errorf("%v", got)
		}
		e := <-events
		if e.Kind != Synced || !e.From.Equal(lost.At) || e.Err == nil || time.Since(began) > 3*time.Second {
			t.Errorf("%+v after %v", e, time.Since(began))
		}
		cancel()
		for range events {
		}
		synctest.Wait()
	})
}

// TestWatchReadsOnForASlowReceiver: a runtime whose events are not read would stall.
func TestWatchReadsOnForASlowReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := newWorld()
		for range 500 {
			w.create()
		}
		s := newScripted()
		sent := make(chan struct{})
		s.stream = func(ctx context.Context, events chan *runtimeapi.ContainerEventResponse) error {
			for _, e := range w.events {
				events <- e
			}
			close(sent)
			return quietStream(ctx, events)
		}
		w.clock = time.Now().Add(time.Hour).UnixNano()
		for _, e := range w.events {
			e.CreatedAt = w.clock
		}
		events := watch(ctx, s)
		<-sent // although nobody has received anything
		seen := map[string]bool{}
		for len(seen) < 500 {
			if e := <-events; e.Kind == ContainerChanged {
				if seen[e.Container.ID] && e.Container.State == Created {
					t.Fatalf("%s told twice", e.Container.ID)
				}
				seen[e.Container.ID] = true
			}
		}
		cancel()
		for range events {
		}
		synctest.Wait()
	})
}
