package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apievents "github.com/containerd/containerd/api/events"
	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"
	k8stypes "k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/sense/containers"
)

// standIn answers as a runtime, and notes what it was asked.
type standIn struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	eventsapi.UnimplementedEventsServer

	mu         sync.Mutex
	asked      []string
	containers map[string]*runtimeapi.ContainerStatus
	events     chan *types.Envelope
	heard      chan struct{}
}

func (s *standIn) note(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, method)
}

func (s *standIn) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "containerd", RuntimeVersion: "1.6.0"}, nil
}

func (s *standIn) ListContainers(context.Context, *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &runtimeapi.ListContainersResponse{}
	for _, c := range s.containers {
		r.Containers = append(r.Containers, &runtimeapi.Container{Id: c.Id, Labels: c.Labels, Annotations: c.Annotations, Metadata: c.Metadata, State: c.State})
	}
	return r, nil
}

func (s *standIn) ContainerStatus(_ context.Context, q *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.containers[q.ContainerId]
	if !ok {
		return nil, status.Error(codes.NotFound, "no such container")
	}
	copied, _ := proto.Clone(c).(*runtimeapi.ContainerStatus)
	r := &runtimeapi.ContainerStatusResponse{Status: copied}
	if q.Verbose {
		r.Info = map[string]string{"info": fmt.Sprintf(`{"pid": 1, "runtimeSpec": {"process": {"env": ["MODE=%s"]}}}`, c.Annotations["mode"])}
	}
	return r, nil
}

func (s *standIn) Subscribe(_ *eventsapi.SubscribeRequest, stream eventsapi.Events_SubscribeServer) error {
	close(s.heard)
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case e := <-s.events:
			if err := stream.Send(e); err != nil {
				return err
			}
		}
	}
}

func (s *standIn) set(id string, change func(*runtimeapi.ContainerStatus)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.containers[id]
	if c == nil {
		c = &runtimeapi.ContainerStatus{
			Id: id, Metadata: &runtimeapi.ContainerMetadata{Name: "app"},
			Labels:      map[string]string{labelUID: "u", labelPod: "web", labelNamespace: "shop", labelContainer: "app"},
			Annotations: map[string]string{noteRestarts: "2"},
		}
		s.containers[id] = c
	}
	change(c)
}

func (s *standIn) tell(t *testing.T, topic string, body proto.Message) {
	t.Helper()
	packed, err := anypb.New(body)
	if err != nil {
		t.Fatal(err)
	}
	s.events <- &types.Envelope{Timestamp: timestamppb.Now(), Namespace: "k8s.io", Topic: topic, Event: packed}
}

// serve has a stand-in listen at a socket.
func serve(t *testing.T) (socket string, s *standIn) {
	t.Helper()
	s = &standIn{containers: map[string]*runtimeapi.ContainerStatus{}, events: make(chan *types.Envelope, 8), heard: make(chan struct{})}
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, q any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			s.note(info.FullMethod)
			return h(ctx, q)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			s.note(info.FullMethod)
			return h(srv, stream)
		}))
	runtimeapi.RegisterRuntimeServiceServer(server, s)
	eventsapi.RegisterEventsServer(server, s)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return socket, s
}

