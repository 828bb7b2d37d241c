package images

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/cri/critest"
)

func newManager(t *testing.T, n *critest.Node, change func(*Options)) *Manager {
	t.Helper()
	o := Options{DataDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	m, err := New(t.Context(), n.Client, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func pod(secrets ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	for _, s := range secrets {
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, v1.LocalObjectReference{Name: s})
	}
	return p
}

func container(image string, policy v1.PullPolicy) *v1.Container {
	return &v1.Container{Name: "main", Image: image, ImagePullPolicy: policy}
}

// heard collects the facts that an attempt tells.
type heard struct {
	sync.Mutex
	facts []fact.Observed
}

func (h *heard) say(f fact.Observed) {
	h.Lock()
	defer h.Unlock()
	h.facts = append(h.facts, f)
}

func (h *heard) kinds() []fact.Kind {
	var kinds []fact.Kind
	for _, f := range h.facts {
		kinds = append(kinds, f.Kind())
	}
	return kinds
}

// remove takes the image away at the end, so that tests do not see each other's.
func remove(t *testing.T, n *critest.Node, image string) {
	t.Helper()
	t.Cleanup(func() {
		if err := n.Images().RemoveImage(context.Background(), &runtimeapi.ImageSpec{Image: image}); err != nil {
			t.Error(err)
		}
	})
}

func wantFailure(t *testing.T, err error, reason string, words ...string) {
	t.Helper()
	var f *Failure
	if !errors.As(err, &f) || f.Reason != reason {
		t.Fatalf("error %v, want reason %s", err, reason)
	}
	for _, w := range words {
		if !strings.Contains(f.Message, w) {
			t.Errorf("%q is missing in %q", w, f.Message)
		}
	}
	if strings.Contains(f.Message, "code = Unknown") {
		t.Errorf("the transport shows in %q", f.Message)
	}
	if f.Fact().Reason != reason || f.Fact().Message != f.Message || f.Fact().Image == "" {
		t.Errorf("as a fact: %+v", f.Fact())
	}
}

func TestPullPolicies(t *testing.T) {
	n := critest.Start(t)
	r := startRegistry(t, "")
	m := newManager(t, n, nil)
	var h heard

	_, err := m.Ensure(t.Context(), pod(), container(r.image(), v1.PullNever), h.say)
	wantFailure(t, err, ReasonNeverPull, `Container image "`+r.image()+`" is not present with pull policy of Never`)
	if len(h.facts) != 0 {
		t.Errorf("a refusal told %v", h.kinds())
	}

	remove(t, n, r.image())
	i, err := m.Ensure(t.Context(), pod(), container(r.image(), v1.PullIfNotPresent), h.say)
	if err != nil {
		t.Fatal(err)
	}
	if i.User.UID == nil || *i.User.UID != 1000 || !strings.HasPrefix(i.Ref, "sha256:") || i.Bytes == 0 {
		t.Errorf("image %+v", i)
	}
	if !slices.Equal(h.kinds(), []fact.Kind{"ImagePulling", "ImageReady"}) {
		t.Errorf("told %v", h.kinds())
	}
	if ready := h.facts[1].(fact.ImageReady); ready.Present || ready.Took == 0 || ready.Waited < ready.Took || ready.Bytes != i.Bytes {
		t.Errorf("told %+v", ready)
	}

	pulls := r.pulls.Load()
	h = heard{}
	for _, policy := range []v1.PullPolicy{v1.PullIfNotPresent, v1.PullNever, ""} {
		again, err := m.Ensure(t.Context(), pod(), container(r.image(), policy), h.say)
		if err != nil || again.Ref != i.Ref {
			t.Errorf("policy %q: %+v, %v", policy, again, err)
		}
	}
	if r.pulls.Load() != pulls || !slices.Equal(h.kinds(), []fact.Kind{"ImageReady", "ImageReady", "ImageReady"}) || !h.facts[0].(fact.ImageReady).Present {
		t.Errorf("what was there was asked for again: %v", h.kinds())
	}

	h = heard{}
	if _, err := m.Ensure(t.Context(), pod(), container(r.image(), v1.PullAlways), h.say); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.kinds(), []fact.Kind{"ImagePulling", "ImageReady"}) {
		t.Errorf("told %v", h.kinds())
	}

	r.refuse.Store(&refusal{http.StatusBadGateway, ""})
	for _, image := range []string{r.image(), r.host + "/none:1"} {
		_, err := m.Ensure(t.Context(), pod(), container(image, v1.PullAlways), h.say)
		wantFailure(t, err, ReasonPull, "502 Bad Gateway")
		var f *Failure
		if errors.As(err, &f) && f.Fact().OnNode != (image == r.image()) {
			t.Errorf("%s: on the node: %v", image, f.OnNode)
		}
	}
}

func TestRefusalsKeepTheRegistrysWords(t *testing.T) {
	n := critest.Start(t)
	r := startRegistry(t, "")
	m := newManager(t, n, nil)
	ensure := func(image string) error {
		_, err := m.Ensure(t.Context(), pod(), container(image, v1.PullIfNotPresent), func(fact.Observed) {})
		return err
	}
	wantFailure(t, ensure("Not/An:Image:Name"), ReasonName, `Failed to apply default image tag "Not/An:Image:Name"`, "couldn't parse image name")
	wantFailure(t, ensure(r.host+"/none:1"), ReasonPull, r.host+"/none:1", "not found")
	r.refuse.Store(&refusal{http.StatusTooManyRequests, `{"errors":[{"code":"TOOMANYREQUESTS","message":"come back tomorrow"}]}`})
	wantFailure(t, ensure(r.image()), ReasonPull, "429 Too Many Requests")
	wantFailure(t, ensure("127.0.0.1:1/box:1"), ReasonPull, "connection refused")
}

func TestPullSecrets(t *testing.T) {
	n := critest.Start(t)
	r := startRegistry(t, "open sesame")
	recorder := record.NewFakeRecorder(10)
	m := newManager(t, n, func(o *Options) {
		o.Recorder = recorder
		o.Secrets = secretMap{
			"right": r.secret(t, "right", "open sesame"), "wrong": r.secret(t, "wrong", "open barley"),
			"same": r.secret(t, "same", "open sesame"),
		}
	})
	ensure := func(policy v1.PullPolicy, secrets ...string) error {
		_, err := m.Ensure(t.Context(), pod(secrets...), container(r.image(), policy), func(fact.Observed) {})
		return err
	}
	wantFailure(t, ensure(v1.PullIfNotPresent), ReasonPull, "may require authorization")
	wantFailure(t, ensure(v1.PullIfNotPresent, "wrong"), ReasonPull, "401 Unauthorized")
	wantFailure(t, ensure(v1.PullIfNotPresent, "missing"), ReasonPull, "may require authorization")
	select {
	case e := <-recorder.Events:
		if !strings.Contains(e, "FailedToRetrieveImagePullSecret Unable to retrieve some image pull secrets (missing)") {
			t.Errorf("event %q", e)
		}
	default:
		t.Error("no event about the missing secret")
	}

	remove(t, n, r.image())
	if err := ensure(v1.PullIfNotPresent, "missing", "wrong", "right"); err != nil {
		t.Errorf("one of three secrets is right: %v", err)
	}
	if len(recorder.Events) > 0 {
		t.Errorf("an event about a secret that nobody missed: %s", <-recorder.Events)
	}
	// The image is on the node now, but not everybody's.
	wantFailure(t, ensure(v1.PullIfNotPresent), ReasonPull, "may require authorization")
	wantFailure(t, ensure(v1.PullNever), ReasonNeverPull)
	if err := ensure(v1.PullNever, "right"); err != nil {
		t.Errorf("whose secret it was: %v", err)
	}
	if err := ensure(v1.PullNever, "same"); err != nil {
		t.Errorf("another secret with the same password: %v", err)
	}
}

func TestLoadedImagesAreEverybodys(t *testing.T) {
	n := critest.Start(t)
	m := newManager(t, n, nil)
	i, err := m.Ensure(t.Context(), pod(), container("box:1", v1.PullIfNotPresent), func(fact.Observed) {})
	if err != nil {
		t.Fatal(err)
	}
	if i.User != (cri.ImageUser{}) {
		t.Errorf("user %+v", i.User)
	}
}

// TestOnePullForMany asks for the same image from many pods at once. They wait
// for each other, and only the first pulls.
func TestOnePullForMany(t *testing.T) {
	n := critest.Start(t)
	r := startRegistry(t, "")
	m := newManager(t, n, func(o *Options) { o.Parallel = 1 })
	remove(t, n, r.image())
	var h heard
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := m.Ensure(context.Background(), pod(), container(r.image(), v1.PullIfNotPresent), h.say); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if blobs := r.pulls.Load(); blobs > 2 { // configuration and layer
		t.Errorf("%d blobs were fetched", blobs)
	}
}

func TestPolicy(t *testing.T) {
	for _, test := range []struct {
		image  string
		policy v1.PullPolicy
		want   v1.PullPolicy
	}{
		{"box", "", v1.PullAlways},
		{"box:latest", "", v1.PullAlways},
		{"box:1", "", v1.PullIfNotPresent},
		{"box:latest", v1.PullNever, v1.PullNever},
		{"???", "", v1.PullIfNotPresent},
		{"host:5000/box", "", v1.PullAlways},
		{"box@sha256:0000000000000000000000000000000000000000000000000000000000000000", "", v1.PullIfNotPresent},
	} {
		if got := Policy(container(test.image, test.policy)); got != test.want {
			t.Errorf("%s with %q: %s, want %s", test.image, test.policy, got, test.want)
		}
	}
}

func TestPullFailureClasses(t *testing.T) {
	for text, want := range map[string]Failure{
		"RegistryUnavailable: try later": {
			Reason: ReasonUnavailable, Message: "image pull failed for box:1 because the registry is unavailable: try later",
		},
		"SignatureValidationFailed: forged": {
			Reason: ReasonSignature, Message: "image pull failed for box:1 because the signature validation failed: forged",
		},
		"something else": {Reason: ReasonPull, Message: "something else"},
	} {
		got := pullFailure("box:1", errors.New(text))
		if got.Reason != want.Reason || got.Message != want.Message {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
