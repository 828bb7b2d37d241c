package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	authn "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"whylet.dev/whylet/front/link"
)

// reviewer is an API server that knows tokens as users, junk excepted, and counts what it is asked.
func reviewer(asked *int) *fake.Clientset {
	api := fake.NewClientset()
	var mu sync.Mutex
	api.PrependReactor("create", "tokenreviews", func(a k8stesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		*asked++
		r := a.(k8stesting.CreateAction).GetObject().(*authn.TokenReview)
		r.Status = authn.TokenReviewStatus{Authenticated: !strings.HasPrefix(r.Spec.Token, "junk"), Audiences: []string{link.Audience}, User: authn.UserInfo{Username: r.Spec.Token}}
		return true, r, nil
	})
	return api
}

// opened serves requests that are answered at once, and metrics.
func opened(t *testing.T, asked *int) (*httptest.Server, *HTTPS) {
	t.Helper()
	h := &HTTPS{API: reviewer(asked)}
	h.Handler()
	mux := http.NewServeMux()
	answered := func(w http.ResponseWriter, _ *http.Request, _ authn.UserInfo) error {
		_, err := w.Write([]byte("well"))
		return err
	}
	mux.HandleFunc("/alerts", h.known(h.asking, answered))
	mux.HandleFunc("/metrics", h.known(h.scrapes, answered))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, h
}

// asks asks once, and gives the code.
func asks(t *testing.T, server *httptest.Server, path, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// slowly begins a request whose body does not come.
func slowly(t *testing.T, server *httptest.Server, token string) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := fmt.Fprintf(c, "POST /alerts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 100000\r\n\r\n{", token); err != nil {
		t.Fatal(err)
	}
}

// Who sends 70 requests slowly takes the places of nobody else, and not those of metrics.
func TestWhoSendsSlowlyStarvesNobody(t *testing.T) {
	var asked int
	server, h := opened(t, &asked)
	const of = "system:serviceaccount:greedy:"
	for i := range 70 {
		slowly(t, server, of+fmt.Sprint("a", i%10))
	}
	open := 0
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		h.asking.mu.Lock()
		defer h.asking.mu.Unlock()
		open = h.asking.all
		return open >= mostOfUser, nil
	}); err != nil {
		t.Fatalf("%d of %d slow requests are open: %v", open, mostOfUser, err)
	}
	for range 3 {
		for path, token := range map[string]string{"/alerts": "system:serviceaccount:modest:a", "/metrics": "prometheus"} {
			if code := asks(t, server, path, token); code != http.StatusOK {
				t.Errorf("%s: %d", path, code)
			}
		}
	}
	if code := asks(t, server, "/alerts", of+"b"); code != http.StatusTooManyRequests {
		t.Errorf("more of the same namespace: %d", code)
	}
	h.asking.mu.Lock()
	defer h.asking.mu.Unlock()
	if h.asking.all > mostOfUser {
		t.Errorf("%d requests of one namespace are open", h.asking.all)
	}
}

// A token that was refused is not shown to the API server again at once.
func TestRefusedTokensAreRemembered(t *testing.T) {
	var asked int
	server, _ := opened(t, &asked)
	for range 20 {
		if code := asks(t, server, "/alerts", "junk"); code != http.StatusUnauthorized {
			t.Fatalf("%d", code)
		}
	}
	if asked != 1 {
		t.Errorf("the API server was asked %d times about one token", asked)
	}
}

// A place is free again once a request is over, however it ends.
func TestPlacesAreGivenBack(t *testing.T) {
	g := newGate(1, 2, 1)
	none := func() error { return nil }
	boom := errors.New("boom")
	for _, end := range []error{nil, boom} {
		if err := g.through("a", func() error { return end }, none); !errors.Is(err, end) {
			t.Error(err)
		}
		if err := g.through("a", none, func() error { return end }); !errors.Is(err, end) {
			t.Error(err)
		}
	}
	err := g.through("a", none, func() error {
		if err := g.through("a", none, none); !errors.Is(err, errTooMany) {
			t.Errorf("a second one of the same user: %v", err)
		}
		if err := g.through("b", none, none); !errors.Is(err, errTooMany) { // the only place is taken
			t.Error(err)
		}
		return nil
	})
	if err != nil || g.all != 0 || len(g.of) != 0 || len(g.places) != 0 {
		t.Errorf("%v: %+v", err, g)
	}
}
