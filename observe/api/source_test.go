package api

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"whylet.dev/whylet/fact"
)

// aKubelet serves the pods API.
type aKubelet struct {
	v1alpha1.UnimplementedPodsServer

	mu       sync.Mutex
	pods     map[string]*v1.Pod
	streamed chan *v1alpha1.WatchPodsEvent
}

func (k *aKubelet) all() (raw [][]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		one, _ := p.Marshal() // it was made here
		raw = append(raw, one)
	}
	return raw
}

func (k *aKubelet) WatchPods(_ *v1alpha1.WatchPodsRequest, s grpc.ServerStreamingServer[v1alpha1.WatchPodsEvent]) error {
	for _, raw := range k.all() {
		if err := s.Send(&v1alpha1.WatchPodsEvent{Type: v1alpha1.EventType_ADDED, Pod: raw}); err != nil {
			return err
		}
	}
	if err := s.Send(&v1alpha1.WatchPodsEvent{Type: v1alpha1.EventType_INITIAL_SYNC_COMPLETE}); err != nil {
		return err
	}
	for {
		select {
		case <-s.Context().Done():
			return status.FromContextError(s.Context().Err()).Err()
		case event := <-k.streamed:
			if err := s.Send(event); err != nil {
				return err
			}
		}
	}
}

func (k *aKubelet) ListPods(context.Context, *v1alpha1.ListPodsRequest) (*v1alpha1.ListPodsResponse, error) {
	return &v1alpha1.ListPodsResponse{Pods: k.all()}, nil
}

// set changes a pod; nil removes it.
func (k *aKubelet) set(name string, change func(*v1.Pod)) *v1.Pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	if change == nil {
		delete(k.pods, name)
		return nil
	}
	p := k.pods[name]
	if p == nil {
		p = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: "u"}, Spec: v1.PodSpec{NodeName: "n", Containers: []v1.Container{{Name: "app"}}}}
	}
	p = p.DeepCopy()
	change(p)
	k.pods[name] = p
	return p
}

// stream sends an event about a pod, as kubelet does where its status changed.
func (k *aKubelet) stream(t *testing.T, of v1alpha1.EventType, pod *v1.Pod) {
	t.Helper()
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	select {
	case k.streamed <- &v1alpha1.WatchPodsEvent{Type: of, Pod: raw}:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody watches")
	}
}

func serve(t *testing.T, socket string, k v1alpha1.PodsServer) *grpc.Server {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	if k != nil {
		v1alpha1.RegisterPodsServer(s, k)
	}
	go func() { _ = s.Serve(listener) }() // it ends with Stop
	t.Cleanup(s.Stop)
	return s
}

func dial(socket string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", socket) }
}

// watched runs a watch of a node's pods, with what it tells.
type watched struct {
	t     *testing.T
	asked func() []string
	facts chan fact.Fact
}

func watchBoth(t *testing.T, socket string) *watched {
	t.Helper()
	c, asked := server(t)
	w := &watched{t: t, asked: asked, facts: make(chan fact.Fact, 64)}
	ctx, cancel := context.WithCancel(t.Context())
	watch := Watch{
		Client: c, Node: "n", Log: slog.New(slog.DiscardHandler), Changed: func(*v1.Pod, bool) {}, Kubelet: dial(socket),
		compare: 20 * time.Millisecond, again: 20 * time.Millisecond,
	}
	var run sync.WaitGroup
	run.Go(func() { _ = watch.Run(ctx, func(f fact.Fact) { w.facts <- f }) })
	t.Cleanup(func() { cancel(); run.Wait() })
	return w
}

// until waits for a fact about a pod.
func (w *watched) until(name string, kind fact.Kind) fact.Fact {
	w.t.Helper()
	for {
		select {
		case f := <-w.facts:
			if f.Pod.Name == name && f.Body.Kind() == kind {
				return f
			}
		case <-time.After(20 * time.Second):
			w.t.Fatalf("no %s of pod %s", kind, name)
		}
	}
}

