package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/fact"
)

func pod(change func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u", ResourceVersion: "1"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app"}}},
	}
	if change != nil {
		change(p)
	}
	return p
}

func kindsOf(facts []fact.Fact) []fact.Kind {
	var kinds []fact.Kind
	for _, f := range facts {
		kinds = append(kinds, f.Body.Kind())
	}
	return kinds
}

func container(state v1.ContainerState, restarts int32) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "app", State: state, RestartCount: restarts, ContainerID: "containerd://c"}}
	}
}

// What variables are set to is not kept; that they are there is.
func TestValuesAreNotKept(t *testing.T) {
	p := slim(pod(func(p *v1.Pod) {
		p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}, {Name: "EMPTY"}, {Name: "NODE", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}}
		p.Spec.InitContainers = []v1.Container{{Name: "init", Env: []v1.EnvVar{{Name: "TOKEN", Value: "hunter2"}}}, {Name: "istio-proxy", Env: []v1.EnvVar{{Name: originals, Value: "/app-health/app/readyz"}}}}
	}))
	text, err := json.Marshal(FactsOf(nil, p))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "PASSWORD") || !strings.Contains(string(text), "spec.nodeName") || !strings.Contains(string(text), "/app-health/app/readyz") {
		t.Errorf("%s", text)
	}
}

func TestAStatusIsFacts(t *testing.T) {
	ended := metav1.NewTime(time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC))
	last := func(p *v1.Pod) {
		container(v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, 3)(p)
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &v1.ContainerStateTerminated{ContainerID: "containerd://c", ExitCode: 2, FinishedAt: ended}
	}
	for name, c := range map[string]struct {
		now  func(*v1.Pod)
		want fact.Body
		at   int32
	}{
		"an end":           {container(v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: "containerd://c", ExitCode: 1, Reason: "Error", FinishedAt: ended}}, 2), fact.Exited{ContainerID: "containerd://c", ExitCode: 1, RuntimeReason: "Error"}, 2},
		"an end before":    {last, fact.Exited{ContainerID: "containerd://c", ExitCode: 2}, 2},
		"nobody knows how": {container(v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: "containerd://c", ExitCode: 137, Reason: "ContainerStatusUnknown"}}, 0), fact.Exited{ContainerID: "containerd://c", Vanished: true}, 0},
		"it never ran":     {container(v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: "containerd://c", ExitCode: 128, Reason: "StartError", Message: "no such file"}}, 0), fact.StartFailed{Reason: "RunContainerError", Message: "no such file", ContainerID: "containerd://c", Exited: true, ExitCode: 128}, 0},
		"no image":         {container(v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}, 0), fact.ImageFailed{Reason: "ErrImagePull", Message: "not found"}, 0},
		"no image, seen late": {
			container(v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: `Back-off pulling image "x": ErrImagePull: not found`}}, 0),
			fact.ImageFailed{Reason: "ErrImagePull", Message: "not found"},
			0,
		},
		"a refusal for pressure": {
			func(p *v1.Pod) {
				p.Status.Phase, p.Status.Reason, p.Status.Message = v1.PodFailed, "Evicted", "Pod was rejected: The node had condition: [DiskPressure]. "
			},
			fact.Refused{Reason: "Evicted", Message: "Pod was rejected: The node had condition: [DiskPressure]. "},
			0,
		},
		"a refusal": {func(p *v1.Pod) { p.Status.Phase, p.Status.Reason, p.Status.Message = v1.PodFailed, "OutOfcpu", "m" }, fact.Refused{Reason: "OutOfcpu", Message: "m"}, 0},
	} {
		var found []fact.Fact
		for _, f := range FactsOf(nil, pod(c.now)) {
			if f.Body.Kind() == c.want.Kind() {
				found = append(found, f)
			}
		}
		got := fact.Body(nil)
		if len(found) == 1 {
			got = found[0].Body
			if b, ok := got.(fact.Exited); ok {
				b.StartedAt = time.Time{}
				got = b
			}
		}
		if got == nil || fmt.Sprint(got) != fmt.Sprint(c.want) || found[0].Attempt != c.at {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// What is the same is told once, and an end not again when it becomes the one before.
func TestWhatWasToldIsNotToldAgain(t *testing.T) {
	ended := &v1.ContainerStateTerminated{ContainerID: "containerd://c", ExitCode: 1, FinishedAt: metav1.Now()}
	one := pod(container(v1.ContainerState{Terminated: ended}, 0))
	if facts := FactsOf(one, one.DeepCopy()); len(facts) > 0 {
		t.Errorf("%v", kindsOf(facts))
	}
	next := pod(container(v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, 0))
	next.Status.ContainerStatuses[0].LastTerminationState.Terminated = ended
	if kinds := kindsOf(FactsOf(one, next)); !slices.Equal(kinds, []fact.Kind{"StatusSeen"}) {
		t.Errorf("%v", kinds)
	}
}

func TestADeletionIsOfWhenItWasAsked(t *testing.T) {
	grace := int64(30)
	over := metav1.NewTime(time.Date(2026, 11, 22, 23, 0, 30, 0, time.UTC))
	facts := FactsOf(pod(nil), pod(func(p *v1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &over, &grace }))
	if len(facts) != 1 || !facts[0].At.Equal(over.Add(-30*time.Second)) {
		t.Errorf("%+v", facts)
	}
}

// server is an API server with one pod and one event, which notes what it is asked.
func server(t *testing.T) (*Client, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.Path)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		var body any = v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []v1.Pod{*pod(nil)}}
		switch {
		case r.URL.Query().Get("sendInitialEvents") != "": // as servers before 1.32
			w.WriteHeader(http.StatusUnprocessableEntity)
			body = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity}
		case r.URL.Query().Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		case r.URL.Path == "/api/v1/namespaces/shop/events":
			body = v1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: []v1.Event{{
				ObjectMeta: metav1.ObjectMeta{UID: "e"}, InvolvedObject: v1.ObjectReference{UID: "u", FieldPath: "spec.containers{app}"}, Source: v1.EventSource{Component: "kubelet"},
				Reason: "Unhealthy", Message: "m", Count: 3, FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(),
			}}}
		}
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	c, err := New(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c, func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(asked) }
}

