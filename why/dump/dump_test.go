package dump

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/why/record"
)

const most = 64 << 20

// The objects of the dumps: a Deployment whose pod ends again and again.
const (
	namespaces = `{"apiVersion":"v1","kind":"NamespaceList","items":[{"metadata":{"name":"shop"}},{"metadata":{"name":"kube-system"}}]}`
	nodes      = `{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"n1","uid":"n"},"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-11-20T10:03:00Z"}]}}]}`
	pods       = `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"web-1","namespace":"shop","uid":"p","labels":{"app":"web"},"creationTimestamp":"2026-11-20T09:00:00Z"},
		"spec":{"nodeName":"n1","containers":[{"name":"app","image":"shop/web:1"},{"name":"proxy","image":"proxy:1"}]},
		"status":{"phase":"Running","startTime":"2026-11-20T09:00:00Z","containerStatuses":[
			{"name":"app","ready":false,"restartCount":9,"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 5m0s restarting failed container=app"}},
			 "lastState":{"terminated":{"exitCode":1,"reason":"Error","startedAt":"2026-11-20T10:00:00Z","finishedAt":"2026-11-20T10:00:02Z"}}},
			{"name":"proxy","ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-11-20T09:00:01Z"}}}]}}]}`
	events = `{"apiVersion":"v1","kind":"EventList","items":[{"metadata":{"name":"web-1.1","namespace":"shop"},"involvedObject":{"kind":"Pod","namespace":"shop","name":"web-1","uid":"p"},
		"type":"Warning","reason":"BackOff","message":"Back-off restarting failed container app in pod web-1","count":40,"firstTimestamp":"2026-11-20T09:01:00Z","lastTimestamp":"2026-11-20T10:02:30Z","source":{"component":"kubelet"}}]}`
	none = `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"7"},"items":[]}`
	said = "FATAL: password authentication failed for user \"web\"\n"
)

func inYAML(t testing.TB, text string) string {
	t.Helper()
	y, err := yaml.JSONToYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(y)
}

// items are the objects of a list alone, as older support bundles have them.
func items(t testing.TB, list string) string {
	t.Helper()
	var l struct{ Items json.RawMessage }
	if err := json.Unmarshal([]byte(list), &l); err != nil {
		t.Fatal(err)
	}
	return string(l.Items)
}

