package ask

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/record"
)

// oomCase is a case of a pod whose history was recorded.
func oomCase(t *testing.T) *record.Case {
	t.Helper()
	const file = "../serve/testdata/oom-main.facts"
	source, err := journal.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	header, facts, err := journal.Read(raw)
	if err != nil {
		t.Fatal(err)
	}
	c := &record.Case{Manifest: record.Manifest{Time: source.Stats().Last.Add(time.Second)}, Logs: map[string][]byte{}, Facts: map[string][]byte{}}
	var text bytes.Buffer
	put := func(line any) {
		b, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(b, '\n'))
	}
	put(header)
	n := int64(0)
	for f, err := range facts {
		if err != nil {
			t.Fatal(err)
		}
		n++
		put(f)
	}
	put(journal.Trailer{Facts: n})
	c.Facts["n"] = text.Bytes()
	for _, span := range source.Pods() {
		if span.Pod.Name == "" {
			continue
		}
		c.Namespace = span.Pod.Namespace
		p := v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: span.Pod.Name, UID: span.Pod.UID}}
		p.Spec = v1.PodSpec{NodeName: "n", Containers: []v1.Container{{Name: "main", Env: []v1.EnvVar{{Name: "DB_PASSWORD", Value: "geheim"}}}}}
		p.Status.Phase = v1.PodRunning
		p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", RestartCount: 1, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}
		c.Logs[record.LogOf(p.Namespace, p.Name, "main", false)] = []byte("2026-01-01T00:00:00Z asks http://db.other.svc:80 with password=geheim\n")
		c.Logs[record.LogOf(p.Namespace, p.Name, "main", true)] = []byte("2026-01-01T00:00:00Z bye\n")
		c.Objects = append(c.Objects, asJSON(t, p))
	}
	c.Objects = append(c.Objects,
		asJSON(t, v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "n"}}),
		asJSON(t, v1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: c.Namespace}}),
		asJSON(t, v1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "db"}, Data: map[string][]byte{"key": []byte("geheim")}}),
		asJSON(t, v1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "conf"}, Data: map[string]string{"url": "postgres://u:geheim@db/x"}}),
	)
	c.Absent = []string{"other", "other/db"}
	return c
}

func asJSON(t *testing.T, o any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// of connects to a case as to a cluster.
func of(t *testing.T, c *record.Case, facts bool) *Cluster {
	t.Helper()
	from, err := Recorded(c, facts, Options{Namespace: c.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	return from
}

func TestRecord(t *testing.T) {
	cluster := oomCase(t)
	got, err := of(t, cluster, true).Record(t.Context(), nil, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := got.Write(&file); err != nil {
		t.Fatal(err)
	}
	c, err := record.Read(&file, record.Usual)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Missing) > 0 || !slices.Equal(c.Absent, []string{"other/db", "other"}) || !c.Time.Equal(cluster.Time) || len(c.Objects) != len(cluster.Objects) || len(c.Logs) != 2 {
		t.Errorf("recorded %+v with %d objects and %d logs", c.Manifest, len(c.Objects), len(c.Logs))
	}
	everything := string(slices.Concat(slices.Concat(c.Objects...), c.Facts["n"]))
	for _, log := range c.Logs {
		everything += string(log)
	}
	if strings.Contains(everything, "geheim") {
		t.Error("there is a secret in it:", everything)
	}
	all, err := of(t, c, true).All(t.Context())
	if err != nil || len(all) != 1 || all[0].Verdicts[0].Cause != answer.MemoryLimit || !all[0].AsOf.Equal(c.Time) {
		t.Errorf("asked with facts, it says %v, %v", all, err)
	}
	all, err = of(t, c, false).All(t.Context())
	if err != nil || len(all) != 1 || all[0].Journal.Complete {
		t.Errorf("asked by the API alone, it says %v, %v", all, err)
	}
}

// A record has no log lines of a pod, or of a namespace, that wants none kept, and says so.
func TestRecordWithoutLogLines(t *testing.T) {
	no := map[string]string{fact.LogLines: "false"}
	for what, mark := range map[string]func(*v1.Pod, *v1.Namespace){
		"logs of pod":       func(p *v1.Pod, _ *v1.Namespace) { p.Annotations = no },
		"logs of namespace": func(_ *v1.Pod, n *v1.Namespace) { n.Annotations = no },
	} {
		cluster := oomCase(t)
		var pod v1.Pod
		var space v1.Namespace
		for i, raw := range cluster.Objects {
			if json.Unmarshal(raw, &pod); pod.Kind == "Pod" {
				mark(&pod, &space)
				cluster.Objects[i] = asJSON(t, pod)
			}
			if json.Unmarshal(raw, &space); space.Kind == "Namespace" {
				mark(&pod, &space)
				cluster.Objects[i] = asJSON(t, space)
			}
			pod, space = v1.Pod{}, v1.Namespace{}
		}
		c, err := of(t, cluster, true).Record(t.Context(), nil, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Logs) > 0 || len(c.Missing) != 1 || !strings.HasPrefix(c.Missing[0], what) {
			t.Errorf("%s: %d logs, left out: %q", what, len(c.Logs), c.Missing)
		}
	}
}

// A kind of more objects than are read keeps those, and is not held.
func TestRecordOfMany(t *testing.T) {
	c := oomCase(t)
	inner, err := c.Client(true)
	if err != nil {
		t.Fatal(err)
	}
	endless := roundTrip(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/configmaps") {
			return inner.RoundTrip(r)
		}
		body := `{"metadata":{"continue":"x"},"items":[{"metadata":{"namespace":"shop","name":"a"}}]}`
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})
	q, err := Connect(&rest.Config{Host: "http://recorded", Transport: endless}, Options{Namespace: c.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	got, err := q.Record(t.Context(), nil, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, raw := range got.Objects {
		if strings.Contains(string(raw), `"kind":"ConfigMap"`) {
			n++
		}
	}
	if n != 20 || slices.Contains(got.Held, c.Namespace+"/configmaps") || !slices.Contains(got.Held, c.Namespace+"/pods") {
		t.Errorf("%d ConfigMaps, held %q, missing %q", n, got.Held, got.Missing)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRecordOfNoNamespace(t *testing.T) {
	c := oomCase(t)
	from := of(t, c, true)
	c.Absent = append(c.Absent, "nowhere")
	o := from.options
	o.Namespace = "nowhere"
	if _, err := from.With(o).Record(t.Context(), nil, func(string) {}); err == nil || !strings.Contains(err.Error(), "there is no namespace nowhere") {
		t.Error(err)
	}
}
