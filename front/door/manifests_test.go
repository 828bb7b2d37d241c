package door

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"testing"

	admission "k8s.io/api/admission/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/why/ask"
)

// A front that somebody took over can read pods and write answers, and no more: no Secrets,
// no logs, no exec, no proxy to nodes.
func TestAFrontMayLittle(t *testing.T) {
	objects, err := Objects()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, o := range objects {
		if o.GetKind() != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			t.Fatal(err)
		}
		found++
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if slices.Contains([]string{"*", "secrets", "configmaps", "nodes/proxy", "pods/exec", "pods/log", "pods/attach", "pods/portforward", "pods/proxy", "serviceaccounts/token"}, resource) {
					t.Errorf("%s has %s", role.Name, resource)
				}
				for _, verb := range rule.Verbs {
					own := slices.Equal(rule.APIGroups, []string{"why.whylet.dev"})
					reviews := (resource == "tokenreviews" || resource == "subjectaccessreviews") && verb == "create"
					if !own && !reviews && !slices.Contains([]string{"get", "list", "watch"}, verb) {
						t.Errorf("%s may %s %s", role.Name, verb, resource)
					}
				}
			}
		}
	}
	if found != 3 {
		t.Errorf("%d roles", found)
	}
}

// Whatever is asked, nobody is asked about what is not of the asker's namespace.
func FuzzQuestion(f *testing.F) {
	f.Add("namespace=shop&name=web-1&since=2h", "shop")
	f.Add("kind=node&name=n", "shop")
	f.Add("kind=pods&name=../../x&since=-1h", "")
	cluster, err := ask.Connect(&rest.Config{Host: "https://127.0.0.1:1"}, ask.Options{})
	if err != nil {
		f.Fatal(err)
	}
	a := &Answerer{Cluster: cluster}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nobody is really asked
	f.Fuzz(func(t *testing.T, query, namespace string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		spec := specOf(v)
		_, target, err := a.asker(a.listen(), scope(namespace), spec)
		if err == nil && namespace != "" && (target.Kind == "node" || target.Namespace != namespace) {
			t.Errorf("%+v in %q asks about %+v", spec, namespace, target)
		}
		if s := a.Answer(ctx, namespace, spec); s.Message == "" {
			t.Errorf("%+v is answered by nobody", spec)
		}
	})
}

// Whatever is posted as a review, who asked is somebody, and the pod has a name.
func FuzzRequestedBy(f *testing.F) {
	f.Add([]byte(`{"uid":"1","operation":"DELETE","namespace":"shop","name":"web-1","resource":{"version":"v1","resource":"pods"},"userInfo":{"username":"bob"},"oldObject":{"metadata":{"uid":"u"},"spec":{"nodeName":"a"}}}`))
	f.Add([]byte(`{"operation":"CREATE","subResource":"eviction","namespace":"shop","name":"web-1","resource":{"resource":"pods"},"userInfo":{"username":"bob"},"dryRun":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r admission.AdmissionRequest
		if json.Unmarshal(text, &r) != nil {
			return
		}
		asked, node, ok := requestedBy(&r)
		if ok && (asked.User == "" || asked.Pod.Name == "" || asked.Verb != "delete" && asked.Verb != "evict" || asked.Verb == "delete" && node == "" || len(asked.User) > link.MaxName) {
			t.Errorf("%+v on %q of %s", asked, node, text)
		}
	})
}
