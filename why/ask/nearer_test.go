package ask

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/why/answer"
	object "whylet.dev/whylet/why/question"
	"whylet.dev/whylet/why/serve"
)

// mixed is an API server of two nodes, n00 and n01, with a front that says what the test
// has it say: one status after the other, each after a while.
type mixed struct {
	apiServer
	own   string // the node that is Whylet's own
	wait  time.Duration
	front []object.Status

	mu        sync.Mutex
	asked     []string // nodes that were asked directly
	withdrawn []string // questions that were removed
}

func (m *mixed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body any
	switch {
	case strings.HasPrefix(r.URL.Path, "/apis/"+object.Group) && r.Method == http.MethodPost:
		body = object.Question{ObjectMeta: metav1.ObjectMeta{Name: "why-1", ResourceVersion: "1"}}
	case strings.HasPrefix(r.URL.Path, "/apis/"+object.Group) && r.Method == http.MethodDelete:
		m.mu.Lock()
		m.withdrawn = append(m.withdrawn, path.Base(r.URL.Path))
		m.mu.Unlock()
		body = metav1.Status{Status: metav1.StatusSuccess}
	case strings.HasPrefix(r.URL.Path, "/apis/"+object.Group):
		m.answer(w, r)
		return
	case r.URL.Path == "/api/v1/nodes":
		body = &v1.NodeList{Items: []v1.Node{m.nodeOf(nodeName(0)), m.nodeOf(nodeName(1))}}
	case path.Dir(r.URL.Path) == "/api/v1/nodes":
		body = m.nodeOf(path.Base(r.URL.Path))
	case strings.Contains(r.URL.Path, "/pods/web-n"):
		i := slices.Index([]string{"web-n00", "web-n01"}, path.Base(r.URL.Path))
		body = podOn(max(0, i))
	case strings.HasSuffix(r.URL.Path, "/pods"):
		list := &v1.PodList{}
		for i := range 2 {
			if p := podOn(i); r.URL.Query().Get("fieldSelector") == "" || strings.HasSuffix(r.URL.Query().Get("fieldSelector"), "="+p.Spec.NodeName) {
				list.Items = append(list.Items, p)
			}
		}
		body = list
	case strings.HasSuffix(r.URL.Path, "/proxy/why"):
		m.mu.Lock()
		m.asked = append(m.asked, strings.Split(r.URL.Path, "/")[4])
		m.mu.Unlock()
		m.apiServer.ServeHTTP(w, r)
		return
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func (m *mixed) nodeOf(name string) v1.Node {
	n := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	if n.Name == m.own {
		n.Status.NodeInfo.KubeletVersion = "v1.36.3+whylet-1"
	}
	return n
}

// answer is the watch of a question.
func (m *mixed) answer(w http.ResponseWriter, r *http.Request) {
	flush := w.(http.Flusher).Flush
	w.Header().Set("Content-Type", "application/json")
	flush()
	for _, s := range m.front {
		select {
		case <-time.After(m.wait):
		case <-r.Context().Done():
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": object.Question{Status: s}})
		flush()
	}
	<-r.Context().Done()
}

// about is an answer about the pod of a node, in somebody's words.
func about(i int, words string) answer.Answer {
	p := podOn(i)
	a := answer.New(answer.Subject{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}, time.Now().UTC(), answer.Coverage{})
	a.Put(answer.Symptom{Kind: answer.Restarted}, answer.Verdict{Cause: answer.AppExitError, Text: words})
	return a
}

// spoken is the status of a front that answers.
func spoken(t *testing.T, unheard []string, all ...answer.Answer) []object.Status {
	t.Helper()
	text, err := json.Marshal(serve.NewList(all))
	if err != nil {
		t.Fatal(err)
	}
	return []object.Status{{TakenBy: []string{"front-0"}}, {AnsweredAt: metav1.NowMicro(), By: "front-0", Unheard: unheard, Answers: text}}
}

func (m *mixed) connect(t *testing.T) (c *Cluster, told *[]string) {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	told = new([]string)
	var mu sync.Mutex
	c, err := Connect(&rest.Config{Host: server.URL}, Options{Namespace: "shop", Told: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		*told = append(*told, text)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c, told
}

// What a front has only seen from the API is asked of the node itself, if it is Whylet's
// own and may be asked; else the front's word stands.
func TestANodeIsAskedThatAFrontDidNotHear(t *testing.T) {
	for name, c := range map[string]struct {
		own   string
		code  int
		want  string
		asked bool
	}{
		"Whylet's own":         {"n00", http.StatusOK, "as the node says", true},
		"it may not be asked":  {"n00", http.StatusForbidden, "as the front says", true},
		"not one of Whylet's":  {"n01", http.StatusOK, "as the front says", false},
		"it does not remember": {"n00", http.StatusNotFound, "as the front says", true},
	} {
		t.Run(name, func(t *testing.T) {
			m := &mixed{own: c.own, front: spoken(t, []string{"n00"}, about(0, "as the front says"))}
			m.node = func(context.Context, string, serve.Question) (any, int) {
				if c.code != http.StatusOK {
					return "404 page not found", c.code
				}
				return about(0, "as the node says"), c.code
			}
			asker, _ := m.connect(t)
			got, err := asker.About(t.Context(), Target{Kind: "pod", Name: "web-n00"})
			if err != nil || len(got) != 1 || got[0].Verdicts[0].Text != c.want || len(m.asked) > 0 != c.asked {
				t.Errorf("%v %+v, asked %v", err, got, m.asked)
			}
		})
	}
}

// Of everything at once the pods of a node that a front did not hear are answered for by
// that node, and no other is asked.
func TestAllIsPutTogether(t *testing.T) {
	m := &mixed{own: "n00", front: spoken(t, []string{"n00"}, about(0, "as the front says"), about(1, "as the front says"))}
	m.node = func(context.Context, string, serve.Question) (any, int) {
		return serve.NewList([]answer.Answer{about(0, "as the node says")}), http.StatusOK
	}
	asker, _ := m.connect(t)
	got, err := asker.All(t.Context())
	if err != nil || len(got) != 2 || got[0].Verdicts[0].Text != "as the node says" || got[1].Verdicts[0].Text != "as the front says" || !slices.Equal(m.asked, []string{"n00"}) {
		t.Errorf("%v %+v, asked %v", err, got, m.asked)
	}
}

// A question that nobody takes is asked of the nodes after a moment, and not left behind; one
// that somebody has taken is waited for.
func TestSilence(t *testing.T) {
	node := func(context.Context, string, serve.Question) (any, int) {
		return about(0, "as the node says"), http.StatusOK
	}
	t.Run("nobody takes it", func(t *testing.T) {
		t.Parallel()
		m := &mixed{own: "n00"}
		m.node = node
		asker, told := m.connect(t)
		began := time.Now()
		got, err := asker.About(t.Context(), Target{Kind: "pod", Name: "web-n00"})
		if err != nil || got[0].Verdicts[0].Text != "as the node says" || !strings.Contains(strings.Join(*told, "\n"), "no front took the question") {
			t.Errorf("%v %+v %v", err, got, *told)
		}
		if took := time.Since(began); took > frontWithin/2 || !slices.Equal(m.withdrawn, []string{"why-1"}) {
			t.Errorf("it took %v, and %v is removed", took, m.withdrawn)
		}
	})
	t.Run("it is taken", func(t *testing.T) {
		t.Parallel()
		m := &mixed{own: "n00", wait: takenWithin * 3 / 4, front: spoken(t, nil, about(0, "as the front says"))}
		m.node = node
		asker, told := m.connect(t)
		got, err := asker.About(t.Context(), Target{Kind: "pod", Name: "web-n00"})
		if err != nil || got[0].Verdicts[0].Text != "as the front says" || len(m.withdrawn) > 0 {
			t.Errorf("%v %+v %v, and %v is removed", err, got, *told, m.withdrawn)
		}
	})
}
