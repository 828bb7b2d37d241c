package ask

import (
	"net/http"
	"net/http/httptest"
	"testing"

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
