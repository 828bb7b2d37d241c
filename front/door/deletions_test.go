package door_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/deploy"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/door"
	"whylet.dev/whylet/test/fronts"
)

// webhook registers the front's for deletions, by an address.
func webhook(t *testing.T, w *fronts.World, server *httptest.Server, key string) {
	t.Helper()
	url := server.URL + "/deletions/" + key
	ignore, none, second := admissionregistration.Ignore, admissionregistration.SideEffectClassNoneOnDryRun, int32(1)
	rule := func(op admissionregistration.OperationType, resource string) admissionregistration.RuleWithOperations {
		return admissionregistration.RuleWithOperations{Operations: []admissionregistration.OperationType{op}, Rule: admissionregistration.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}}}
	}
	all := w.Kube.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	made, err := all.Create(t.Context(), &admissionregistration.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "deletions-"},
		Webhooks: []admissionregistration.ValidatingWebhook{{
			Name: "deletions.why.whylet.dev", AdmissionReviewVersions: []string{"v1"}, FailurePolicy: &ignore, SideEffects: &none, TimeoutSeconds: &second,
			Rules:        []admissionregistration.RuleWithOperations{rule(admissionregistration.Delete, "pods"), rule(admissionregistration.Create, "pods/eviction")},
			ClientConfig: admissionregistration.WebhookClientConfig{URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = all.Delete(t.Context(), made.Name, metav1.DeleteOptions{}) })
}

// What kubectl why install makes is what a real API server takes.
func TestTheAPIServerTakesTheWebhook(t *testing.T) {
	w := fronts.New(t, nil)
	for _, o := range deploy.WebhookFor("whylet", "", "") {
		if o.GetKind() != "ValidatingWebhookConfiguration" {
			continue
		}
		var c admissionregistration.ValidatingWebhookConfiguration
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &c, true); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Kube.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &c, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Error(err)
		}
	}
}

// client acts as somebody who may do everything.
func client(t *testing.T, w *fronts.World, user string) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(w.Kube.As(user, "system:masters"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Who has a pod deleted or evicted is told to the pod's agent, and nobody is refused: also
// not when the front is gone.
func TestWhoAsksForThePodsEnd(t *testing.T) {
	w := fronts.New(t, nil)
	w.Node("node-a")
	told := make(chan fact.Fact, 100)
	w.Requested = func(f fact.Fact) { told <- f }
	w.Agent("node-a", w.Journal(w.Pod("shop", "web-1", "node-a"), "oom-main"))
	w.Until("the agent tells of its pod", func() bool { return w.Ill("shop") == 1 })
	server := httptest.NewTLSServer((&door.HTTPS{API: w.Kube.Client, Hub: w.Hub, Key: func() string { return "s3cret" }}).Handler())
	t.Cleanup(server.Close)
	webhook(t, w, server, "s3cret")

	zero := int64(0)
	now := metav1.DeleteOptions{GracePeriodSeconds: &zero}
	bob, carol := client(t, w, "bob"), client(t, w, "carol")
	w.Until("the API server knows the webhook", func() bool {
		w.Pod("shop", "first", "node-a")
		return bob.CoreV1().Pods("shop").Delete(t.Context(), "first", now) == nil && len(told) > 0
	})
	for len(told) > 0 {
		<-told
	}
	deleted, evicted := w.Pod("shop", "web-2", "node-a"), w.Pod("shop", "web-3", "node-a")
	dry := now
	dry.DryRun = []string{metav1.DryRunAll}
	node := client(t, w, "system:node:node-a")
	for _, err := range []error{
		bob.CoreV1().Pods("shop").Delete(t.Context(), "web-2", dry),
		bob.CoreV1().Pods("shop").Delete(t.Context(), "web-2", now),
		carol.PolicyV1().Evictions("shop").Evict(t.Context(), &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-3"}, DeleteOptions: &now}),
		node.CoreV1().Pods("shop").Delete(t.Context(), "web-1", now),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := map[fact.Requested]fact.Pod{
		{Verb: "delete", User: "bob", Asked: true}:  {Namespace: "shop", Name: deleted.Name, UID: deleted.UID},
		{Verb: "evict", User: "carol", Asked: true}: {Namespace: "shop", Name: evicted.Name},
	}
	for seen := map[fact.Requested]bool{}; len(seen) < len(want); { // the API server may ask twice about one request
		f := <-told
		b := f.Body.(fact.Requested)
		if f.Pod.Name == "first" {
			continue
		}
		if want[b] != f.Pod || f.At.IsZero() {
			t.Fatalf("%+v", f)
		}
		seen[b] = true
	}
	server.Close()
	w.Pod("shop", "web-4", "node-a")
	if err := bob.CoreV1().Pods("shop").Delete(t.Context(), "web-4", now); err != nil {
		t.Errorf("without a front: %v", err)
	}
}

// Who does not know the key tells nobody anything.
func TestOnlyTheAPIServerTellsWhoAsked(t *testing.T) {
	for name, c := range map[string]struct {
		key, path, body string
		code            int
	}{
		"another key":           {"s3cret", "/deletions/secret", "{}", http.StatusNotFound},
		"no key":                {"s3cret", "/deletions/", "{}", http.StatusNotFound},
		"there is no webhook":   {"", "/deletions/x", "{}", http.StatusNotFound},
		"no review":             {"s3cret", "/deletions/s3cret", "{}", http.StatusBadRequest},
		"a body without an end": {"s3cret", "/deletions/s3cret", `{"x":"` + strings.Repeat("x", 4<<20), http.StatusBadRequest},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body))
		(&door.HTTPS{Key: func() string { return c.key }}).Handler().ServeHTTP(w, r)
		if w.Code != c.code {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