// got is what kubectl get prints of a list.
func got(t testing.TB, list, version, kind string) string {
	t.Helper()
	var l struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(list), &l); err != nil {
		t.Fatal(err)
	}
	for i := range l.Items {
		l.Items[i] = labelled(l.Items[i], version, kind)
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": l.Items})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// layouts are the forms in which the same cluster was collected.
func layouts(t testing.TB) map[string]map[string]string {
	stamped := "2026-11-20T10:00:01.5Z " + said
	stream := nodes + "\n" + events + "\n" + pods + "\n==== START logs for container app of pod shop/web-1 ====\n" + said +
		"==== END logs for container app of pod shop/web-1 ====\n==== START logs for container proxy of pod shop/web-1 ====\nRequest log error: no\n==== END logs for container proxy of pod shop/web-1 ====\n"
	return map[string]map[string]string{
		"cluster-info": {
			"nodes.json": nodes, "shop/pods.json": pods, "shop/events.json": events, "shop/configmaps.json": none,
			"shop/web-1/logs.txt": "==== START logs for container app of pod shop/web-1 ====\n" + said + "==== END logs for container app of pod shop/web-1 ====\n",
		},
		"cluster-info in YAML": {
			"nodes.yaml": inYAML(t, nodes), "shop/pods.yaml": inYAML(t, pods), "shop/events.yaml": "---\n" + inYAML(t, events), "shop/configmaps.yaml": inYAML(t, none),
			"shop/web-1/logs.txt": "==== START logs for container app of pod shop/web-1 ====\n" + said + "==== END logs for container app of pod shop/web-1 ====\n",
		},
		"cluster-info in one stream": {"dump.txt": stream},
		"cluster-info in one stream of YAML": {
			"dump.yaml": inYAML(t, nodes) + "---\n" + inYAML(t, events) + "---\n" + inYAML(t, pods) + stream[strings.Index(stream, "===="):] + "---\n" + inYAML(t, none),
		},
		"must-gather": {
			"must-gather.local.1/timestamp":                                                                         "2026-11-20 10:01:00.1 +0000 UTC m=+0.1\n2026-11-20 10:03:00 +0000 UTC m=+120.1\n",
			"must-gather.local.1/version":                                                                           "must-gather\n4.18\n",
			"must-gather.local.1/quay-io/cluster-scoped-resources/core/nodes/n1.yaml":                               "---\n" + inYAML(t, string(labelled(json.RawMessage(strings.TrimSuffix(strings.TrimPrefix(items(t, nodes), "["), "]")), "v1", "Node"))),
			"must-gather.local.1/quay-io/namespaces/shop/core/pods.yaml":                                            "---\n" + inYAML(t, pods),
			"must-gather.local.1/quay-io/namespaces/shop/core/events.yaml":                                          "---\n" + inYAML(t, events),
			"must-gather.local.1/quay-io/namespaces/shop/core/configmaps.yaml":                                      "---\n" + inYAML(t, none),
			"must-gather.local.1/quay-io/namespaces/shop/pods/web-1/app/app/logs/previous.log":                      stamped,
			"must-gather.local.1/quay-io/namespaces/shop/pods/web-1/app/app/logs/current.log":                       "2026-11-20T10:02:31.1Z starts\n",
			"must-gather.local.1/quay-io/namespaces/shop/route.openshift.io/routes.yaml":                            "---\napiVersion: route.openshift.io/v1\nkind: RouteList\nitems: []\n",
			"must-gather.local.1/quay-io/host_service_logs/masters/kubelet_service.log":                             "Nov 20 10:00:00 n1 kubelet: hello\n",
			"must-gather.local.1/quay-io/namespaces/shop/pods/web-1/proxy/proxy/logs/current.log":                   "",
			"must-gather.local.1/quay-io/namespaces/kube-system/core/pods.yaml":                                     "---\napiVersion: v1\nkind: PodList\nitems: []\n",
			"must-gather.local.1/quay-io/namespaces/shop/apps/deployments.yaml":                                     "---\napiVersion: apps/v1\nkind: DeploymentList\nitems: []\n",
			"must-gather.local.1/quay-io/namespaces/shop/monitoring.coreos.com/prometheuses.yaml":                   "---\napiVersion: monitoring.coreos.com/v1\nkind: PrometheusList\nitems:\n- {apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: x}}\n",
			"must-gather.local.1/quay-io/namespaces/shop/pods/web-1/app/app/healthz/index.json":                     "not found",
			"must-gather.local.1/quay-io/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml": "---\napiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\n",
			"must-gather.local.1/quay-io/namespaces/shop/pods/web-1/web-1.yaml":                                     "---\n" + inYAML(t, string(labelled(json.RawMessage(strings.TrimSuffix(strings.TrimPrefix(items(t, pods), "["), "]")), "v1", "Pod"))),
		},
		"support bundle": {
			"support-bundle-2026-11-20T10_03_10/version.yaml":                                            "apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\nspec: {}\n",
			"support-bundle-2026-11-20T10_03_10/cluster-resources/nodes.json":                            nodes,
			"support-bundle-2026-11-20T10_03_10/cluster-resources/namespaces.json":                       namespaces,
			"support-bundle-2026-11-20T10_03_10/cluster-resources/pods/shop.json":                        pods,
			"support-bundle-2026-11-20T10_03_10/cluster-resources/events/shop.json":                      events,
			"support-bundle-2026-11-20T10_03_10/cluster-resources/configmaps/shop.json":                  none,
			"support-bundle-2026-11-20T10_03_10/cluster-resources/pods/logs/shop/web-1/app-previous.log": stamped,
			"support-bundle-2026-11-20T10_03_10/cluster-resources/pods/logs/shop/web-1/app.log":          "2026-11-20T10:02:31.1Z starts\n",
			"support-bundle-2026-11-20T10_03_10/cluster-info/cluster_version.json":                       `{"info":{"major":"1"}}`,
			"support-bundle-2026-11-20T10_03_10/analysis.json":                                           `[{"name":"x"}]`,
		},
		"older support bundle": {
			"cluster-resources/nodes.json": items(t, nodes), "cluster-resources/pods/shop.json": items(t, pods), "cluster-resources/events/shop.json": items(t, events),
			"web/web-1/app-previous.log": stamped,
		},
		"kubectl get": {
			"pods.yaml": inYAML(t, got(t, pods, "v1", "Pod")), "no.json": got(t, nodes, "v1", "Node"), "ev.yaml": inYAML(t, got(t, events, "v1", "Event")), "web-1-app-previous.txt": said,
		},
		"kubectl get, tables and node files": {
			"pods.yaml":                           inYAML(t, got(t, pods, "v1", "Pod")),
			"nodes.json":                          got(t, nodes, "v1", "Node"),
			"events.txt":                          "LAST SEEN   TYPE      REASON    OBJECT      MESSAGE\n30s         Warning   BackOff   pod/web-1   Back-off restarting failed container app in pod web-1\n",
			"var/log/pods/shop_web-1_p/app/8.log": "2026-11-20T10:00:01.5Z stderr F " + said,
			"var/log/pods/shop_web-1_p/app/9.log": "2026-11-20T10:02:31.1Z stdout F starts\n",
			"var/log/pods/shop_web-1_p/app/7.log": "2026-11-20T09:55:01.5Z stderr F an older run\n",
		},
	}
}

// written writes a dump's files below a folder.
func written(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// packed writes a dump's files as an archive.
func packed(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), ModTime: time.Date(2026, 11, 20, 10, 3, 20, 0, time.UTC)}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLayouts(t *testing.T) {
	for name, files := range layouts(t) {
		t.Run(name, func(t *testing.T) {
			archive := filepath.Join(t.TempDir(), "dump.tgz")
			if err := os.WriteFile(archive, packed(t, files), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, at := range []string{written(t, files), archive} {
				c, err := Read(at, most)
				if err != nil {
					t.Fatal(err)
				}
				check(t, c)
			}
		})
	}
}

func check(t *testing.T, c *record.Case) {
	t.Helper()
	kinds := map[string]int{}
	for _, raw := range c.Objects {
		var o head
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		kinds[o.APIVersion+" "+o.Kind+" "+path.Join(o.Metadata.Namespace, o.Metadata.Name)]++
	}
	delete(kinds, "v1 Namespace shop")
	delete(kinds, "v1 Namespace kube-system")
	if kinds["v1 Node n1"] != 1 || kinds["v1 Pod shop/web-1"] != 1 || len(kinds) != 3 {
		t.Errorf("objects %v", kinds)
	}
	text := string(c.Logs[record.LogOf("shop", "web-1", "app", true)])
	if !strings.Contains(text, strings.TrimSpace(said)) || strings.Contains(text, "an older run") || strings.Contains(text, "stderr") {
		t.Errorf("logs %q", c.Logs)
	}
	if at := time.Date(2026, 11, 20, 10, 3, 0, 0, time.UTC); c.Time.Before(at) || c.Time.After(at.Add(time.Minute)) {
		t.Errorf("asked as of %v", c.Time)
	}
}

func TestHeld(t *testing.T) {
	all := layouts(t)
	for name, want := range map[string][]string{
		"cluster-info":   {"nodes", "shop/configmaps", "shop/events", "shop/pods"},
		"support bundle": {"namespaces", "nodes", "shop/configmaps", "shop/events", "shop/pods"},
		"must-gather":    {"kube-system/pods", "shop/configmaps", "shop/deployments", "shop/events", "shop/pods"},
		"kubectl get":    {},
	} {
		c, err := Read(written(t, all[name]), most)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Sort(c.Held); !slices.Equal(c.Held, want) {
			t.Errorf("%s has all of %v, and not %v", name, c.Held, want)
		}
	}
}

func TestHostile(t *testing.T) {
	dir := written(t, map[string]string{"pods.json": pods, "bad.json": `{"apiVersion":`, "deep.json": strings.Repeat("[", 20000), "what.bin": "\x00\x01", "new.yaml": "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"})
	secret := filepath.Join(t.TempDir(), "secret.log")
	if err := errors.Join(os.WriteFile(secret, []byte("geheim"), 0o644), os.Symlink(secret, filepath.Join(dir, "web-1.log")), os.Symlink("/", filepath.Join(dir, "root"))); err != nil {
		t.Fatal(err)
	}
	c, err := Read(dir, most)
	if err != nil || len(c.Logs) > 0 {
		t.Fatal(c, err)
	}
	for _, name := range []string{"bad.json", "deep.json", "what.bin", "web-1.log", "root", "new.yaml"} {
		if !slices.ContainsFunc(c.Missing, func(m string) bool { return strings.HasPrefix(m, name+": ") }) {
			t.Errorf("%s is not named: %q", name, c.Missing)
		}
	}
	r := newReader(1 << 20)
	zeros := packed(t, map[string]string{"a/../../pods.json": pods, "z.log": strings.Repeat("x", 40<<20)})
	z, err := gzip.NewReader(bytes.NewReader(zeros))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.archive(z); err != nil || len(r.into.Objects) != 1 || !strings.Contains(strings.Join(r.into.Missing, "\n"), "raise --max-size") {
		t.Error("of a bomb:", err, r.into.Missing)
	}
	if _, err := Read(written(t, map[string]string{"pods.json": pods}), 10); !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "raise --max-size") {
		t.Error("of a dump that is larger than may be:", err)
	}
	if _, err := Read(written(t, map[string]string{"x.txt": "hello"}), most); !errors.Is(err, ErrNothing) {
		t.Error("of nothing:", err)
	}
	if _, err := Read(filepath.Join(dir, "away"), most); !errors.Is(err, os.ErrNotExist) {
		t.Error("of none:", err)
	}
}

func FuzzContent(f *testing.F) {
	for _, files := range layouts(f) {
		for name, text := range files {
			f.Add(name, []byte(text))
		}
	}
	f.Add("d.txt", []byte("Name:  a\nNamespace:  b\nContainers:\n  c:\n    Liveness:  http-get http://:x/ delay=0s timeout=1s period=10s #success=1 #failure=3\nEvents:\n  Type  Reason  Age  From  Message\n  N  R  3m (x2 over 4d)  k  m\n"))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		r := newReader(most)
		r.jsonDocuments("pods.json", []byte(pods))
		r.take(file{name: name, size: int64(len(content)), in: bytes.NewReader(content)})
		c := r.finish()
		if _, err := c.Client(false); err != nil {
			t.Error(err)
		}
	})
}

func FuzzArchive(f *testing.F) {
	f.Add(packed(f, map[string]string{"pods.json": pods, "web-1.log": said}))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		r := newReader(1 << 20)
		if z, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
			_ = r.archive(z)
			r.finish()
		}
	})
}
