package chart

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

type values = map[string]any

func front(of values) values { return values{"front": of} }

// TestBlind: whoever renders without a cluster gets the same objects each time, or is told
// what to set. A new authority at each sync would lock all agents out.
func TestBlind(t *testing.T) {
	existing := values{"existing": "mine"}
	for name, c := range map[string]struct {
		values values
		want   string // in the error; empty: it is rendered, twice to the same
	}{
		"by default":                   {values{}, "front.tls.existing"},
		"without a front":              {front(values{"enabled": false}), ""},
		"own certificate":              {front(values{"tls": existing}), ""},
		"own, with a webhook":          {front(values{"tls": existing, "deletions": true}), "front.tls.ca"},
		"own, and its authority":       {front(values{"tls": values{"existing": "mine", "ca": "CA"}, "deletions": true}), "front.webhookKey.value"},
		"own key, not to be seen":      {front(values{"tls": values{"existing": "mine", "ca": "CA"}, "deletions": true, "webhookKey": existing}), "front.webhookKey.value"},
		"own key, and its value":       {front(values{"tls": values{"existing": "mine", "ca": "CA"}, "deletions": true, "webhookKey": values{"existing": "mine", "value": "abcdefghijklmnopqrst"}}), ""},
		"cert-manager":                 {front(values{"tls": values{"certManager": values{"issuerRef": values{"kind": "ClusterIssuer", "name": "internal"}}}}), ""},
		"cert-manager, with a webhook": {front(values{"deletions": true, "webhookKey": values{"value": "abcdefghijklmnopqrst"}, "tls": values{"certManager": values{"issuerRef": values{"name": "internal"}}}}), ""},
		"both":                         {front(values{"tls": values{"existing": "mine", "certManager": values{"issuerRef": values{"name": "internal"}}}}), "choose one"},
		"a password for all to read":   {front(values{"archive": "postgres://u:p@db/w", "tls": existing}), "front.archiveSecret"},
	} {
		t.Run(name, func(t *testing.T) {
			one, err := render(t, c.values)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if two, err := render(t, c.values); err != nil || !reflect.DeepEqual(one, two) {
				t.Errorf("another one each time: %v", err)
			}
		})
	}
}

func text(o any) string {
	b, _ := json.Marshal(o)
	return string(b)
}

