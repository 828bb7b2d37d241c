package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"whylet.dev/whylet/fact"
)

// aKubelet serves the pods API.
type aKubelet struct {
	v1alpha1.UnimplementedPodsServer

	mu       sync.Mutex
	pods     map[string]*v1.Pod
	streamed chan *v1alpha1.WatchPodsEvent
	// busy is the error of lists.
	busy error
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
	k.mu.Lock()
	err := k.busy
	k.mu.Unlock()
	if err != nil {
		return nil, err
	}
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
	go s.run(20*time.Millisecond, slog.New(slog.DiscardHandler))
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

// Of a pod and its successor that kubelet lists both, the informer gets one.
func TestAPodWasMadeAgain(t *testing.T) {
	k := &aKubelet{pods: map[string]*v1.Pod{}, streamed: make(chan *v1alpha1.WatchPodsEvent)}
	k.set("a", func(p *v1.Pod) { p.Name, p.UID, p.CreationTimestamp = "db-0", "old", metav1.Unix(1, 0) })
	k.set("b", func(p *v1.Pod) { p.Name, p.UID, p.CreationTimestamp = "db-0", "new", metav1.Unix(2, 0) })
	socket := filepath.Join(t.TempDir(), "pods-api.sock")
	serve(t, socket, k)
	for range 5 { // in either order
		s, err := openKubelet(t.Context(), dial(socket), "n")
		if err != nil || len(s.first) != 1 || s.first[0].UID != "new" {
			t.Fatalf("%v, %v", s, err)
		}
		k.set("a", nil)
		changed := make(chan struct{})
		go func() {
			for e := range s.events {
				t.Errorf("%v", e)
			}
			close(changed)
		}()
		if err := s.compare(); err != nil || s.known["new"] == nil {
			t.Error(err)
		}
		close(s.events)
		<-changed
		s.Stop()
		k.set("a", func(p *v1.Pod) { p.Name, p.UID, p.CreationTimestamp = "db-0", "old", metav1.Unix(1, 0) })
	}
}

// closing records that a connection was closed.
type closing struct {
	net.Conn

	closed chan struct{}
	once   sync.Once
}

func (c *closing) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func TestTheConnectionEndsWithItsContext(t *testing.T) {
	k := &aKubelet{pods: map[string]*v1.Pod{}, streamed: make(chan *v1alpha1.WatchPodsEvent)}
	k.set("api", func(*v1.Pod) {})
	socket := filepath.Join(t.TempDir(), "pods-api.sock")
	serve(t, socket, k)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &closing{closed: make(chan struct{})}
	if _, err := openKubelet(ctx, func(ctx context.Context) (net.Conn, error) {
		conn, err := dial(socket)(ctx)
		c.Conn = conn
		return c, err
	}, "n"); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-c.closed:
	case <-time.After(20 * time.Second):
		t.Error("the connection is open")
	}
}

// A kubelet that is busy is compared the next time; one whose list cannot be read is listed anew.
func TestComparisonsThatFail(t *testing.T) {
	for code, ends := range map[codes.Code]bool{codes.Unavailable: false, codes.DeadlineExceeded: false, codes.Internal: true, codes.ResourceExhausted: true} {
		k := &aKubelet{pods: map[string]*v1.Pod{}, streamed: make(chan *v1alpha1.WatchPodsEvent), busy: status.Error(code, "no")}
		k.set("api", func(*v1.Pod) {})
		socket := filepath.Join(t.TempDir(), "pods-api.sock")
		serve(t, socket, k)
		s, err := openKubelet(t.Context(), dial(socket), "n")
		if err != nil {
			t.Fatal(err)
		}
		go s.run(time.Millisecond, slog.New(slog.DiscardHandler))
		wait := 20 * time.Second
		if !ends {
			wait = 50 * time.Millisecond
		}
		select {
		case <-s.ResultChan():
			if !ends {
				t.Errorf("%s ended the watch", code)
			}
		case <-time.After(wait):
			if ends {
				t.Errorf("%s did not end the watch", code)
			}
		}
		s.Stop()
	}
}

// pages is an API server whose lists have several pages.
type pages struct {
	cache.ListerWatcherWithContext
}

func (pages) ListWithContext(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
	return &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: o.Continue}}, nil
}

func TestTheNextPageIsTheServers(t *testing.T) {
	s := &source{server: pages{}, log: slog.New(slog.DiscardHandler), dial: func(context.Context) (net.Conn, error) {
		t.Error("kubelet has no next page")
		return nil, errors.New("no kubelet")
	}}
	if _, err := s.list(t.Context(), metav1.ListOptions{Continue: "page 2"}); err != nil {
		t.Error(err)
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
	nameless, twins, large, many := &aKubelet{pods: map[string]*v1.Pod{}}, &aKubelet{pods: map[string]*v1.Pod{}}, &aKubelet{pods: map[string]*v1.Pod{}}, &aKubelet{pods: map[string]*v1.Pod{}}
	nameless.set("x", func(p *v1.Pod) { p.UID = "" })
	for i := range mostPods + 1 {
		name := fmt.Sprint(i)
		many.set(name, func(p *v1.Pod) { p.UID = types.UID(name) })
		if i < 2 {
			twins.set(name, func(*v1.Pod) {})
			large.set(name, func(p *v1.Pod) {
				p.UID, p.Annotations = types.UID(name), map[string]string{"x": strings.Repeat("x", mostBytes/2)}
			})
		}
	}
	for name, k := range map[string]v1alpha1.PodsServer{
		"a pod without a UID": nameless, "two of one UID": twins, "too much": large, "too many": many,
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
