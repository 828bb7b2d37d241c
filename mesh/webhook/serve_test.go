package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/mesh/identity"
)

// newClient is an API server that knows the token "good".
func newClient(objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authentication.TokenReview).DeepCopy()
		review.Status.Authenticated = review.Spec.Token == "good" && slices.Equal(review.Spec.Audiences, []string{mesh.Audience})
		review.Status.User.Username = "system:serviceaccount:ns:app"
		return true, review, nil
	})
	return client
}

func TestAuthorityIsKeptAndFollowed(t *testing.T) {
	client, log := newClient(), slog.New(slog.DiscardHandler)
	first, err := NewAuthority(t.Context(), client, "mesh", log)
	if err != nil {
		t.Fatal(err)
	}
	second, err := NewAuthority(t.Context(), client, "mesh", log)
	if err != nil || string(first.CA().Bundle()) != string(second.CA().Bundle()) {
		t.Fatalf("a restart makes another CA: %v", err)
	}
	// A CA from ten months ago is due.
	old, err := identity.NewCA(nil, time.Now().Add(-300*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	secret, err := client.CoreV1().Secrets("mesh").Get(t.Context(), SecretName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(secret, old); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Secrets("mesh").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*Authority{first, second} {
		if err := a.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := first.CA(); got.Due(time.Now()) || got.Cross() == nil || !strings.HasSuffix(string(got.Bundle()), string(old.Bundle())) {
		t.Error("the old CA is not followed by one that it vouches for")
	}
	if string(first.CA().Bundle()) != string(second.CA().Bundle()) {
		t.Error("two replicas have two CAs")
	}
}

func TestServe(t *testing.T) {
	pod := func(name, ip string, meshed bool) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Status: v1.PodStatus{Phase: v1.PodRunning, PodIPs: []v1.PodIP{{IP: ip}}}}
		if meshed {
			p.Spec.InitContainers = []v1.Container{{Name: mesh.InitName}}
		}
		return p
	}
	service := func(name, ip string, backends ...string) []runtime.Object {
		return []runtime.Object{
			&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: v1.ServiceSpec{ClusterIPs: []string{ip}}},
			&discovery.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name + "-1", Labels: map[string]string{discovery.LabelServiceName: name}},
				Endpoints:  []discovery.Endpoint{{Addresses: backends}},
			},
		}
	}
	objects := []runtime.Object{pod("a", "10.0.0.1", true), pod("b", "10.0.0.2", true), pod("c", "10.0.0.3", false)}
	objects = append(objects, service("all", "10.1.0.1", "10.0.0.1", "10.0.0.2")...)
	objects = append(objects, service("mixed", "10.1.0.2", "10.0.0.1", "10.0.0.3")...)
	objects = append(objects, service("none", "10.1.0.3")...)
	objects = append(objects, service("headless", "None", "10.0.0.1")...)
	client := newClient(objects...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, Options{
			Client: client, Namespace: "mesh", Listener: l, Hosts: []string{"127.0.0.1"}, Form: mesh.Default, Image: "whylet",
			Log: slog.New(slog.DiscardHandler),
		})
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	}()

	bundle := registered(t, client, l.Addr().String())
	callWebhook(t, "https://"+l.Addr().String()+NamespacePath, bundle)

	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("good"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := identity.NewMember("https://"+l.Addr().String(), token, bundle, slog.New(slog.DiscardHandler))
	go m.Run(ctx)
	wait(t, "the member knows the others", func() bool { return m.Ready() && m.IsPeer("10.0.0.1") })
	for address, want := range map[string]bool{
		"10.0.0.2": true, "10.0.0.3": false, "10.1.0.1": true, "10.1.0.2": false, "10.1.0.3": false, "None": false,
	} {
		if m.IsPeer(address) != want {
			t.Errorf("%s: in the mesh is %v", address, !want)
		}
	}
}

// registered waits for the webhook's configuration, and gives its CA bundle.
func registered(t *testing.T, client *fake.Clientset, address string) (bundle []byte) {
	t.Helper()
	wait(t, "the webhook is registered", func() bool {
		config, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), ConfigurationName, metav1.GetOptions{})
		if err != nil || len(config.Webhooks) != 3 {
			return false
		}
		for _, w := range config.Webhooks {
			if !strings.HasPrefix(*w.ClientConfig.URL, "https://"+address+"/mutate/") || *w.FailurePolicy != "Ignore" || *w.SideEffects != "None" {
				t.Errorf("%+v", w)
			}
			bundle = w.ClientConfig.CABundle
		}
		return true
	})
	return bundle
}

func callWebhook(t *testing.T, url string, bundle []byte) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
	res, err := client.Post(url, "application/json", strings.NewReader(`{"request":{"uid":"1","operation":"CREATE","resource":{"version":"v1","resource":"pods"},
		"object":{"metadata":{},"spec":{"serviceAccountName":"x","containers":[{"name":"a"}]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		t.Errorf("the webhook answers %s", res.Status)
	}
}

func wait(t *testing.T, what string, until func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !until(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