// TestCertManager: agents trust the issuer, and their nodes may not read the front's key.
func TestCertManager(t *testing.T) {
	got, err := render(t, front(values{
		"deletions": true, "webhookKey": values{"existing": "hook", "value": "abcdefghijklmnopqrst"},
		"tls": values{"certManager": values{"issuerRef": values{"kind": "ClusterIssuer", "name": "internal"}}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	agent := text(got["DaemonSet/whylet-agent"])
	if strings.Contains(agent, `"secretName":"whylet-front"`) || !strings.Contains(agent, `{"items":[{"key":"ca.crt","path":"ca.crt"}],"secretName":"whylet-front-trust"}`) {
		t.Errorf("%s", agent)
	}
	certificate := text(got["Certificate/whylet-front"])
	if !strings.Contains(certificate, `"dnsNames":["whylet-front.eyes.svc","whylet-fronts.eyes.svc"]`) || !strings.Contains(certificate, `"issuerRef":{"kind":"ClusterIssuer","name":"internal"}`) {
		t.Errorf("%s", certificate)
	}
	hook := text(got["ValidatingWebhookConfiguration/whylet-deletions"])
	if !strings.Contains(hook, `"cert-manager.io/inject-ca-from":"eyes/whylet-front"`) || !strings.Contains(hook, "/deletions/abcdefghijklmnopqrst") || strings.Contains(hook, "caBundle") {
		t.Errorf("%s", hook)
	}
	if !strings.Contains(text(got["Deployment/whylet-front"]), `"secretName":"hook"`) || got["Secret/whylet-front"] != nil || got["Secret/whylet-webhook"] != nil {
		t.Error("a key of the chart's own")
	}
}

// TestArchiveSecret: a database's password is in no argument.
func TestArchiveSecret(t *testing.T) {
	v := applied()
	v["front"].(values)["archiveSecret"] = "whylet-archive"
	v["image"] = values{"digests": values{"front": "sha256:" + strings.Repeat("0a", 32)}}
	got, err := render(t, v)
	if err != nil {
		t.Fatal(err)
	}
	d := text(got["Deployment/whylet-front"])
	if !strings.Contains(d, "--archive-file=/etc/whylet/archive/dsn") || strings.Contains(d, `"--archive=`) || !strings.Contains(d, `"secretName":"whylet-archive"`) {
		t.Errorf("%s", d)
	}
	if !strings.Contains(d, "/front:devel@sha256:0a0a") {
		t.Errorf("not by its digest: %s", d)
	}
}

// cluster is what lookup sees: objects by kind and name.
type cluster map[string]map[string]any

func (c cluster) GetClientFor(_, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return &resource{of: c, kind: kind}, kind != "Namespace", nil
}

// resource are the objects of a kind, of which lookup gets one.
type resource struct {
	dynamic.NamespaceableResourceInterface
	of   cluster
	kind string
}

func (r *resource) Namespace(string) dynamic.ResourceInterface { return r }

func (r *resource) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	if o, ok := r.of[r.kind+"/"+name]; ok {
		return &unstructured.Unstructured{Object: o}, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: r.kind}, name)
}

// upgraded renders in a cluster that has what an earlier rendering made.
func upgraded(t *testing.T, v values, there ...map[string]any) map[string]map[string]any {
	t.Helper()
	seen := cluster{"Namespace/kube-system": {"apiVersion": "v1", "kind": "Namespace"}}
	for _, o := range there {
		seen[o["kind"].(string)+"/"+o["metadata"].(map[string]any)["name"].(string)] = o
	}
	c := load(t)
	all, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: "whylet", Namespace: "eyes", Revision: 2, IsUpgrade: true}, capabilities())
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.RenderWithClientProvider(c, all, seen)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]map[string]any{}
	for name, text := range files {
		if strings.HasSuffix(name, ".yaml") {
			read(t, text, made)
		}
	}
	return made
}

// TestAuthorityIsKept: an upgrade keeps the authority, but in its last year, and where a release
// before made it for a century; agents know the one before beside the new one. So is the
// webhook's key.
func TestAuthorityIsKept(t *testing.T) {
	v := front(values{"deletions": true})
	first := upgraded(t, v)
	secret, known := first["Secret/whylet-front"], first["ConfigMap/whylet-front"]
	noted := func(ends any) map[string]any {
		o := runtime.DeepCopyJSON(secret)
		if ends == nil {
			unstructured.RemoveNestedField(o, "metadata", "annotations")
		} else {
			_ = unstructured.SetNestedField(o, ends, "metadata", "annotations", "why.whylet.dev/authority-ends")
		}
		return o
	}
	key := func(o map[string]map[string]any) any {
		return o["Secret/whylet-front"]["data"].(map[string]any)["tls.key"]
	}
	for name, c := range map[string]struct {
		there map[string]any
		kept  bool
	}{"young": {secret, true}, "over soon": {noted("1"), false}, "for a century": {noted(nil), false}} {
		got := upgraded(t, v, c.there, known, first["Secret/whylet-webhook"])
		if kept := key(got) == key(first); kept != c.kept {
			t.Errorf("%s: kept is %v", name, kept)
		}
		ca, _, _ := unstructured.NestedString(got["ConfigMap/whylet-front"], "data", "ca.crt")
		old, _, _ := unstructured.NestedString(known, "data", "ca.crt")
		if !strings.Contains(ca, strings.TrimSpace(old)) {
			t.Errorf("%s: the authority before is not known any more", name)
		}
		if !reflect.DeepEqual(got["Secret/whylet-webhook"]["data"], first["Secret/whylet-webhook"]["data"]) {
			t.Errorf("%s: another key for the webhook", name)
		}
	}
}
