package door_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/door"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/test/fronts"
	"whylet.dev/whylet/why/question"
)

// tenancy is a cluster in which a tenant of namespace shop tries to learn something of namespace other, whose pods are
// all called hidden, and of secrets there.
type tenancy struct {
	t      *testing.T
	w      *fronts.World
	j      *journal.Journal
	alice  dynamic.ResourceInterface // as the tenant, questions in shop
	there  dynamic.ResourceInterface // the same in other
	all    dynamic.ResourceInterface // the same, of everything
	caller caller
	hidden *v1.Pod
	asked  int
}

// Secrets of the other namespace: in a variable, in a log, in an argument; and a word of its log that is none.
var theirSecrets = []string{"envPwA1zz77", "logPwA1zz77", "argPwA1zz77", "theirword"}

// lived makes a pod that ended once, and what its node recorded.
func (c *tenancy) lived(namespace, name string, said ...string) *v1.Pod {
	c.t.Helper()
	pod, err := c.w.Kube.Client.CoreV1().Pods(namespace).Create(c.t.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "hidden"}, OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "hidden-rs", UID: "hidden-rs"}}},
		Spec: v1.PodSpec{NodeName: "node-a", Containers: []v1.Container{{
			Name: "app", Image: "hidden-image:1", Args: []string{"--password", theirSecrets[2]}, Env: []v1.EnvVar{{Name: "SETTING", Value: theirSecrets[0]}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	if namespace == "shop" { // the tenant knows what it has itself
		pod.Spec.Containers[0].Args, pod.Spec.Containers[0].Env = nil, nil
	}
	now := time.Now().UTC()
	for _, body := range []fact.Body{
		fact.SpecSeen{Object: pod, Source: "api"},
		fact.Started{ContainerID: "containerd://" + name, PID: 7, Image: "hidden-image:1"},
		fact.Exited{ContainerID: "containerd://" + name, ExitCode: 1, OOMKnown: true, LastLines: said},
	} {
		f := fact.Redacted(fact.Fact{ID: c.j.Next(1), Pod: fact.Pod{Namespace: namespace, Name: name, UID: pod.UID}, At: now, Seen: now, Body: body})
		if f.Body.Kind() != (fact.SpecSeen{}).Kind() {
			f.Container = "app"
		}
		if err := c.j.Append(f); err != nil {
			c.t.Fatal(err)
		}
	}
	return pod
}

func newTenancy(t *testing.T) *tenancy {
	t.Helper()
	w := fronts.New(t, nil)
	w.Node("node-a")
	j, err := journal.Open(t.TempDir(), journal.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	c := &tenancy{t: t, w: w, j: j}
	for _, name := range []string{"hidden-2", "hidden-3", "hidden-1"} {
		c.hidden = c.lived("other", name, "password="+theirSecrets[1], "FATAL: "+theirSecrets[3], "dial tcp: lookup ledger.partner-bank.example: no such host")
	}
	c.hidden.Status.PodIP, c.hidden.Status.PodIPs = "10.99.9.9", []v1.PodIP{{IP: "10.99.9.9"}}
	if _, err := w.Kube.Client.CoreV1().Pods("other").UpdateStatus(t.Context(), c.hidden, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": "hidden"}, Ports: []v1.ServicePort{{Port: 5432}}}}
	if _, err := w.Kube.Client.CoreV1().Services("other").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, said := range map[string]string{
		"guess": "dial tcp: lookup ledger.partner-bank.example: no such host", "guesz": "dial tcp: lookup nobody.partner-bank.example: no such host",
		"by-ip": "dial tcp 10.99.9.9:5432: connect: connection refused", "by-iq": "dial tcp 10.99.9.8:5432: connect: connection refused",
		"by-name": "dial tcp: lookup db.other.svc.cluster.local: i/o timeout", "by-namf": "dial tcp: lookup dc.other.svc.cluster.local: i/o timeout",
		"by-port": "could not connect to server db.other:5432: connection refused", "by-poru": "could not connect to server dc.other:5432: connection refused",
	} {
		c.lived("shop", name, said)
	}
	w.Agent("node-a", j)
	w.Until("the agent tells of its pods", func() bool { return w.Ill("") == 11 })
	a := open(t, w)
	allow(t, w, "alice", "view", "shop") // made by the controllers that this API server lacks
	allow(t, w, "alice", "whylet-why-asker", "shop")
	allowAccount(t, w, "shop", "default", "whylet-why-asker", "shop")
	api, err := dynamic.NewForConfig(w.Kube.As("alice"))
	if err != nil {
		t.Fatal(err)
	}
	everything := questions
	everything.Resource = question.ClusterResource
	c.alice, c.there, c.all = api.Resource(questions).Namespace("shop"), api.Resource(questions).Namespace("other"), api.Resource(everything)
	server := httptest.NewTLSServer((&door.HTTPS{API: w.Kube.Client, Answerer: a, Hub: w.Hub, Version: "test"}).Handler())
	t.Cleanup(server.Close)
	c.caller = caller{t, server, accountToken(t, w, "shop", "default", link.Audience)}
	return c
}

// ask puts a question of any spec, and gives what its asker can see of it in the end.
func (c *tenancy) ask(in dynamic.ResourceInterface, kind string, spec map[string]any) string {
	c.asked++
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": question.Group + "/" + question.Version, "kind": kind, "spec": spec}}
	u.SetName(fmt.Sprint("attempt-", c.asked))
	if _, err := in.Create(c.t.Context(), u, metav1.CreateOptions{}); err != nil {
		return "refused: " + err.Error()
	}
	var seen string
	if err := wait.PollUntilContextTimeout(c.t.Context(), 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		got, err := in.Get(ctx, u.GetName(), metav1.GetOptions{})
		if err != nil {
			seen = "gone: " + err.Error()
			return true, nil
		}
		text, _ := json.Marshal(got.Object["status"])
		var s question.Status
		if json.Unmarshal(text, &s) != nil || s.AnsweredAt.IsZero() {
			return false, nil
		}
		seen = string(text) + unpacked(s.Facts)
		return true, nil
	}); err != nil {
		c.t.Errorf("no answer to %v: %v", spec, err)
	}
	return seen
}

// unpacked are the facts of a portable file as text.
func unpacked(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	file, err := journal.NewFile(bytes.NewReader(raw))
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for f, err := range file.Query(journal.Query{}) {
		line, _ := f.MarshalJSON()
		fmt.Fprintf(&out, "%s %v\n", line, err)
	}
	return out.String()
}

func (c *tenancy) get(path string, header ...string) string {
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.caller.server.URL+path, nil)
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+c.caller.token)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := c.caller.server.Client().Do(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return fmt.Sprint(answer.StatusCode, answer.Header, string(text))
}

func (c *tenancy) post(path, body string) string {
	code, text := c.caller.do(http.MethodPost, path, body)
	return fmt.Sprint(code, text)
}

// tool calls a tool as an assistant does.
func (c *tenancy) tool(name string, arguments map[string]any) string {
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: c.caller.server.URL + "/mcp", HTTPClient: &http.Client{Transport: c.caller}, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return err.Error()
	}
	defer session.Close()
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	text, _ := json.Marshal(r)
	return fmt.Sprint(string(text), err)
}

// told is what is answered about a pod of the tenant's own.
func (c *tenancy) told(pod string) string {
	return c.ask(c.alice, question.Kind, map[string]any{"name": pod})
}

// attempts are what a tenant tries that has the rights of view in its own namespace, thought of from docs/security.md alone. What
// comes of each is searched for what is the other namespace's.
func (c *tenancy) attempts() map[string]func() string {
	q := func(spec map[string]any) func() string {
		return func() string { return c.ask(c.alice, question.Kind, spec) }
	}
	get := func(path string, header ...string) func() string {
		return func() string { return c.get(path, header...) }
	}
	tool := func(name string, arguments map[string]any) func() string {
		return func() string { return c.tool(name, arguments) }
	}
	uid := string(c.hidden.UID)
	alert := func(namespace, pod string) string {
		return fmt.Sprintf(`{"version":"4","alerts":[{"labels":{"namespace":"shop","pod":"guess"}},{"labels":{"namespace":%q,"pod":%q}}]}`, namespace, pod)
	}
	return map[string]func() string{
		"01 their pod by its name":               q(map[string]any{"name": "hidden-1"}),
		"02 with its namespace in the name":      q(map[string]any{"name": "other/hidden-1"}),
		"03 by a path":                           q(map[string]any{"name": "../other/hidden-1"}),
		"04 with their namespace beside it":      q(map[string]any{"name": "hidden-1", "namespace": "other"}),
		"05 their pod's UID under an own name":   q(map[string]any{"name": "guess", "uid": uid, "facts": true}),
		"06 their pod's facts by name and UID":   q(map[string]any{"name": "hidden-1", "uid": uid, "facts": true, "namespace": "other"}),
		"07 the facts of the own pod":            q(map[string]any{"name": "guess", "facts": true}),
		"08 the node":                            q(map[string]any{"kind": "node", "name": "node-a"}),
		"09 the node's facts":                    q(map[string]any{"kind": "node", "name": "node-a", "facts": true}),
		"10 their Service":                       q(map[string]any{"kind": "service", "name": "db", "namespace": "other"}),
		"11 their ReplicaSet":                    q(map[string]any{"kind": "replicaset", "name": "hidden-rs"}),
		"12 all of theirs":                       q(map[string]any{"all": true, "namespace": "other"}),
		"13 all":                                 q(map[string]any{"all": true}),
		"14 a kind that there is not":            q(map[string]any{"kind": "secret", "name": "hidden-secret"}),
		"15 what if of their pod":                q(map[string]any{"name": "hidden-1", "whatIf": "app:memory=1Gi", "namespace": "other"}),
		"16 a what-if that makes no sense":       q(map[string]any{"name": "guess", "whatIf": "../../other:x=y"}),
		"17 settings for their pod":              q(map[string]any{"name": "hidden-1", "suggest": true, "namespace": "other"}),
		"18 another container":                   q(map[string]any{"name": "guess", "container": "../hidden-1/app"}),
		"19 a time before all":                   q(map[string]any{"name": "guess", "since": "876000h"}),
		"20 a name that is like theirs":          q(map[string]any{"name": "hidden-11"}),
		"21 a question there":                    func() string { return c.ask(c.there, question.Kind, map[string]any{"name": "hidden-1"}) },
		"22 a question about everything":         func() string { return c.ask(c.all, question.ClusterKind, map[string]any{"all": true}) },
		"23 their questions":                     func() string { l, err := c.there.List(c.t.Context(), metav1.ListOptions{}); return fmt.Sprint(l, err) },
		"24 an answer of one's own making":       c.forge,
		"25 a question in another's name":        q(map[string]any{"name": "hidden-1", "asker": "root"}),
		"26 /why there":                          get("/why?namespace=other&name=hidden-1"),
		"27 /why with two namespaces":            get("/why?namespace=shop&namespace=other&name=hidden-1"),
		"28 /why with a path for a namespace":    get("/why?namespace=shop%2F..%2Fother&name=hidden-1"),
		"29 /why of the node":                    get("/why?namespace=shop&kind=node&name=node-a"),
		"30 /why as somebody else":               get("/why?namespace=other&name=hidden-1", "Impersonate-User", "root", "X-Remote-User", "root", "X-Remote-Group", "system:masters"),
		"31 /why with values":                    get("/why?namespace=other&name=hidden-1&values=true&withValues=true"),
		"32 /page of theirs":                     get("/page?namespace=other&name=hidden-1"),
		"33 /page of the node":                   get("/page?namespace=shop&kind=node&name=node-a"),
		"34 /page of the own pod":                get("/page?namespace=shop&name=guess"),
		"35 /metrics":                            get("/metrics"),
		"36 a path around the door":              get("/alerts/../metrics"),
		"37 an alert of theirs beside an own":    func() string { return c.post("/alerts", alert("other", "hidden-1")) },
		"38 an alert of a path":                  func() string { return c.post("/alerts", alert("shop", "../other/hidden-1")) },
		"39 the API server's webhook":            func() string { return c.post("/deletions/", "{}") },
		"40 an assistant about theirs":           tool("why", map[string]any{"namespace": "other", "name": "hidden-1"}),
		"41 an assistant about everything":       tool("overview", map[string]any{"everywhere": true, "all_namespaces": true}),
		"42 an assistant's facts of theirs":      tool("facts", map[string]any{"namespace": "other", "name": "hidden-1"}),
		"43 an assistant's facts by UID":         tool("facts", map[string]any{"namespace": "shop", "name": "guess", "uid": uid}),
		"44 an assistant's timeline of the node": tool("timeline", map[string]any{"namespace": "shop", "kind": "node", "name": "node-a"}),
	}
}

// forge writes an answer into a question, and takes another's from it.
func (c *tenancy) forge() string {
	patch := []byte(`{"status":{"by":"root","answeredAt":"2026-01-01T00:00:00.000000Z"}}`)
	got, err := c.alice.Patch(c.t.Context(), "attempt-1", types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err == nil {
		c.t.Error("a tenant may write answers")
	}
	return fmt.Sprint(got, err)
}

// pairs are pods of the tenant's own that say the same, one of them with a guess about others that is right: what is answered must
// not tell which.
var pairs = map[string][2]string{
	"45 a host that others depend on": {"guess", "guesz"},
	"46 the address of their pod":     {"by-ip", "by-iq"},
	"47 the name of their Service":    {"by-name", "by-namf"},
	"48 their Service and its port":   {"by-port", "by-poru"},
}

// TestFortyAttempts: with the rights of view in one namespace nothing is learned of another.
func TestFortyAttempts(t *testing.T) {
	c := newTenancy(t)
	if text := c.told("guess"); !strings.Contains(text, "app-exit") && !strings.Contains(text, "dependency") {
		t.Fatalf("nothing is answered at all: %s", text)
	}
	for name, attempt := range c.attempts() {
		text := attempt()
		for _, secret := range theirSecrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s: what is theirs: %s", name, text)
			}
		}
		for _, word := range []string{"hidden-2", "hidden-3", string(c.hidden.UID)} {
			if strings.Contains(text, word) {
				t.Errorf("%s: %s: %s", name, word, text)
			}
		}
	}
	for name, pair := range pairs {
		right, wrong := c.essence(pair[0]), c.essence(pair[1])
		if right != wrong {
			t.Errorf("%s can be told:\n%s\n%s", name, right, wrong)
		}
	}
}

// essence is what is answered about a pod, without what differs between two that say the same.
func (c *tenancy) essence(pod string) string {
	var s question.Status
	text := c.told(pod)
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		c.t.Fatalf("%v: %s", err, text)
	}
	var list struct {
		Items []struct {
			Verdicts []struct {
				Cause, Certainty, Text string
				Fixes                  []struct{ Text, Command string }
				Contributing           []struct{ Text string }
			}
		}
	}
	if err := json.Unmarshal(s.Answers, &list); err != nil {
		c.t.Fatal(err)
	}
	plain := strings.NewReplacer(pod, "POD", "ledger.", "HOST.", "nobody.", "HOST.", "10.99.9.9", "IP", "10.99.9.8", "IP", "db.other", "SVC", "dc.other", "SVC", "Service db ", "Service NAME ", "Service dc ", "Service NAME ", "svc/db", "SERVICE", "svc/dc", "SERVICE")
	return plain.Replace(fmt.Sprintf("%+v", list.Items))
}