func begin(t *testing.T) (*standIn, func(fact.Kind) fact.Fact, *[]fact.Fact) {
	t.Helper()
	socket, s := serve(t)
	client, err := Dial(context.Background(), "unix://"+socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithCancel(context.Background())
	facts := make(chan fact.Fact, 64)
	var all []fact.Fact
	var run sync.WaitGroup
	source := Source{Client: client, Log: slog.New(slog.DiscardHandler), Varies: func(uid k8stypes.UID, name string) bool { return uid == "u" && name == "app" }, LastSaid: func(path string) fact.LogSaid {
		return containers.LastSaid(containers.ContainerView{LogPath: path})
	}}
	run.Go(func() { _ = source.Run(ctx, func(f fact.Fact) { facts <- f }) })
	t.Cleanup(func() { cancel(); run.Wait() })
	<-s.heard
	return s, func(kind fact.Kind) fact.Fact {
		t.Helper()
		for {
			select {
			case f := <-facts:
				all = append(all, f)
				if f.Body.Kind() == kind {
					return f
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("no %s came", kind)
			}
		}
	}, &all
}

func runs(c *runtimeapi.ContainerStatus) {
	c.State, c.StartedAt = runtimeapi.ContainerState_CONTAINER_RUNNING, time.Now().UnixNano()
}

// A run is told from start to end, once, with the end of its log; and of all calls of
// a runtime none was made but those that read.
func TestARunIsToldAndNothingIsChanged(t *testing.T) {
	s, wait, all := begin(t)
	log := filepath.Join(t.TempDir(), "0.log")
	if err := os.WriteFile(log, []byte("2026-11-22T23:00:00.0Z stdout F one\n2026-11-22T23:00:00.1Z stderr P tw\n2026-11-22T23:00:00.2Z stderr F o password=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.set("c1", func(c *runtimeapi.ContainerStatus) { runs(c); c.LogPath = log })
	s.tell(t, "/tasks/start", &apievents.TaskStart{ContainerID: "c1", Pid: 1})
	f := wait("Started")
	if b, ok := f.Body.(fact.Started); !ok || b.ContainerID != "containerd://c1" || f.Pod.UID != "u" || f.Container != "app" || f.Attempt != 2 {
		t.Errorf("%+v", f)
	}
	s.tell(t, "/tasks/exit", &apievents.TaskExit{ContainerID: "c1", ID: "an-exec", Pid: 5, ExitStatus: 1})
	s.tell(t, "/tasks/exit", &apievents.TaskExit{ContainerID: "c1", ID: "c1", Pid: 1, ExitStatus: 3, ExitedAt: timestamppb.Now()})
	s.tell(t, "/tasks/exit", &apievents.TaskExit{ContainerID: "c1", ID: "c1", Pid: 1, ExitStatus: 3, ExitedAt: timestamppb.Now()})
	s.set("c1", func(c *runtimeapi.ContainerStatus) { // the status comes later than the event
		c.State, c.ExitCode, c.Reason, c.FinishedAt = runtimeapi.ContainerState_CONTAINER_EXITED, 3, "Error", time.Now().UnixNano()
	})
	b, ok := wait("Exited").Body.(fact.Exited)
	if !ok || b.ExitCode != 3 || b.RuntimeReason != "Error" || len(b.LastLines) != 2 || b.LastLines[0] != "one" || strings.Contains(b.LastLines[1], "secret") {
		t.Errorf("%+v", b)
	}
	s.set("c2", func(c *runtimeapi.ContainerStatus) { runs(c); c.Annotations[noteRestarts] = "3" })
	s.tell(t, "/tasks/start", &apievents.TaskStart{ContainerID: "c2", Pid: 1})
	wait("Started")
	if n := len(*all); n != 3 {
		t.Errorf("%d facts: %+v", n, *all)
	}
	mayAsk := []string{
		"/runtime.v1.RuntimeService/Version", "/runtime.v1.RuntimeService/ListContainers", "/runtime.v1.RuntimeService/ContainerStatus", "/containerd.services.events.v1.Events/Subscribe",
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, method := range s.asked {
		if !slices.Contains(mayAsk, method) {
			t.Errorf("%s was called", method)
		}
	}
}

// A start whose status lags behind is told when it says so: else a container's process
// would not be known until the next list, half a minute later.
func TestAStartWhoseStatusIsLate(t *testing.T) {
	s, wait, _ := begin(t)
	s.set("c1", func(c *runtimeapi.ContainerStatus) { c.State = runtimeapi.ContainerState_CONTAINER_CREATED })
	s.tell(t, "/tasks/start", &apievents.TaskStart{ContainerID: "c1", Pid: 1})
	time.AfterFunc(50*time.Millisecond, func() { s.set("c1", runs) })
	if f := wait("Started"); f.At.IsZero() {
		t.Errorf("%+v", f)
	}
}

// A run's variables are compared with those of the run before it, also where it ended at once.
func TestARunThatWasGivenOtherVariables(t *testing.T) {
	s, wait, _ := begin(t)
	s.set("c1", func(c *runtimeapi.ContainerStatus) { runs(c); c.Annotations["mode"] = "good" })
	s.tell(t, "/tasks/start", &apievents.TaskStart{ContainerID: "c1", Pid: 1})
	wait("Started")
	s.set("c2", func(c *runtimeapi.ContainerStatus) {
		runs(c)
		c.State, c.ExitCode, c.Annotations[noteRestarts], c.Annotations["mode"] = runtimeapi.ContainerState_CONTAINER_EXITED, 1, "3", "bad"
	})
	s.tell(t, "/tasks/start", &apievents.TaskStart{ContainerID: "c2", Pid: 2})
	if b, ok := wait("Started").Body.(fact.Started); !ok || !b.Compared || !slices.Equal(b.OtherVariables, []string{"MODE"}) {
		t.Errorf("%+v", b)
	}
}

// What was removed before its status could be read ended as the event says.
func TestAnEndWhoseContainerIsGone(t *testing.T) {
	s, wait, _ := begin(t)
	s.set("c1", runs)
	s.tell(t, "/tasks/start", &apievents.TaskStart{ContainerID: "c1", Pid: 1})
	wait("Started")
	s.tell(t, "/tasks/exit", &apievents.TaskExit{ContainerID: "c1", ID: "c1", ExitStatus: 137, ExitedAt: timestamppb.Now()})
	time.AfterFunc(50*time.Millisecond, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.containers, "c1")
	})
	if b, ok := wait("Exited").Body.(fact.Exited); !ok || b.ExitCode != 137 {
		t.Errorf("%+v", b)
	}
}

// What is there at the beginning is told with the runs of a container in their order, and
// then it is known that all was told.
func TestWhatWasThere(t *testing.T) {
	socket, s := serve(t)
	for attempt := range 20 {
		id := fmt.Sprintf("c%d", attempt)
		s.set(id, func(c *runtimeapi.ContainerStatus) {
			runs(c)
			c.Annotations[noteRestarts] = strconv.Itoa(attempt)
			if attempt < 19 {
				c.State, c.FinishedAt = runtimeapi.ContainerState_CONTAINER_EXITED, time.Now().UnixNano()
			}
		})
	}
	client, err := Dial(t.Context(), "unix://"+socket)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var attempts []int32
	var mu sync.Mutex
	source := Source{Client: client, Log: slog.New(slog.DiscardHandler), Told: cancel}
	_ = source.Run(ctx, func(f fact.Fact) {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := f.Body.(fact.Started); ok {
			attempts = append(attempts, f.Attempt)
		}
	})
	if len(attempts) != 20 || !slices.IsSorted(attempts) {
		t.Errorf("%v", attempts)
	}
}
