package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/serve"
)

// apiServer is an API server of some nodes, with a pod on each, whose nodes answer as
// the test says.
type apiServer struct {
	nodes int
	// node answers a question to a node; an error is "503 Service Unavailable" and so on.
	node func(ctx context.Context, name string, q serve.Question) (any, int)
}

func nodeName(i int) string { return fmt.Sprintf("n%02d", i) }

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body any
	switch path := r.URL.Path; {
	case path == "/api/v1/nodes":
		list := &v1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
		for i := range s.nodes {
			list.Items = append(list.Items, v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}})
		}
		body = list
	case strings.HasSuffix(path, "/pods"):
		list := &v1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
		for i := range s.nodes {
			list.Items = append(list.Items, podOn(i))
		}
		body = list
	case strings.HasSuffix(path, "/proxy/why"):
		q, err := serve.ParseQuestion(r.URL.Query(), time.Now().UTC())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		node := strings.Split(path, "/")[4]
		said, code := s.node(r.Context(), node, q)
		if code != http.StatusOK {
			http.Error(w, fmt.Sprint(said), code)
			return
		}
		body = said
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func podOn(i int) v1.Pod {
	return v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-" + nodeName(i), UID: types.UID("uid-" + nodeName(i))},
		Spec:       v1.PodSpec{NodeName: nodeName(i)},
	}
}

// listFrom is what a node says about the pod that is on it.
func listFrom(node string) serve.List {
	return serve.NewList([]answer.Answer{{
		APIVersion: answer.APIVersion, Kind: answer.Kind, Subject: answer.Subject{Kind: "Pod", Namespace: "shop", Name: "web-" + node},
		Symptoms: []answer.Symptom{{ID: "s1", Kind: answer.Healthy}}, Verdicts: []answer.Verdict{{Symptom: "s1", Cause: answer.None}},
	}})
}

func connect(t *testing.T, s *apiServer, o Options) *Cluster {
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := Connect(&rest.Config{Host: server.URL}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Fifty nodes are asked at the same time: no node answers before all were asked, which
// none would if they were asked in turn.
func TestAllAtOnce(t *testing.T) {
	const nodes = 50
	var asked atomic.Int32
	everybody := make(chan struct{})
	c := connect(t, &apiServer{nodes: nodes, node: func(ctx context.Context, name string, _ serve.Question) (any, int) {
		if asked.Add(1) == nodes {
			close(everybody)
		}
		select {
		case <-everybody:
			return listFrom(name), http.StatusOK
		case <-ctx.Done():
			return "too late", http.StatusGatewayTimeout
		}
	}}, Options{Namespace: "shop"})
	all, err := c.All(t.Context())
	if err != nil || len(all) != nodes {
		t.Errorf("%d answers, %v", len(all), err)
	}
}

// A node that fails is named, beside the answers of the others; the API answers about its pods. One that cannot be
// reached is told of itself.
func TestPartial(t *testing.T) {
	c := connect(t, &apiServer{nodes: 50, node: func(ctx context.Context, name string, _ serve.Question) (any, int) {
		switch name {
		case "n07":
			<-ctx.Done()
		case "n09":
			return "not well", http.StatusInternalServerError
		}
		return listFrom(name), http.StatusOK
	}}, Options{Namespace: "shop", Each: time.Second})
	all, err := c.All(t.Context())
	var partial *PartialError
	if !errors.As(err, &partial) || len(all) != 51 || len(partial.Missing) != 1 {
		t.Fatalf("%d answers, %v", len(all), err)
	}
	if got := answer.Overview(all, answer.Style{}); !strings.Contains(got, "The API server cannot reach the kubelet of node n07 (no answer in time)") {
		t.Error(got)
	}
	for _, want := range []string{"asking node n09: ", "not well"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
}

// A question that nobody ends ends at its deadline.
func TestWhole(t *testing.T) {
	c := connect(t, &apiServer{nodes: 2 * atOnce, node: func(ctx context.Context, _ string, _ serve.Question) (any, int) {
		<-ctx.Done()
		return "late", http.StatusGatewayTimeout
	}}, Options{Each: time.Hour, Whole: 2 * time.Second}) // long enough to list the pods on a busy machine
	all, err := c.All(t.Context())
	var partial *PartialError
	if !errors.As(err, &partial) || len(all) != 0 || len(partial.Missing) != 2*atOnce {
		t.Errorf("%d answers, %v", len(all), err)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != shownMissing+1 || lines[shownMissing] != "and 123 more did not answer" {
		t.Errorf("%q", lines)
	}
}

// A pod that is gone is known by the node it was on, whichever that was.
func TestDeparted(t *testing.T) {
	s := &apiServer{nodes: 50, node: func(_ context.Context, name string, q serve.Question) (any, int) {
		if name != "n31" || q.Name != "old-1" {
			return "nothing is known of a pod shop/" + q.Name, http.StatusNotFound
		}
		return listFrom("n31").Items[0], http.StatusOK
	}}
	c := connect(t, s, Options{Namespace: "shop"})
	answers, err := c.About(t.Context(), Target{Kind: "pod", Name: "old-1"})
	if err != nil || len(answers) != 1 || answers[0].Subject.Name != "web-n31" {
		t.Errorf("%+v, %v", answers, err)
	}
	_, err = c.About(t.Context(), Target{Kind: "pod", Name: "web-n3"})
	var unknown *serve.NotKnownError
	if !errors.As(err, &unknown) || len(unknown.Near) == 0 {
		t.Errorf("%v", err)
	}
}

// A node where nobody remembers, or that may not be asked, is answered for from what the
// API shows, and the answer says so.
func TestWithoutAgents(t *testing.T) {
	for said, code := range map[string]int{"404 page not found\n": http.StatusNotFound, "no": http.StatusForbidden} {
		c := connect(t, &apiServer{nodes: 3, node: func(_ context.Context, name string, _ serve.Question) (any, int) {
			if name == "n01" {
				return listFrom(name), http.StatusOK
			}
			return said, code
		}}, Options{Namespace: "shop"})
		all, err := c.All(t.Context())
		if err != nil || len(all) != 3 {
			t.Fatalf("%d answers, %v", len(all), err)
		}
		for _, a := range all {
			if lowly := strings.Contains(a.Text(answer.Style{}), "level 0"); lowly != (a.Subject.Name != "web-n01") {
				t.Errorf("%s: %s", a.Subject.Name, a.Text(answer.Style{}))
			}
		}
	}
}
