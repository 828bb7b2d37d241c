package ask

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// An agent that starts anew refuses connections for a moment, which the API server
// reports as unavailable: the question is asked again. Other errors are told at once.
func TestPatient(t *testing.T) {
	for _, c := range []struct {
		name   string
		code   int
		asked  int
		answer string
	}{
		{"it comes back", http.StatusServiceUnavailable, 3, "because"},
		{"it refuses", http.StatusForbidden, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked++; asked < 3 {
					http.Error(w, "not now", c.code)
					return
				}
				_, _ = w.Write([]byte("because"))
			}))
			defer server.Close()
			client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			r := client.CoreV1().RESTClient().Get().Resource("nodes").Name("n").SubResource("proxy").Suffix("why")
			raw, err := patient(t.Context(), r)
			if asked != c.asked || c.answer != "" && string(raw) != c.answer || (err == nil) != (c.answer != "") {
				t.Errorf("asked %d times, got %q, %v", asked, raw, err)
			}
		})
	}
}

// What a node says of a question that makes no sense reaches whoever asked it.
func TestANodesWordsReachWhoAsks(t *testing.T) {
	const sentence = "what-if: no setting is called cpuu"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, sentence, http.StatusBadRequest)
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	r := client.CoreV1().RESTClient().Get().Resource("nodes").Name("n").SubResource("proxy").Suffix("why")
	raw, err := patient(t.Context(), r)
	if err = said(err, raw); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), sentence) {
		t.Errorf("%v", err)
	}
}
