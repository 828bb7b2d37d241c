package object

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

const deadline = 20 * time.Second

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still waiting: %s", what)
		}
	}
}

// cluster is a reporter on a fake API server, with time in the test's hands.
type cluster struct {
	t        *testing.T
	client   *fake.Clientset
	clock    *clocktesting.FakeClock
	reporter *Reporter

	mu     sync.Mutex
	state  State
	events []string

	reported atomic.Int32
}

func start(t *testing.T, prepare func(*fake.Clientset), objects ...runtime.Object) *cluster {
	t.Helper()
	c := &cluster{t: t, client: fake.NewClientset(objects...), clock: clocktesting.NewFakeClock(day.Time)}
	if prepare != nil {
		prepare(c.client)
	}
	config := testConfig()
	machine := recorded(t)
	config.Machine = func() (Machine, error) { return machine, nil }
	config.Client, config.Clock, config.Log = c.client, c.clock, slog.New(slog.DiscardHandler)
	config.Images = func(context.Context) ([]v1.ContainerImage, error) {
		return []v1.ContainerImage{{Names: []string{"pause"}, SizeBytes: 1}}, nil
	}
	config.State = func() State {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.state
	}
	config.Event = func(e Event) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.events = append(c.events, e.Reason)
	}
	config.Reported = func() { c.reported.Add(1) }
	c.reporter = New(NewOwn(t.Context()), config)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		c.reporter.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(deadline):
			t.Error("the reporter does not end")
		}
	})
	return c
}

// set changes what the loop knows, and tells of it.
func (c *cluster) set(s State) {
	c.mu.Lock()
	c.state = s
	c.mu.Unlock()
	c.reporter.Changed()
}

func (c *cluster) told(reason string) func() bool {
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.Contains(c.events, reason)
	}
}

// node is the object in the API server; nil when there is none.
func (c *cluster) node() *v1.Node {
	node, err := c.client.CoreV1().Nodes().Get(context.Background(), "n1", metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return node
}

// says waits until the object has a condition in that state, with that reason.
func (c *cluster) says(kind v1.NodeConditionType, status v1.ConditionStatus, reason string) {
	c.t.Helper()
	eventually(c.t, string(kind)+" "+reason, func() bool {
		node := c.node()
		if node == nil {
			return false
		}
		condition := conditionOf(&node.Status, kind)
		return condition != nil && condition.Status == status && condition.Reason == reason
	})
}

func (c *cluster) patches() int {
	n := 0
	for _, a := range c.client.Actions() {
		if a.Matches("patch", "nodes") && a.GetSubresource() == "status" {
			n++
		}
	}
	return n
}

func TestNodeIsRegisteredAndKept(t *testing.T) {
	c := start(t, nil)
	c.says(v1.NodeReady, v1.ConditionTrue, "KubeletReady")
	eventually(t, "images", func() bool { return len(c.node().Status.Images) == 1 })

	c.set(State{Problems: []string{RuntimeDown(errors.New("connection refused"))}, MemoryPressure: true})
	c.says(v1.NodeReady, v1.ConditionFalse, "KubeletNotReady")
	c.says(v1.NodeMemoryPressure, v1.ConditionTrue, "KubeletHasInsufficientMemory")
	if got := conditionOf(&c.node().Status, v1.NodeReady).Message; got != "container runtime is down: connection refused" {
		t.Error(got)
	}
	eventually(t, "event", c.told("NodeNotReady"))
	c.set(State{})
	c.says(v1.NodeReady, v1.ConditionTrue, "KubeletReady")
	eventually(t, "event", c.told("NodeReady"))
}

func TestNothingIsWrittenWhenNothingIsNew(t *testing.T) {
	c := start(t, nil)
	eventually(t, "images", func() bool { n := c.node(); return n != nil && len(n.Status.Images) == 1 })
	written := c.patches()
	for range 5 {
		c.clock.Step(lookEvery)
		c.reporter.Changed()
	}
	// The witness that the looks are over: the next change is written, and is the only one.
	c.set(State{PIDPressure: true})
	c.says(v1.NodePIDPressure, v1.ConditionTrue, "KubeletHasInsufficientPID")
	if got := c.patches() - written; got != 1 {
		t.Errorf("%d writes for one change", got)
	}
}

func TestStatusIsWrittenEveryFiveMinutes(t *testing.T) {
	c := start(t, nil)
	eventually(t, "images", func() bool { n := c.node(); return n != nil && len(n.Status.Images) == 1 })
	heartbeat := func() time.Time { return conditionOf(&c.node().Status, v1.NodeReady).LastHeartbeatTime.UTC() }
	first := heartbeat()
	eventually(t, "ticker", c.clock.HasWaiters)
	c.clock.Step(reportEvery)
	eventually(t, "heartbeat", func() bool { return heartbeat().Equal(first.Add(reportEvery)) })
	if at := conditionOf(&c.node().Status, v1.NodeReady).LastTransitionTime.UTC(); !at.Equal(day.UTC()) {
		t.Errorf("ready since %s", at)
	}
}

func TestWhatOthersChangeIsPutRight(t *testing.T) {
	c := start(t, nil)
	c.says(v1.NodeReady, v1.ConditionTrue, "KubeletReady")
	node := c.node()
	node.Labels = map[string]string{"theirs": "x"}
	node.Spec.PodCIDR = "10.1.0.0/24"
	*conditionOf(&node.Status, v1.NodeReady) = v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionUnknown, Reason: "NodeStatusUnknown"}
	if _, err := c.client.CoreV1().Nodes().Update(context.Background(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.says(v1.NodeReady, v1.ConditionTrue, "KubeletReady")
	eventually(t, "labels and pod CIDR", func() bool {
		node := c.node()
		return node.Labels["theirs"] == "x" && node.Labels[v1.LabelHostname] == "n1" && c.reporter.Node().Spec.PodCIDR == "10.1.0.0/24"
	})
}

func TestExistingNodeIsTakenOver(t *testing.T) {
	c := start(t, nil, &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "old", Labels: map[string]string{"zone": "a"}},
		Spec:       v1.NodeSpec{Unschedulable: true, Taints: []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}},
		Status:     v1.NodeStatus{NodeInfo: v1.NodeSystemInfo{BootID: "before"}},
	})
	c.says(v1.NodeReady, v1.ConditionTrue, "KubeletReady")
	eventually(t, "event", c.told("Rebooted"))
	node := c.node()
	if node.UID != "old" || node.Labels["zone"] != "a" || !node.Spec.Unschedulable || len(node.Spec.Taints) != 1 {
		t.Errorf("%+v", node)
	}
}

