package door_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	authv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/front/door"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/test/fronts"
)

// accountToken is a service account's token for an audience.
func accountToken(t *testing.T, w *fronts.World, namespace, account, audience string) string {
	t.Helper()
	r, err := w.Kube.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{Audiences: []string{audience}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Status.Token
}

type caller struct {
	t      *testing.T
	server *httptest.Server
	token  string
}

func (c caller) do(method, path, body string) (int, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.server.URL+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.server.Client().Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// login asks as a browser does whose user gave the token as a password.
func (c caller) login(path string) (int, http.Header) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.server.URL+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.SetBasicAuth("me", c.token)
	answer, err := c.server.Client().Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode, answer.Header
}

// RoundTrip shows the token with each request of an assistant.
func (c caller) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+c.token)
	return c.server.Client().Transport.RoundTrip(r)
}

func TestHTTPS(t *testing.T) {
	w := fronts.New(t, nil)
	w.Node("node-a")
	pod, foreign := w.Pod("shop", "web-1", "node-a"), w.Pod("other", "hidden-1", "node-a")
	j := w.Journal(pod, "oom-main")
	w.Record(j, foreign, "wrong-port")
	w.Agent("node-a", j)
	w.Until("the agent tells of its pods", func() bool { return w.Ill("") == 2 })
	a := open(t, w)
	for role, namespace := range map[string]string{"whylet-why-asker": "shop"} {
		allowAccount(t, w, "shop", "default", role, namespace)
	}
	allowAccount(t, w, "whylet", "whylet-agent", "whylet-why-admin", "")
	allowAccount(t, w, "whylet", "whylet-agent", "cluster-admin", "")
	server := httptest.NewTLSServer((&door.HTTPS{API: w.Kube.Client, Answerer: a, Hub: w.Hub, Version: "test"}).Handler())
	t.Cleanup(server.Close)
	tenant := caller{t, server, accountToken(t, w, "shop", "default", link.Audience)}
	admin := caller{t, server, accountToken(t, w, "whylet", "whylet-agent", link.Audience)}
	replayed := caller{t, server, accountToken(t, w, "whylet", "whylet-agent", "https://kubernetes.default.svc")}
	nobody := caller{t, server, ""}

	for name, c := range map[string]struct {
		who    caller
		path   string
		code   int
		has    string
		hasNot string
	}{
		"one pod":                      {tenant, "/why?namespace=shop&name=web-1", 200, "container-memory-limit", "hidden"},
		"a namespace":                  {tenant, "/why?namespace=shop", 200, "web-1", "hidden"},
		"another namespace":            {tenant, "/why?namespace=other&name=hidden-1", 403, "", "wrong-port"},
		"everything":                   {tenant, "/why", 403, "", "web-1"},
		"a node":                       {tenant, "/why?namespace=shop&kind=node&name=node-a", 403, "", ""},
		"a page":                       {tenant, "/page?namespace=shop&name=web-1", 200, "<html", "hidden-1"},
		"an overview":                  {tenant, "/page?namespace=shop", 200, "shop/web-1", "hidden-1"},
		"an overview of others":        {tenant, "/page?namespace=other", 403, "", "hidden-1"},
		"metrics":                      {tenant, "/metrics", 403, "", "web-1"},
		"everything, by who may":       {admin, "/why", 200, "hidden-1", ""},
		"metrics, by who may":          {admin, "/metrics", 200, `namespace="shop",pod="web-1"} 1`, ""},
		"verdicts are counted":         {admin, "/metrics", 200, `whylet_verdicts_total{cause="container-memory-limit"} `, ""},
		"with the API server's token":  {replayed, "/why?namespace=shop&name=web-1", 401, "", "memory"},
		"without a token":              {nobody, "/why?namespace=shop&name=web-1", 401, "", "memory"},
		"metrics without a token":      {nobody, "/metrics", 401, "", "whylet_pod"},
		"an assistant without a token": {nobody, "/mcp", 401, "", ""},
	} {
		code, text := c.who.do(http.MethodGet, c.path, "")
		if code != c.code || !strings.Contains(text, c.has) || c.hasNot != "" && strings.Contains(text, c.hasNot) {
			t.Errorf("%s: %d %.300s", name, code, text)
		}
	}
	alerts := `{"version":"4","status":"firing","alerts":[{"status":"firing","labels":{"alertname":"Restarts","namespace":"shop","pod":"web-1"},"annotations":{"summary":"it restarts"}}]}`
	if code, text := tenant.do(http.MethodPost, "/alerts", alerts); code != 200 || !strings.Contains(text, `"why":"`) || !strings.Contains(text, "container-memory-limit") || !strings.Contains(text, "it restarts") {
		t.Errorf("%d %s", code, text)
	}
	for path, want := range map[string]int{"/page?namespace=shop": 200, "/page?namespace=other": 403, "/why?namespace=shop": 401, "/metrics": 401} {
		code, header := tenant.login(path)
		if code != want {
			t.Errorf("%s with the token as a password: %d, wanted %d", path, code, want)
		}
		if code == 200 && (header.Get("Cross-Origin-Resource-Policy") != "same-origin" || !strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'")) {
			t.Errorf("%s can be read or framed from elsewhere: %v", path, header)
		}
	}
	if code, text := tenant.do(http.MethodPost, "/alerts", strings.ReplaceAll(alerts, `"shop"`, `"other"`)); code != 403 {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := tenant.do(http.MethodPost, "/alerts", `{"alerts":"`+strings.Repeat("x", 2<<20)+`"}`); code == 200 {
		t.Error("a body without end is taken")
	}
	assist(t, tenant)
	browse(t, tenant)
}

// A replica that has just begun leaves requests to the others until it knows of all nodes;
// where it is alone it says what it can.
func TestAReplicaThatHasJustBegunLeavesRequestsToOthers(t *testing.T) {
	w := fronts.New(t, nil)
	w.Node("node-a")
	pod := w.Pod("shop", "web-1", "node-a")
	allowAccount(t, w, "shop", "default", "whylet-why-asker", "shop")
	a, others := open(t, w), true
	server := httptest.NewTLSServer((&door.HTTPS{API: w.Kube.Client, Answerer: a, Hub: w.Hub, Version: "test", Others: func() bool { return others }}).Handler())
	t.Cleanup(server.Close)
	get := func(path string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+accountToken(t, w, "shop", "default", link.Audience))
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer, string(text)
	}
	for _, path := range []string{"/why?namespace=shop&name=web-1", "/page?namespace=shop", "/mcp"} {
		if r, text := get(path); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || !r.Close {
			t.Errorf("%s: %d %v %s", path, r.StatusCode, r.Header, text)
		}
	}
	others = false
	if r, text := get("/why?namespace=shop&name=web-1"); r.StatusCode != http.StatusOK || strings.Contains(text, "container-memory-limit") {
		t.Errorf("%d %s", r.StatusCode, text)
	}
	others = true
	w.Agent("node-a", w.Journal(pod, "oom-main"))
	w.Until("the agent tells of all its pods", func() bool { return w.Hub.Whole(t.Context()) })
	if r, text := get("/why?namespace=shop&name=web-1"); r.StatusCode != http.StatusOK || !strings.Contains(text, "container-memory-limit") {
		t.Errorf("%d %s", r.StatusCode, text)
	}
}

// assist asks as an assistant does, with a tenant's token.
func assist(t *testing.T, c caller) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: c.server.URL + "/mcp", HTTPClient: &http.Client{Transport: c}, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for name, want := range map[string]string{"shop": "container-memory-limit", "other": "you may not ask that"} {
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "unhealthy", Arguments: map[string]any{"namespace": name}})
		text, _ := json.Marshal(r)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v %.300s", name, err, text)
		}
	}
}

func allowAccount(t *testing.T, w *fronts.World, namespace, account, role, in string) {
	t.Helper()
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	meta := metav1.ObjectMeta{Name: account + "-" + role}
	var err error
	if in == "" {
		_, err = w.Kube.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
	} else {
		_, err = w.Kube.Client.RbacV1().RoleBindings(in).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}
