package serve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"

	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/suggest"
	"whylet.dev/whylet/why/whatif"
)

// Other settings, asked about real containers.
func TestWhatIfRecorded(t *testing.T) {
	for name, question := range map[string]string{
		"slow-handler":  "livenessProbe.timeoutSeconds=5",
		"listener-gone": "livenessProbe.failureThreshold=5",
		"oom-main":      "memory=64Mi",
	} {
		source, q := opened(t, name)
		changes, err := whatif.Parse(question)
		if err != nil {
			t.Fatal(err)
		}
		r, err := WhatIf(source, q, changes)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", name+".whatif"), r.Text(nil))
	}
}

func TestSuggestRecorded(t *testing.T) {
	for _, name := range []string{"slow-handler", "cache-at-limit", "oom-main"} {
		source, q := opened(t, name)
		r, err := Suggest(source, q)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", name+".suggest"), r.Text())
	}
}

// opened is a recorded history, and the question about its pod as of its end.
func opened(t *testing.T, name string) (journal.Source, Question) {
	t.Helper()
	source, err := journal.OpenFile(filepath.Join("testdata", name+".facts"))
	if err != nil {
		t.Fatal(err)
	}
	q := Question{}
	for _, p := range source.Pods() {
		if p.Pod.Name != "" {
			q.Namespace, q.Name = p.Pod.Namespace, p.Pod.Name
		}
	}
	q.Now = source.Stats().Last
	return source, q
}

func TestHandlerProposes(t *testing.T) {
	source, q := opened(t, "slow-handler")
	h := Handler(source, health.Policy{}, nil)
	get := func(query url.Values) *httptest.ResponseRecorder {
		query.Set("name", q.Name)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/why?"+query.Encode(), nil))
		return w
	}
	var r whatif.Result
	if w := get(url.Values{"whatif": {"livenessProbe.timeoutSeconds=5"}}); w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), &r) != nil || r.Kind != whatif.Kind {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	var s suggest.Result
	if w := get(url.Values{"suggest": {"true"}}); w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), &s) != nil || len(s.Suggestions) == 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, bad := range []string{"x", "livenessProbe.timeoutSeconds=-1", "readinessProbe.timeoutSeconds=5"} {
		if w := get(url.Values{"whatif": {bad}}); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, w.Code, w.Body)
		}
	}
}
