package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"whylet.dev/whylet/web/timeline"
)

// The page is there for who has its address, and for nobody else.
func TestServe(t *testing.T) {
	d := recorded(t, "oom-main")
	ctx, cancel := context.WithCancel(t.Context())
	url := make(chan string, 1)
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, func(context.Context) (timeline.Document, error) { return d, nil }, func(u string) { url <- u })
	}()
	at := <-url
	get := func(url, host string) (int, string, http.Header) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body), resp.Header
	}
	code, body, head := get(at, "")
	if code != http.StatusOK || !strings.Contains(body, `data-live="timeline.json"`) || !strings.Contains(head.Get("Content-Security-Policy"), "connect-src 'self'; frame-ancestors 'none'") {
		t.Errorf("%d %v %.300s", code, head, body)
	}
	var again timeline.Document
	if code, body, _ := get(at+"timeline.json", ""); code != http.StatusOK || json.Unmarshal([]byte(body), &again) != nil || again.Subject.Name != d.Subject.Name {
		t.Errorf("%d %.300s", code, body)
	}
	if code, _, _ := get(at, "evil.example:80"); code != http.StatusMisdirectedRequest {
		t.Errorf("another host's page gets %d", code)
	}
	parts := strings.Split(at, "/")
	if code, _, _ := get(strings.Join(parts[:3], "/")+"/", ""); code != http.StatusNotFound {
		t.Errorf("without the secret it is %d", code)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A question that fails opens no page.
func TestServeNothing(t *testing.T) {
	want := errors.New("no such pod")
	err := Serve(t.Context(), func(context.Context) (timeline.Document, error) { return timeline.Document{}, want }, func(string) { t.Error("it says it is there") })
	if !errors.Is(err, want) {
		t.Error(err)
	}
}