// What an earlier process had said of the node is not a report of this one.
func TestReportIsOwn(t *testing.T) {
	var refused, allowed atomic.Bool
	old := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	old.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady"}}
	c := start(t, func(client *fake.Clientset) {
		client.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			if allowed.Load() {
				return false, nil, nil
			}
			refused.Store(true)
			return true, nil, apierrors.NewServiceUnavailable("not yet")
		})
	}, old)
	eventually(t, "a write that is refused", refused.Load)
	if c.reporter.Node() == nil || c.reported.Load() != 0 {
		t.Errorf("%d reports before a write", c.reported.Load())
	}
	allowed.Store(true)
	eventually(t, "report", func() bool {
		c.reporter.Changed()
		return c.reported.Load() > 0
	})
}

func TestRegistrationIsTriedAgain(t *testing.T) {
	var refused atomic.Int32
	c := start(t, func(client *fake.Clientset) {
		client.PrependReactor("create", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			if refused.Load() == 3 {
				return false, nil, nil
			}
			refused.Add(1)
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n1", errors.New("not yet"))
		})
	})
	pause := firstPause
	for n := range int32(3) {
		eventually(t, "pause", func() bool { return refused.Load() == n+1 && c.clock.HasWaiters() })
		if c.node() != nil {
			t.Fatal("registered against the API server's will")
		}
		c.clock.Step(pause)
		pause *= 2
	}
	c.says(v1.NodeReady, v1.ConditionTrue, "KubeletReady")
}

// An API server that takes the request and never answers must not keep the node
// from ending.
func TestEndDoesNotWaitForTheAPIServer(t *testing.T) {
	asked := make(chan struct{}, 16)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		// Until the body is read, the server does not look whether the client is there.
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer silent.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: silent.URL})
	if err != nil {
		t.Fatal(err)
	}
	config := testConfig()
	config.Machine = func() (Machine, error) { return Machine{Memory: 1}, nil }
	config.State = func() State { return State{} }
	config.Client, config.Clock, config.Log = client, clocktesting.NewFakeClock(day.Time), slog.New(slog.DiscardHandler)
	r := New(NewOwn(t.Context()), config)
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	r.saw(node)
	for name, call := range map[string]func(context.Context){
		"run":    func(ctx context.Context) { r.Run(ctx) },
		"update": func(ctx context.Context) { r.update(ctx) },
	} {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			call(ctx)
			close(ended)
		}()
		select {
		case <-asked:
		case <-time.After(deadline):
			t.Fatalf("%s: nothing was asked", name)
		}
		cancel()
		select {
		case <-ended:
		case <-time.After(deadline / 4):
			t.Errorf("%s waits for an answer", name)
		}
	}
}

func TestLease(t *testing.T) {
	c := start(t, nil)
	eventually(t, "lease", func() bool {
		_, err := c.client.CoordinationV1().Leases("kube-node-lease").Get(context.Background(), "n1", metav1.GetOptions{})
		return err == nil
	})
	lease, err := c.client.CoordinationV1().Leases("kube-node-lease").Get(context.Background(), "n1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *lease.Spec.LeaseDurationSeconds != 40 || *lease.Spec.HolderIdentity != "n1" || !lease.Spec.RenewTime.Time.Equal(day.Time) {
		t.Errorf("%+v", lease.Spec)
	}
	if o := lease.OwnerReferences; len(o) != 1 || o[0].Kind != "Node" || o[0].Name != "n1" || o[0].UID != c.node().UID {
		t.Errorf("%+v", o)
	}
}

// Who waits for the node to be registered does not keep it from ending.
func TestNobodyWaitsForAnObjectOfANodeThatEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewOwn(ctx).Get("n1"); !errors.Is(err, context.Canceled) {
		t.Errorf("it waited, and says %v", err)
	}
}
