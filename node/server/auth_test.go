package server

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

func TestWhoMayAsk(t *testing.T) {
	n := startNode(t, nil)
	stranger := newAuthority(t, "another-ca")
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	foreign := n.as("")
	for _, c := range []struct {
		name   string
		client *http.Client
		header []string
		path   string
		status int
		body   string
	}{
		{"no credentials", n.as(""), nil, "/pods", 401, "Unauthorized"},
		{"no credentials, no such path", n.as(""), nil, "/nothing", 401, "Unauthorized"},
		{"unknown token", foreign, bearer("guessed"), "/pods", 401, "Unauthorized"},
		{"token, allowed", n.as(""), bearer("metrics-token"), "/pods", 200, `"kind":"PodList"`},
		{"token, not allowed", n.as(""), bearer("metrics-token"), "/stats/summary", 403, "Forbidden (user=metrics, verb=get, resource=nodes, subresource(s)=[stats])"},
		{"certificate, allowed", n.as("root"), nil, "/stats/summary", 200, `"nodeName":"n1-false"`},
		{"certificate, allowed, no such path", n.as("root"), nil, "/nothing", 404, "404 page not found"},
		{"certificate, not allowed", n.as("nobody"), nil, "/pods", 403, "Forbidden (user=nobody, verb=get, resource=nodes, subresource(s)=[pods proxy])"},
		{"nodes/proxy opens what it always did", n.as("old"), nil, "/pods", 200, `"kind":"PodList"`},
		{"nodes/proxy does not open stats", n.as("old"), nil, "/stats/summary", 403, "subresource(s)=[stats]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := n.ask(c.client, http.MethodGet, c.path, c.header...)
			if status != c.status || !strings.Contains(body, c.body) {
				t.Errorf("GET %s: %d %q, want %d %q", c.path, status, body, c.status, c.body)
			}
		})
	}
	t.Run("certificate of another authority", func(t *testing.T) {
		cert, key := stranger.issue("root", 9)
		client := n.as("")
		client.Transport.(*http.Transport).TLSClientConfig.Certificates = keyPair(t, cert, key)
		if status, body := n.ask(client, http.MethodGet, "/pods"); status != 401 {
			t.Errorf("let in: %d %s", status, body)
		}
	})
}

func TestNobodyGetsInWhileTheAPIServerIsAway(t *testing.T) {
	n := startNode(t, nil)
	n.api.down = true
	if status, body := n.ask(n.as("root"), http.MethodGet, "/pods"); status != 500 || !strings.Contains(body, "Authorization error (user=root") {
		t.Errorf("%d %q", status, body)
	}
	if status, _ := n.ask(n.as(""), http.MethodGet, "/pods", "Authorization", "Bearer metrics-token"); status != 401 {
		t.Errorf("token taken unreviewed: %d", status)
	}
}

// The table of pkg/kubelet/server/auth.go in v1.37.2, with fine-grained
// authorisation (GA there).
func TestWhichAccessAPathNeeds(t *testing.T) {
	for path, want := range map[string]string{
		"/stats": "stats", "/stats/summary": "stats",
		"/metrics": "metrics", "/metrics/resource": "metrics", "/metrics/probes": "metrics",
		"/logs": "log", "/logs/syslog": "log",
		"/pods": "pods proxy", "/pods/": "pods proxy", "/runningpods": "pods proxy", "/runningpods/": "pods proxy",
		"/healthz": "healthz proxy", "/healthz/ping": "healthz proxy", "/configz": "configz proxy",
		"/containerLogs/a/b/c": "proxy", "/exec/a/b/c": "proxy", "/run/a/b/c": "proxy", "/why": "proxy",
		"/podsx": "proxy", "/statsx": "proxy", "/": "proxy",
	} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		var got []string
		for _, a := range attributes("n1", &user.DefaultInfo{Name: "u"}, r) {
			got = append(got, a.GetSubresource())
			if a.GetVerb() != "get" || a.GetResource() != "nodes" || a.GetName() != "n1" || !a.IsResourceRequest() {
				t.Errorf("%s: %+v", path, a)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s needs %v, want %s", path, got, want)
		}
	}
}

func TestEveryPathNeedsSomeAccess(t *testing.T) {
	known := []string{"stats", "metrics", "log", "pods", "healthz", "configz", "proxy"}
	rapid.Check(t, func(t *rapid.T) {
		r := httptest.NewRequest(rapid.SampledFrom([]string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}).Draw(t, "method"), "/", nil)
		r.URL.Path = "/" + rapid.String().Draw(t, "path")
		asked := attributes("n1", &user.DefaultInfo{Name: "u"}, r)
		if len(asked) == 0 {
			t.Fatal("open to all")
		}
		for _, a := range asked {
			if !slices.Contains(known, a.GetSubresource()) || a.GetName() != "n1" || (a.GetVerb() == "") != (r.Method == "OPTIONS") {
				t.Fatalf("%+v", a)
			}
		}
	})
}
