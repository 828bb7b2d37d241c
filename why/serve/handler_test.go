package serve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
)

func TestHandler(t *testing.T) {
	source, err := journal.OpenFile("testdata/wrong-port.facts")
	if err != nil {
		t.Fatal(err)
	}
	h := Handler(source, health.Policy{}, nil)
	for _, c := range []struct {
		method, query string
		status        int
		has           string
	}{
		{"GET", "?namespace=default&name=p10a", 200, `"cause":"probe-wrong-port"`},
		{"GET", "?name=p10a&kind=pod&container=c&since=240h", 200, `"kind":"Answer"`},
		{"GET", "?namespace=default", 200, `"kind":"AnswerList"`},
		{"GET", "?namespace=elsewhere", 200, `"items":[]`},
		{"GET", "?namespace=default&name=p10a&owner=u1", 200, `"items":[]`},
		{"GET", "?namespace=default&name=p10b", 404, "there is default/p10a"},
		{"GET", "?name=p10a&since=yesterday", 400, "since"},
		{"GET", "?name=x&kind=node", 200, `"kind":"Node"`},
		{"GET", "?name=x&kind=service", 400, "pods only"},
		{"POST", "?name=p10a", 405, "GET"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, "/why"+c.query, nil))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.has) {
			t.Errorf("%s %s: %d %s", c.method, c.query, w.Code, w.Body)
		}
		if w.Code == http.StatusOK && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: not JSON", c.query)
		}
	}
	var a answer.Answer
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/why?name=p10a", nil))
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || a.Subject.Name != "p10a" || a.APIVersion != answer.APIVersion {
		t.Errorf("%v %+v", err, a.Subject)
	}
}

func TestAlike(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"web-6755b", "web", true},
		{"web-1", "wbe-1", false},
		{"payments-0", "paymetns-0", true},
		{"p8b", "p8c", true},
		{"p8b", "q9c", false},
		{"x", "", false},
	} {
		if got := Alike(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %v", c.a, c.b, got)
		}
	}
}
