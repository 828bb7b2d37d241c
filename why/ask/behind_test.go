package ask

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/serve"
)

// behindServer is an API server of two nodes. One has the history of pod p1a, which is
// gone from the API; the other has a pod and no facts, as an older Whylet.
func behindServer(t *testing.T) *Cluster {
	t.Helper()
	source, err := journal.OpenFile(filepath.Join("..", "serve", "testdata", "oom-main.facts"))
	if err != nil {
		t.Fatal(err)
	}
	facts := serve.FactsHandler(source)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply := func(body any) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(body)
		}
		switch path := r.URL.Path; {
		case path == "/api/v1/nodes":
			reply(&v1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, Items: []v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "vm"}}}})
		case strings.HasSuffix(path, "/pods/young"):
			reply(&v1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "young"}, Spec: v1.PodSpec{NodeName: "old"}})
		case strings.HasSuffix(path, "/vm/proxy/why/facts"):
			facts.ServeHTTP(w, r)
		case strings.HasSuffix(path, "/old/proxy/why/facts"):
			reply(answer.Answer{})
		default:
			w.WriteHeader(http.StatusNotFound)
			reply(&metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
		}
	}))
	t.Cleanup(server.Close)
	c, err := Connect(&rest.Config{Host: server.URL}, Options{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The facts behind an answer come from the node that remembers, also of a pod that is
// gone; who has none to give is named beside those of the others.
func TestBehind(t *testing.T) {
	c := behindServer(t)
	pod := answer.Answer{Subject: answer.Subject{Kind: "Pod", Namespace: "default", Name: "p1a"}}
	parts, err := c.Behind(t.Context(), pod)
	if err != nil || len(parts) != 1 || parts[0].Node != "vm" || parts[0].Source.Stats().Facts < 100 {
		t.Fatalf("%v: %+v", err, parts)
	}
	node := answer.Answer{Subject: answer.Subject{Kind: "Node", Name: "vm"}}
	if parts, err := c.Behind(t.Context(), node); err != nil || !parts[0].Question.Node {
		t.Errorf("%v: %+v", err, parts)
	}
	workload := answer.Answer{Subject: answer.Subject{Kind: "Deployment", Namespace: "default", Name: "web"}, Symptoms: []answer.Symptom{{Pod: "p1a"}, {Pod: "young"}, {Pod: "p1a"}}}
	parts, err = c.Behind(t.Context(), workload)
	var partly *PartialError
	if len(parts) != 1 || !errors.As(err, &partly) || !strings.Contains(err.Error(), "about pod young") || !strings.Contains(err.Error(), "older than this client") {
		t.Errorf("%v: %+v", err, parts)
	}
	var unknown *serve.NotKnownError
	if _, err := c.Behind(t.Context(), answer.Answer{Subject: answer.Subject{Kind: "Pod", Namespace: "default", Name: "nobody"}}); !errors.As(err, &unknown) {
		t.Error(err)
	}
}