// The whole of what is asked of the API server are pods of the node, and events of one.
func TestOnlyReads(t *testing.T) {
	c, asked := server(t)
	ctx, cancel := context.WithCancel(context.Background())
	facts, synced := make(chan fact.Fact, 16), make(chan struct{})
	w := Watch{Client: c, Node: "n", Log: slog.New(slog.DiscardHandler), Changed: func(*v1.Pod, bool) {}, Synced: func() { close(synced) }}
	var run sync.WaitGroup
	run.Go(func() { _ = w.Run(ctx, func(f fact.Fact) { facts <- f }) })
	select {
	case <-synced:
	case <-time.After(20 * time.Second):
		t.Fatal("never synced")
	}
	if f := <-facts; f.Body.Kind() != "SpecSeen" || f.Pod.Name != "web" {
		t.Errorf("%+v", f)
	}
	events := Events{Client: c}
	told, err := events.Look(ctx, "shop", "u")
	if err != nil || len(told) != 1 || told[0].New != 3 || told[0].Container != "app" {
		t.Errorf("%v %+v", err, told)
	}
	if again, err := events.Look(ctx, "shop", "u"); err != nil || len(again) != 0 {
		t.Errorf("%v %+v", err, again)
	}
	cancel()
	run.Wait()
	for _, one := range asked() {
		if one != "GET /api/v1/pods" && one != "GET /api/v1/namespaces/shop/events" {
			t.Errorf("asked %s", one)
		}
	}
}

// Whatever code is added here, the client itself makes no request that changes anything.
func TestAChangeIsNotMade(t *testing.T) {
	c, asked := server(t)
	err := c.rest.Delete().Namespace("shop").Resource("pods").Name("web").Do(context.Background()).Error()
	var refused *NotReadError
	if !errors.As(err, &refused) || len(asked()) > 0 {
		t.Errorf("%v %v", err, asked())
	}
}

// A pod cannot pass for another by the annotation of mirror pods.
func TestOnlyAStaticPodHasAMirror(t *testing.T) {
	for own, want := range map[string]types.UID{
		"":                                     "u",
		"0123456789abcdef0123456789abcdef":     "0123456789abcdef0123456789abcdef",
		"5f0c2f5e-6c3e-4d57-9a39-3f1d3ce5d2aa": "u",
		"u2":                                   "u",
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", Annotations: map[string]string{v1.MirrorPodAnnotationKey: own}}}
		if got := KeyOf(pod).UID; got != want {
			t.Errorf("%q: %s", own, got)
		}
	}
}
