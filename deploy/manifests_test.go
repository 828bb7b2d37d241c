package deploy

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func objects(t *testing.T, o Options) []*unstructured.Unstructured {
	t.Helper()
	all, err := o.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func find[T any](t *testing.T, all []*unstructured.Unstructured, kind, name string) T {
	t.Helper()
	var to T
	for _, o := range all {
		if o.GetKind() == kind && o.GetName() == name {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &to, true); err != nil {
				t.Fatal(err)
			}
			return to
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return to
}

func TestObjects(t *testing.T) {
	all := objects(t, Options{Namespace: "eyes", Version: "v1.2.3"})
	if all[0].GetKind() != "Namespace" || all[0].GetName() != "eyes" {
		t.Errorf("first comes %s %s", all[0].GetKind(), all[0].GetName())
	}
	for _, o := range all {
		if ns := o.GetNamespace(); ns != "" && ns != "eyes" && (ns != "kube-system" || o.GetKind() != "RoleBinding") {
			t.Errorf("%s %s is in %q", o.GetKind(), o.GetName(), ns)
		}
		// The kinds of questions and their roles are the front's own file.
		own := slices.Contains([]string{"CustomResourceDefinition", "ClusterRole", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}, o.GetKind())
		if got := o.GetLabels()["app.kubernetes.io/managed-by"]; got != ManagedBy && !own {
			t.Errorf("%s %s is managed by %q", o.GetKind(), o.GetName(), got)
		}
	}
	agent := find[appsv1.DaemonSet](t, all, "DaemonSet", Agent)
	if got := agent.Spec.Template.Spec.Containers[0].Image; got != "whylet.dev/observe:v1.2.3" {
		t.Errorf("the image is %s", got)
	}
	for _, bad := range []Options{{Namespace: "A b"}, {Namespace: "x", Registry: "a\nb: c", Version: "v1"}, {Namespace: "x", Version: "1 2"}} {
		if _, err := bad.Text(); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	text, err := Options{Namespace: "x", Registry: "my.own:5000/y", Tag: "v2", Version: "v1"}.Text()
	if err != nil || !strings.Contains(text, "image: my.own:5000/y/observe:v2\n") || strings.Contains(text, "$(") {
		t.Errorf("%v in\n%s", err, text)
	}
}

// TestPinned: images by digest, and a runtime's socket, are what the nodes get.
func TestPinned(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	o := Options{Namespace: "x", Version: "v1", Digests: map[string]string{"observe": digest}, RuntimeEndpoint: "unix:///run/k3s/containerd/containerd.sock"}
	all := objects(t, o)
	agent := find[appsv1.DaemonSet](t, all, "DaemonSet", Agent).Spec.Template.Spec.Containers[0]
	if agent.Image != "whylet.dev/observe:v1@"+digest || agent.Args[0] != "agent" || agent.Args[1] != "--runtime-endpoint="+o.RuntimeEndpoint {
		t.Errorf("%s %v", agent.Image, agent.Args)
	}
	if front := find[appsv1.Deployment](t, all, "Deployment", Front).Spec.Template.Spec.Containers[0]; front.Image != "whylet.dev/front:v1" {
		t.Errorf("%s is pinned", front.Image)
	}
	without := find[appsv1.DaemonSet](t, objects(t, Options{Namespace: "x", Version: "v1", RuntimeEndpoint: "none"}), "DaemonSet", Agent)
	if args := without.Spec.Template.Spec.Containers[0].Args; args[1] != "--runtime-endpoint=none" {
		t.Errorf("an agent that is to ask no runtime has %v", args)
	}
	for _, bad := range []Options{
		{Digests: map[string]string{"observe": "latest"}},
		{Digests: map[string]string{"mesh": digest}},
		{RuntimeEndpoint: "/run/crio/crio.sock"},
		{RuntimeEndpoint: "unix:///run/x\n            - --verbose"},
	} {
		bad.Namespace, bad.Version = "x", "v1"
		if _, err := bad.Text(); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// TestAgentOnlyReads holds the agent's rights to what docs/security.md says.
func TestAgentOnlyReads(t *testing.T) {
	role := find[rbacv1.ClusterRole](t, objects(t, Options{Namespace: "x", Version: "v1"}), "ClusterRole", Agent)
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("the agent may %s %v", verb, rule.Resources)
			}
		}
		for _, r := range rule.Resources {
			if !slices.Contains([]string{"pods", "events", "namespaces", "nodes/metrics"}, r) {
				t.Errorf("the agent may see %s", r)
			}
		}
	}
}

func TestClean(t *testing.T) {
	agent := find[appsv1.DaemonSet](t, objects(t, Options{Namespace: "x", Version: "v1"}), "DaemonSet", Agent)
	if dir, err := DataDirOf(&agent); err != nil || dir != DataDir {
		t.Errorf("%s, %v", dir, err)
	}
	for _, v := range agent.Spec.Template.Spec.Volumes { // kubelet would make it before the image has come
		if v.Name == "data" && v.HostPath.Type != nil {
			t.Errorf("the folder is %s", *v.HostPath.Type)
		}
	}
	clean, err := Clean(&agent, "")
	if err != nil {
		t.Fatal(err)
	}
	pod := clean.Spec.Template.Spec
	if pod.Volumes[0].HostPath.Path != "/var/lib" || pod.InitContainers[0].Args[1] != "--data-dir=/host/whylet-observe" {
		t.Errorf("%+v", pod)
	}
	if c := pod.InitContainers[0]; c.Image != agent.Spec.Template.Spec.Containers[0].Image || c.ImagePullPolicy != v1.PullIfNotPresent {
		t.Errorf("%s is pulled %s", c.Image, c.ImagePullPolicy)
	}
	if other, err := Clean(&agent, "whylet.dev/observe:v0"); err != nil || other.Spec.Template.Spec.Containers[0].Image != "whylet.dev/observe:v0" {
		t.Errorf("%v: not by the image that nodes have", err)
	}
	if pod.ServiceAccountName != "" || *pod.AutomountServiceAccountToken {
		t.Error("who cleans needs no rights at the API server")
	}
	if clean.Spec.Template.Labels["app.kubernetes.io/component"] == agent.Spec.Template.Labels["app.kubernetes.io/component"] {
		t.Error("the two would take each other's pods")
	}
	agent.Spec.Template.Spec.Volumes = nil
	if _, err := Clean(&agent, ""); err == nil {
		t.Error("an agent without a folder")
	}
}

// authorityOf is the authority that a Secret has the key of, and the text by which agents know
// it.
func authorityOf(t *testing.T, made []*unstructured.Unstructured) (pair tls.Certificate, known string) {
	t.Helper()
	secret := find[v1.Secret](t, made, "Secret", Front)
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	return pair, find[v1.ConfigMap](t, made, "ConfigMap", Front).Data["ca.crt"]
}

// issued is a front's certificate for a name, by the authority that it has.
func issued(t *testing.T, by tls.Certificate, name string, now time.Time) *x509.Certificate {
	t.Helper()
	template := x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: now, NotAfter: now.Add(time.Hour), DNSNames: []string{name}}
	der, err := x509.CreateCertificate(rand.Reader, &template, by.Leaf, by.PrivateKey.(crypto.Signer).Public(), by.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCertificate: agents know the front by the authority that they are given, under both
// its names, and nobody under any other.
func TestCertificate(t *testing.T) {
	now := time.Now()
	made, err := Certificate("x", now, "")
	if err != nil {
		t.Fatal(err)
	}
	pair, known := authorityOf(t, made)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(known))
	for name, want := range map[string]bool{"whylet-front.x.svc": true, "whylet-fronts.x.svc": true, "kubernetes.default.svc": false} {
		if _, err := issued(t, pair, name, now).Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err == nil != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCertificateRenewed: who knows the new authority knows the one before, too, so that for
// no longer than a mount takes anybody is left out; those before that are forgotten.
func TestCertificateRenewed(t *testing.T) {
	now := time.Now()
	const name = "whylet-fronts.x.svc"
	known, pairs := "nonsense", []tls.Certificate{}
	for range 3 {
		made, err := Certificate("x", now, known)
		if err != nil {
			t.Fatal(err)
		}
		var pair tls.Certificate
		pair, known = authorityOf(t, made)
		pairs = append(pairs, pair)
		secret := find[v1.Secret](t, made, "Secret", Front)
		end, err := ends(secret.Data["tls.crt"])
		if err != nil || end.Sub(now) < certified-time.Hour || end.Sub(now) > 5*366*24*time.Hour {
			t.Errorf("%v, %v", end, err)
		}
		if got := secret.Annotations[endsAnnotation]; got != strconv.FormatInt(end.Unix(), 10) { // the chart goes by it
			t.Errorf("it ends at %d, and %q is noted", end.Unix(), got)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(known))
	for i, want := range []bool{false, true, true} {
		if _, err := issued(t, pairs[i], name, now).Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err == nil != want {
			t.Errorf("the authority %d of 3: %v", i+1, err)
		}
	}
	later, err := Certificate("x", now.Add(2*certified), known)
	if err != nil {
		t.Fatal(err)
	}
	if _, known := authorityOf(t, later); strings.Count(known, "BEGIN") != 1 {
		t.Errorf("of these all but one are over:\n%s", known)
	}
	if !IsDue([]byte("nonsense"), now) {
		t.Error("nonsense is kept")
	}
}

// TestFrontHasNoPrivilege holds its pods to the strictest of Pod Security's levels, as far
// as these fields go.
func TestFrontHasNoPrivilege(t *testing.T) {
	front := find[appsv1.Deployment](t, objects(t, Options{Namespace: "x", Version: "v1"}), "Deployment", Front)
	pod := front.Spec.Template.Spec
	c := pod.Containers[0].SecurityContext
	if pod.HostNetwork || pod.HostPID || !*pod.SecurityContext.RunAsNonRoot || *c.AllowPrivilegeEscalation || !*c.ReadOnlyRootFilesystem || c.Capabilities.Drop[0] != "ALL" {
		t.Errorf("%+v %+v", pod.SecurityContext, c)
	}
	if *front.Spec.Replicas != 2 {
		t.Errorf("%d replicas", *front.Spec.Replicas)
	}
}

// TestWebhookFor: the webhook refuses nobody, waits for nobody long, and has in its address
// the key that the front knows.
func TestWebhookFor(t *testing.T) {
	made := WebhookFor("x", "authority", "")
	key := string(find[v1.Secret](t, made, "Secret", WebhookKey).Data["key"])
	hook := find[admissionregistration.ValidatingWebhookConfiguration](t, made, "ValidatingWebhookConfiguration", Deletions).Webhooks[0]
	if *hook.FailurePolicy != admissionregistration.Ignore || *hook.TimeoutSeconds != 1 || len(key) < 20 || *hook.ClientConfig.Service.Path != "/deletions/"+key || string(hook.ClientConfig.CABundle) != "authority" {
		t.Errorf("%q %+v", key, hook)
	}
	if problems := content.IsDNS1123Subdomain(key); len(problems) > 0 { // the API server takes no other path
		t.Errorf("%q: %v", key, problems)
	}
	again := WebhookFor("x", "authority", key)
	if got := find[v1.Secret](t, again, "Secret", WebhookKey).Data["key"]; string(got) != key {
		t.Errorf("another key: %q", got)
	}
}
