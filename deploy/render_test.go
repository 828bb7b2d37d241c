package deploy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"
)

var rewrite = flag.Bool("rewrite", false, "write manifests.yaml anew, and the chart's copy of the front's")

const chart = "chart/whylet"

// render makes of the chart what Helm does, as far as the chart goes: it uses no more of
// its language than this (test/helm has the real one).
func render(t *testing.T, namespace, service, version string, values map[string]any) []string {
	t.Helper()
	root := template.New("chart").Option("missingkey=error")
	root.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out bytes.Buffer
			err := root.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"toYaml": func(v any) (string, error) {
			b, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(b), "\n"), err
		},
		"semverCompare": func(string, any) bool { return true },
		"nindent":       func(n int, s string) string { return "\n" + indent(n, s) },
		"quote":         func(s string) string { return strconv.Quote(s) },
		"int":           func(v float64) int { return int(v) },
		"default":       func(d string, v any) string { s, _ := v.(string); return cmp.Or(s, d) },
	})
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	// Of Helm's own functions; kubectl why install makes a certificate by itself.
	files = slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "front-certificate.yaml" })
	if _, err := root.ParseFiles(files...); err != nil {
		t.Fatal(err)
	}
	data := map[string]any{
		"Values": values, "Chart": map[string]any{"AppVersion": version}, "Capabilities": map[string]any{"APIVersions": everything{}, "KubeVersion": map[string]any{"Version": "v1.36.3"}},
		"Release": map[string]any{"Namespace": namespace, "Service": service, "Name": "whylet"},
	}
	var documents []string
	for _, f := range files {
		if filepath.Ext(f) != ".yaml" {
			continue
		}
		var out bytes.Buffer
		if err := root.ExecuteTemplate(&out, filepath.Base(f), data); err != nil {
			t.Fatal(err)
		}
		for d := range strings.SplitSeq(out.String(), "\n---\n") {
			if strings.TrimSpace(d) != "" {
				documents = append(documents, strings.TrimSpace(d))
			}
		}
	}
	slices.SortStableFunc(documents, func(a, b string) int { return cmp.Compare(rank(t, a), rank(t, b)) })
	return documents
}

// everything are the kinds of a cluster that knows all of them.
type everything struct{}

// Has is of Helm.
func (everything) Has(string) bool { return true }

func indent(n int, s string) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad)
}

var kindLine = regexp.MustCompile(`(?m)^kind: (.*)$`)

// order is that in which kinds need each other.
var order = []string{
	"Namespace", "PriorityClass", "NetworkPolicy", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "ClusterRoleBinding",
	"Role", "RoleBinding", "ConfigMap", "Secret", "PersistentVolumeClaim", "Service", "PodDisruptionBudget", "DaemonSet", "Deployment",
	"ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
}

func rank(t *testing.T, document string) int {
	t.Helper()
	kind := kindLine.FindStringSubmatch(document)
	if kind == nil || !slices.Contains(order, kind[1]) {
		t.Fatalf("when is this applied?\n%s", document)
	}
	return slices.Index(order, kind[1])
}

func values(t *testing.T) map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := yaml.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestManifests holds the manifests to the chart, and the chart to what the front brings
// itself, of which it has a copy: not everything that carries a chart carries links.
func TestManifests(t *testing.T) {
	copied(t, "manifests.yaml", "front-questions.yaml", func(text string) string {
		if !strings.Contains(text, toView) {
			t.Fatalf("nothing is aggregated to view:\n%s", text)
		}
		return strings.Replace(text, toView, "    {{- if .Values.rbac.aggregateToView }}\n"+toView+"    {{- end }}\n", 1)
	})
	copied(t, "admission.yaml", "front-admission.yaml", func(text string) string {
		return `{{- if or (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy") (semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version) }}` + "\n" + text + "{{- end }}\n"
	})
	v := values(t)
	v["createNamespace"] = true
	v["image"].(map[string]any)["registry"] = markRegistry
	want := strings.Join(render(t, markNamespace, ManagedBy, markVersion, v), "\n---\n") + "\n"
	if *rewrite {
		if err := os.WriteFile("manifests.yaml", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if manifests != want {
		t.Error("manifests.yaml is not what the chart makes: go test ./deploy -run TestManifests -rewrite")
	}
}

// toView is what makes viewers askers.
const toView = "    rbac.authorization.k8s.io/aggregate-to-view: \"true\"\n"

// copied holds a template to a file of front/door, but for what the chart can choose.
func copied(t *testing.T, from, to string, chosen func(string) string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "front", "door", from))
	if err != nil {
		t.Fatal(err)
	}
	want, to := chosen(string(text)), filepath.Join(chart, "templates", to)
	if *rewrite {
		if err := os.WriteFile(to, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != want {
		t.Errorf("%s is not front/door/%s: %v", to, from, err)
	}
}

// TestAggregateToView: who may only view is no asker where that is switched off.
func TestAggregateToView(t *testing.T) {
	for _, on := range []bool{true, false} {
		v := values(t)
		v["rbac"].(map[string]any)["aggregateToView"] = on
		made := strings.Join(render(t, "x", ManagedBy, "v1", v), "\n---\n")
		if strings.Contains(made, "aggregate-to-view") != on || !strings.Contains(made, "aggregate-to-edit") {
			t.Errorf("%v:\n%s", on, made)
		}
	}
}

// TestLogLines: the agent keeps no log lines where the chart says so.
func TestLogLines(t *testing.T) {
	for _, on := range []bool{true, false} {
		v := values(t)
		v["agent"].(map[string]any)["logLines"] = on
		if made := strings.Join(render(t, "x", ManagedBy, "v1", v), "\n---\n"); strings.Contains(made, "--no-log-lines") == on {
			t.Errorf("log lines %v:\n%s", on, made)
		}
	}
}

// TestValuesHaveASchema keeps the two lists of values the same, so that a mistyped value is
// refused and none is refused that is there.
func TestValuesHaveASchema(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(b, &schema); err != nil {
		t.Fatal(err)
	}
	compare(t, "", values(t), schema)
}

func compare(t *testing.T, at string, values, schema map[string]any) {
	t.Helper()
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return // what Kubernetes defines
	}
	if schema["additionalProperties"] != false {
		t.Errorf("%s: the schema takes any value", at)
	}
	for name := range properties {
		if _, ok := values[name]; !ok && at+name != "global" { // which Helm hands on
			t.Errorf("%s%s is in the schema, and no value", at, name)
		}
	}
	for name, v := range values {
		of, ok := properties[name].(map[string]any)
		if !ok {
			t.Errorf("%s%s is not in the schema", at, name)
		} else if inner, ok := v.(map[string]any); ok {
			compare(t, at+name+".", inner, of)
		}
	}
}
