package door_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/door"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/test/fronts"
	"whylet.dev/whylet/why/ask"
)

// reads counts the requests for ConfigMaps.
type reads struct {
	http.RoundTripper
	n *atomic.Int64
}

func (r reads) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.Contains(request.URL.Path, "/configmaps") {
		r.n.Add(1)
	}
	return r.RoundTripper.RoundTrip(request)
}

// ledger is what a pod logs, and has in a ConfigMap.
const ledger = "ledger_7f3a"

// quoting makes a pod that ends and logs words which stand in its ConfigMap, and the memory of
// its node.
func quoting(t *testing.T, w *fronts.World, namespace, name string) *journal.Journal {
	t.Helper()
	maps := w.Kube.Client.CoreV1().ConfigMaps(namespace)
	text := "select * from " + ledger + " -- nobody else may read this\n"
	if _, err := maps.Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "query"}, Data: map[string]string{"query.sql": text}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod, err := w.Kube.Client.CoreV1().Pods(namespace).Create(t.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{
			NodeName:   "node-a",
			Containers: []v1.Container{{Name: "app", Image: "app", VolumeMounts: []v1.VolumeMount{{Name: "query", MountPath: "/etc/query"}}}},
			Volumes: []v1.Volume{{Name: "query", VolumeSource: v1.VolumeSource{
				ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "query"}},
			}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.TempDir(), journal.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	of, now := fact.Pod{Namespace: namespace, Name: name, UID: pod.UID}, time.Now().UTC()
	for _, f := range []fact.Fact{
		{Body: fact.SpecSeen{Object: pod, Source: "api"}},
		{Container: "app", Body: fact.Started{ContainerID: "containerd://1", PID: 7, Image: "app"}},
		{Container: "app", Body: fact.Exited{ContainerID: "containerd://1", ExitCode: 1, OOMKnown: true, LastLines: []string{`ERROR: relation "` + ledger + `" does not exist`}}},
	} {
		f.ID, f.Pod, f.At, f.Seen = j.Next(1), of, now, now
		if err := j.Append(f); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// No door quotes a ConfigMap, even where the front itself could read it: who asks may not.
func TestNoDoorReadsConfigMaps(t *testing.T) {
	w := fronts.New(t, nil)
	w.Node("node-a")
	w.Agent("node-a", quoting(t, w, "shop", "web-1"))
	w.Until("the agent tells of its pod", func() bool { return w.Ill("shop") == 1 })
	var read atomic.Int64
	able := rest.CopyConfig(w.Kube.Config) // an administrator's
	able.Wrap(func(next http.RoundTripper) http.RoundTripper { return reads{next, &read} })
	cluster, err := ask.Connect(able, ask.Options{Front: w.Hub})
	if err != nil {
		t.Fatal(err)
	}
	target := ask.Target{Kind: "pod", Name: "web-1", Namespace: "shop"}
	if _, err := cluster.About(t.Context(), target); err != nil || read.Swap(0) == 0 {
		t.Fatalf("even who may reads no ConfigMap, so that this proves nothing: %v", err)
	}
	a := &door.Answerer{Cluster: cluster, Front: w.Hub, Name: "front-0"}
	answering(t, w, &door.Questions{Answerer: a})
	allow(t, w, "alice", "whylet-why-asker", "shop")
	allow(t, w, "alice", "view", "shop") // made by the controllers that this API server lacks
	allow(t, w, "root", "whylet-why-admin", "")
	allowAccount(t, w, "shop", "default", "whylet-why-asker", "shop")
	server := httptest.NewTLSServer((&door.HTTPS{API: w.Kube.Client, Answerer: a, Hub: w.Hub, Version: "test"}).Handler())
	t.Cleanup(server.Close)
	tenant := caller{t, server, accountToken(t, w, "shop", "default", link.Audience)}
	get := func(path string) func() (string, error) {
		return func() (string, error) {
			code, text := tenant.do(http.MethodGet, path, "")
			return fmt.Sprint(code, text), nil
		}
	}
	for name, through := range map[string]func() (string, error){
		"Question":        func() (string, error) { return askedAs(t, w, "alice", "shop", target) },
		"ClusterQuestion": func() (string, error) { return askedAs(t, w, "root", "shop", target) },
		"/why":            get("/why?namespace=shop&name=web-1"),
		"/why of all":     get("/why?namespace=shop"),
		"/page":           get("/page?namespace=shop&name=web-1"),
		"/page of all":    get("/page?namespace=shop"),
		"/alerts": func() (string, error) {
			code, text := tenant.do(http.MethodPost, "/alerts", `{"version":"4","alerts":[{"status":"firing","labels":{"namespace":"shop","pod":"web-1"}}]}`)
			return fmt.Sprint(code, text), nil
		},
		"/mcp": func() (string, error) { return explained(t.Context(), tenant, "shop", "web-1") },
	} {
		text, err := through()
		if err != nil || !strings.Contains(text, "app-exit-error") || strings.Contains(text, "nobody else") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if n := read.Swap(0); n > 0 {
			t.Errorf("%s: the front reads ConfigMaps %d times", name, n)
		}
	}
}

// askedAs asks by an object in the cluster, with a user's rights, and gives what it is told.
func askedAs(t *testing.T, w *fronts.World, name, namespace string, target ask.Target) (string, error) {
	t.Helper()
	answers, err := as(t, w, name, namespace).About(t.Context(), target)
	return fmt.Sprintf("%+v", answers), err
}

// explained asks about a pod as an assistant does.
func explained(ctx context.Context, c caller, namespace, pod string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: c.server.URL + "/mcp", HTTPClient: &http.Client{Transport: c}, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "why", Arguments: map[string]any{"namespace": namespace, "name": pod}})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(r)
	return string(text), err
}
