package command

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/serve"
)

// shop is an API server of one node with the pods web-1, which is well, and web-2, of
// which nobody knows why it ended, and the deployment web.
func shop(t *testing.T) (server string) {
	pod := func(name string) v1.Pod {
		return v1.Pod{
			TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}},
			Spec:       v1.PodSpec{NodeName: "n1"},
		}
	}
	said := func(name string) answer.Answer {
		a := answer.Answer{APIVersion: answer.APIVersion, Kind: answer.Kind, Subject: answer.Subject{Kind: "Pod", Namespace: "shop", Name: name}}
		a.Symptoms, a.Verdicts = []answer.Symptom{{ID: "s1", Kind: answer.Healthy}}, []answer.Verdict{{Symptom: "s1", Cause: answer.None, Certainty: answer.Inferred}}
		if name == "web-2" {
			a.Symptoms[0].Kind, a.Verdicts[0] = answer.Restarted, answer.Verdict{Symptom: "s1", Cause: answer.CauseUnknown, Certainty: answer.Unknown, Text: "Nobody knows."}
		}
		return a
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" || r.Header.Get("Impersonate-User") == "mallory" {
			http.Error(w, "not for you", http.StatusForbidden)
			return
		}
		var body any
		switch path := r.URL.Path; path {
		case "/api/v1/namespaces/shop/pods/web-1", "/api/v1/namespaces/shop/pods/web-2":
			body = pod(path[len("/api/v1/namespaces/shop/pods/"):])
		case "/api/v1/namespaces/shop/pods", "/api/v1/pods":
			body = v1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []v1.Pod{pod("web-1"), pod("web-2")}}
		case "/apis/apps/v1/namespaces/shop/deployments/web":
			body = appsv1.Deployment{
				TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
				Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
			}
		case "/api/v1/nodes/n1/proxy/why":
			if name := r.URL.Query().Get("name"); name != "" {
				body = said(name)
			} else {
				body = serve.NewList([]answer.Answer{said("web-1"), said("web-2")})
			}
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Scripts tell a wrong command line from a question that failed, and from one whose
// answer nobody knows.
func TestExitCodes(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere")
	server := []string{"--server", shop(t), "--insecure-skip-tls-verify", "--token", "sesame", "-n", "shop"}
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n"
	for _, c := range []struct {
		args string
		code exit.Code
		says string
	}{
		{"web-1", exit.OK, "Healthy"},
		{"web-2", exit.Unknown, "Nobody knows."},
		{"web-1 web-2", exit.Unknown, "Healthy"},
		{"pod web-2 web-1 -o json", exit.Unknown, "AnswerList"},
		{"deploy/web", exit.Unknown, "pod web-2"},
		{"-f - -o yaml", exit.Unknown, "kind: Deployment"},
		{"-l app=web", exit.Unknown, "Nobody knows."},
		{"po -l app=web -A", exit.Unknown, "Nobody knows."},
		{"--all", exit.Unknown, "1 other pod well"},
		{"web-1 --token=other", exit.Failed, "not for you"},
		{"web-1 --as=mallory", exit.Failed, "not for you"},
		{"deploy/none", exit.Failed, "there is no namespace shop"},
		{"web-1 --nosuch", exit.Usage, "unknown flag"},
		{"web-1 -o xml", exit.Usage, "xml"},
		{"web-1 --all", exit.Usage, "name a pod"},
		{"configmap/x", exit.Usage, "ask about a pod that reads it"},
		{"ns/shop", exit.Unknown, "1 other pod well"},
	} {
		out, errs, code := run(t, manifest, append(strings.Fields(c.args), server...)...)
		if strings.Contains(c.args, "--token") { // the last one counts
			out, errs, code = run(t, manifest, append(server[:len(server):len(server)], strings.Fields(c.args)...)...)
		}
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("%s: exit code %d, want %d\n%s\n%s", c.args, code, c.code, out, errs)
		}
	}
}

// A manifest without anything that runs is a wrong command line.
func TestManifestOfNothing(t *testing.T) {
	_, errs, code := run(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n", "-f", "-", "--server", "http://127.0.0.1:1")
	if code != exit.Usage || !strings.Contains(errs, "nothing in it that runs") {
		t.Errorf("%d %s", code, errs)
	}
}

// What a shell asks for is answered from the cluster.
func TestCompletion(t *testing.T) {
	server := []string{"--server", shop(t), "--insecure-skip-tls-verify", "--token", "sesame", "-n", "shop"}
	for begun, want := range map[string]string{"web-": "web-1\nweb-2\n", "pod/web-2": "pod/web-2\n", "deplo": "deployment/\n"} {
		out, _, _ := run(t, "", append(append([]string{"__complete"}, server...), begun)...)
		if !strings.HasPrefix(out, want) {
			t.Errorf("%s: %q", begun, out)
		}
	}
}