func TestPodsAreReadAtKubelet(t *testing.T) {
	k := &aKubelet{pods: map[string]*v1.Pod{}, streamed: make(chan *v1alpha1.WatchPodsEvent)}
	k.set("api", func(p *v1.Pod) {
		p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "PASSWORD", Value: "secret"}}
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: "ContainersNotReady", Message: "Kubelet is initializing pod containers"}}
	})
	socket := filepath.Join(t.TempDir(), "pods-api.sock")
	serve(t, socket, k)
	w := watchBoth(t, socket)
	if f := w.until("api", "SpecSeen").Body.(fact.SpecSeen); f.Object.Spec.Containers[0].Env[0].Value == "secret" {
		t.Errorf("%+v", f)
	}
	if f := w.until("api", "StatusSeen").Body.(fact.StatusSeen); f.Status.Conditions[0].Status != v1.ConditionTrue {
		t.Errorf("kubelet began, and the pod is said to be not ready: %+v", f)
	}
	// What is streamed, and what is not.
	k.stream(t, v1alpha1.EventType_MODIFIED, k.set("api", func(p *v1.Pod) { p.Status.Reason = "changed" }))
	w.until("api", "StatusSeen")
	k.set("api", func(p *v1.Pod) { p.Labels = map[string]string{"new": "label"} })
	w.until("api", "SpecSeen")
	// Its end on the node is not that of the object, until that is gone.
	k.stream(t, v1alpha1.EventType_DELETED, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "api", Namespace: "shop", UID: "u"}})
	k.stream(t, v1alpha1.EventType_MODIFIED, k.set("api", func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }))
	w.until("api", "StatusSeen")
	k.set("api", nil)
	w.until("api", "DeletionSeen")
	w.until("api", "ObjectGone")
	// Of one that was deleted it is, though kubelet knows it for a while.
	over, grace := metav1.Now(), int64(1)
	deleted := k.set("job", func(p *v1.Pod) { p.UID, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = "v", &over, &grace })
	k.stream(t, v1alpha1.EventType_MODIFIED, deleted)
	k.stream(t, v1alpha1.EventType_DELETED, deleted)
	w.until("job", "ObjectGone")
	if asked := w.asked(); len(asked) > 0 {
		t.Errorf("the API server was asked: %v", asked)
	}
}

func TestTheAPIServerStandsIn(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "pods-api.sock")
	k := &aKubelet{pods: map[string]*v1.Pod{}, streamed: make(chan *v1alpha1.WatchPodsEvent)}
	k.set("own", func(*v1.Pod) {})
	first := serve(t, socket, k)
	w := watchBoth(t, socket)
	w.until("own", "SpecSeen")
	first.Stop()
	w.until("web", "SpecSeen") // the API server's only pod
	if asked := w.asked(); !slices.Contains(asked, "GET /api/v1/pods") {
		t.Errorf("asked %v", asked)
	}
	serve(t, socket, k)
	w.until("own", "SpecSeen")
}

// An informer knows pods by name: the old pod has to be deleted before the new one is added.
func TestAPodIsMadeAgain(t *testing.T) {
	k := &aKubelet{pods: map[string]*v1.Pod{}, streamed: make(chan *v1alpha1.WatchPodsEvent)}
	k.set("db-0", func(*v1.Pod) {})
	socket := filepath.Join(t.TempDir(), "pods-api.sock")
	serve(t, socket, k)
	s, err := openKubelet(t.Context(), dial(socket), "n")
	if err != nil {
		t.Fatal(err)
	}
	go s.run(20 * time.Millisecond)
	t.Cleanup(s.Stop)
	k.set("db-0", nil)
	k.set("db-0", func(p *v1.Pod) { p.UID = "v" })
	for _, want := range []string{"DELETED u", "ADDED v"} {
		event := <-s.ResultChan()
		if got := string(event.Type) + " " + string(event.Object.(*v1.Pod).UID); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}

// refusing is a kubelet that has not begun.
type refusing struct {
	v1alpha1.UnimplementedPodsServer
}

func (refusing) WatchPods(*v1alpha1.WatchPodsRequest, grpc.ServerStreamingServer[v1alpha1.WatchPodsEvent]) error {
	return status.Error(codes.FailedPrecondition, "Kubelet is initializing")
}

func TestKubeletsThatCannotBeRead(t *testing.T) {
	other := &aKubelet{pods: map[string]*v1.Pod{}}
	other.set("x", func(p *v1.Pod) { p.Spec.NodeName = "elsewhere" })
	for name, k := range map[string]v1alpha1.PodsServer{
		"no such service": nil, "it begins": refusing{}, "another node's": other, "no pods": &aKubelet{}, "not there": nil,
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "pods-api.sock")
			if name != "not there" {
				serve(t, socket, k)
			}
			watchBoth(t, socket).until("web", "SpecSeen")
		})
	}
}
