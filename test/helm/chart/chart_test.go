// Package chart holds the chart to the real Helm: what is rendered elsewhere is rendered
// by it to the same, and its linter finds nothing.
package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

const (
	root   = "../../.."
	folder = root + "/deploy/chart/whylet"
)

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// applied are the settings of who renders without a cluster, and applies that once.
func applied() map[string]any {
	return map[string]any{"front": map[string]any{"tls": map[string]any{"once": true}}}
}

// capabilities are those of a cluster of today; Helm's library stands for one of 1.20.
func capabilities() *chartutil.Capabilities {
	c := chartutil.DefaultCapabilities.Copy()
	c.KubeVersion = chartutil.KubeVersion{Version: "v1.36.3", Major: "1", Minor: "36"}
	return c
}

// render gives the objects that the chart makes, by kind and name. It sees no cluster, as
// Argo CD does not.
func render(t *testing.T, values map[string]any) (map[string]map[string]any, error) {
	t.Helper()
	c := load(t)
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "whylet", Namespace: "eyes", Revision: 1, IsInstall: true}, capabilities())
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	objects := map[string]map[string]any{}
	for name, text := range files {
		if filepath.Ext(name) == ".yaml" {
			read(t, text, objects)
		}
	}
	return objects, nil
}

func read(t *testing.T, text string, objects map[string]map[string]any) {
	t.Helper()
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if o == nil {
			continue
		}
		meta := o["metadata"].(map[string]any)
		if labels, ok := meta["labels"].(map[string]any); ok { // who installs differs
			delete(labels, "app.kubernetes.io/managed-by")
		}
		objects[o["kind"].(string)+"/"+meta["name"].(string)] = o
	}
}

func TestLint(t *testing.T) {
	for _, m := range lint.All(folder, nil, "eyes", false).Messages {
		if m.Severity >= support.WarningSev {
			t.Error(m)
		}
	}
}

// TestSameAsEmbedded: Helm makes what kubectl why install makes.
func TestSameAsEmbedded(t *testing.T) {
	values := applied()
	values["createNamespace"] = true
	got, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, "deploy", "manifests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{}
	read(t, strings.NewReplacer("$(NAMESPACE)", "eyes", "$(REGISTRY)", "whylet.dev", "$(VERSION)", "devel").Replace(string(b)), want)
	for name, o := range want {
		if !reflect.DeepEqual(got[name], o) {
			a, _ := json.Marshal(got[name])
			b, _ := json.Marshal(o)
			t.Errorf("%s:\n%s\n%s", name, a, b)
		}
		delete(got, name)
	}
	// Its certificate Helm makes itself.
	for _, name := range []string{"Secret/whylet-front", "ConfigMap/whylet-front"} {
		if got[name] == nil {
			t.Errorf("no %s", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("Helm makes %s besides", name)
	}
}

func TestValues(t *testing.T) {
	got, err := render(t, map[string]any{"front": map[string]any{"enabled": false}, "agent": map[string]any{"privileged": false, "tap": false}})
	if err != nil {
		t.Fatal(err)
	}
	if got["Deployment/whylet-front"] != nil || got["Secret/whylet-front"] != nil {
		t.Error("a front that is not wanted")
	}
	agent, _ := json.Marshal(got["DaemonSet/whylet-agent"])
	if strings.Contains(string(agent), `"privileged":true`) || !strings.Contains(string(agent), "--no-tap") || strings.Contains(string(agent), "--front") {
		t.Errorf("%s", agent)
	}
	if got, err = render(t, map[string]any{"front": map[string]any{"deletions": true, "tls": map[string]any{"once": true}}}); err != nil || got["ValidatingWebhookConfiguration/whylet-deletions"] == nil || got["Secret/whylet-webhook"] == nil {
		t.Errorf("%v: no webhook among %d objects", err, len(got))
	} else if text, _ := json.Marshal(got["ValidatingWebhookConfiguration/whylet-deletions"]); !regexp.MustCompile(`"path":"/deletions/[a-z0-9]{32}"`).Match(text) {
		t.Errorf("the API server does not take that path: %s", text)
	}
	for _, bad := range []map[string]any{
		{"agents": map[string]any{}},
		{"agent": map[string]any{"dataDir": "relative"}},
		{"front": map[string]any{"replicas": 0}},
		{"image": map[string]any{"pullPolicy": "Sometimes"}},
		{"image": map[string]any{"digests": map[string]any{"front": "latest"}}},
		{"front": map[string]any{"webhookKey": map[string]any{"value": "UPPER-case-is-no-path"}}},
	} {
		if _, err := render(t, bad); err == nil || !strings.Contains(err.Error(), "values don't meet") {
			t.Errorf("%v was taken: %v", bad, err)
		}
	}
}
