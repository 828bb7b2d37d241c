package serve

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"whylet.dev/whylet/journal"
)

// What a node gives of a pod's facts answers as its own journal does.
func TestFactsHandler(t *testing.T) {
	source, q := opened(t, "oom-main")
	h := FactsHandler(source)
	get := func(query url.Values) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/why/facts?"+query.Encode(), nil))
		return w
	}
	w := get(url.Values{"name": {q.Name}, "namespace": {q.Namespace}})
	file, err := journal.NewFile(w.Body)
	if w.Code != http.StatusOK || err != nil {
		t.Fatalf("%d: %v", w.Code, err)
	}
	want, err := One(source, q)
	if err != nil {
		t.Fatal(err)
	}
	got, err := One(file, q)
	if err != nil || got.Verdicts[0].Text != want.Verdicts[0].Text {
		t.Errorf("%v: %+v", err, got.Verdicts)
	}
	if w := get(url.Values{"kind": {"node"}, "name": {"vm"}}); w.Code != http.StatusOK {
		t.Errorf("of the node: %d %s", w.Code, w.Body)
	}
	for code, query := range map[int]url.Values{http.StatusNotFound: {"name": {"nobody"}}, http.StatusBadRequest: {}} {
		if w := get(query); w.Code != code {
			t.Errorf("%v: %d %s", query, w.Code, w.Body)
		}
	}
}
