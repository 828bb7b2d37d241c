package command

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/why/record"
)

// keptShop is a recorded case of a deployment whose pod has no image.
func keptShop(t *testing.T) string {
	t.Helper()
	c := &record.Case{Manifest: record.Manifest{Namespace: "shop"}}
	for _, object := range []string{
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`,
		`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"n"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web","uid":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"web"}}}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web-1","uid":"p","labels":{"app":"web"}},
			"spec":{"nodeName":"n","containers":[{"name":"web","image":"nosuch:1"}]},
			"status":{"phase":"Pending","containerStatuses":[{"name":"web","state":{"waiting":{"reason":"ErrImagePull","message":"nosuch:1: not found"}}}]}}`,
	} {
		c.Objects = append(c.Objects, []byte(strings.ReplaceAll(object, "\n", "")))
	}
	file := filepath.Join(t.TempDir(), "shop.record")
	if err := writeCase(file, c); err != nil {
		t.Fatal(err)
	}
	return file
}

// listen serves a recorded case as a cluster.
func listen(t *testing.T, file string) string {
	t.Helper()
	c, err := record.Open(file, record.Usual)
	if err != nil {
		t.Fatal(err)
	}
	client, err := c.Client(true)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/replicationcontrollers") { // of which nothing is recorded
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"ReplicationControllerList","items":[]}`)
			return
		}
		answer, err := client.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return
		}
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestRecord(t *testing.T) {
	kept := keptShop(t)
	server := listen(t, kept)
	to := filepath.Join(t.TempDir(), "again.record")
	for _, c := range []struct {
		args      []string
		code      exit.Code
		out, errs string
	}{
		{[]string{"web-1", "--file", kept}, 0, "does not exist in its registry", ""},
		{[]string{"deploy/web", "--file", kept}, 0, "deployment shop/web", ""},
		{[]string{"-l", "app=web", "--file", kept}, 0, "pod shop/web-1", ""},
		{[]string{"--all", "--file", kept}, 0, "web-1", ""},
		{[]string{"pod/record", "--file", kept}, 1, "", "nothing is known"},
		{[]string{"record", "-n", "shop", "-s", server, "--to", to}, 0, "", "recorded namespace shop"},
		{[]string{"record", "-n", "shop", "-s", server, "--to", to}, 1, "", "exists already"},
		{[]string{"record", "-n", "shop", "-s", server, "--to", to, "--force"}, 0, "", "left out: facts of node n: fetching facts of node n"},
		{[]string{"deploy/web", "--file", to}, 0, "deployment shop/web", ""},
		{[]string{"record", "-n", "shop", "-s", server}, 2, "", "--to"},
		{[]string{"record", "web-1", "--to", to}, 2, "", "takes no names"},
		{[]string{"record", "-n", "shop", "-s", server, "--to", filepath.Join(to, "x")}, 1, "", "not a directory"},
	} {
		out, errs, code := run(t, "", c.args...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
			t.Errorf("%v: %d\n%s\n%s", c.args, code, out, errs)
		}
	}
	left, err := os.ReadDir(filepath.Dir(to))
	if err != nil || len(left) != 1 {
		t.Error("left there:", left, err)
	}
}
