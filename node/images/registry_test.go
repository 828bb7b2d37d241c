package images

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	imagev1 "github.com/google/go-containerregistry/pkg/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/node/cri/critest"
)

// testRegistry is a registry on the loopback with one image, box:1, in it. With a
// password it wants user:password; refuse makes it answer everything that way.
type testRegistry struct {
	host     string
	password string
	refuse   atomic.Pointer[refusal]
	pulls    atomic.Int64
}

type refusal struct {
	status int
	body   string
}

func startRegistry(t *testing.T, password string) *testRegistry {
	t.Helper()
	r := &testRegistry{}
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if no := r.refuse.Load(); no != nil {
			w.WriteHeader(no.status)
			_, _ = io.WriteString(w, no.body)
			return
		}
		if _, pass, _ := q.BasicAuth(); r.password != "" && pass != r.password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you?"}]}`)
			return
		}
		if q.Method == http.MethodGet && strings.Contains(q.URL.Path, "/blobs/") {
			r.pulls.Add(1)
		}
		store.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	r.host = strings.TrimPrefix(server.URL, "http://")
	image, err := critest.BoxImage("1000")
	if err != nil {
		t.Fatal(err)
	}
	r.push(t, server.URL+"/v2/box", image)
	r.password = password
	return r
}

// push uploads an image as tag 1 of the repository at the given URL.
func (r *testRegistry) push(t *testing.T, repository string, image imagev1.Image) {
	t.Helper()
	send := func(method, url, kind string, body []byte, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		q, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", kind)
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusCreated {
			t.Fatalf("%s %s: %s", method, url, answer.Status)
		}
	}
	blob := func(digest imagev1.Hash, body []byte, err error) {
		t.Helper()
		send(http.MethodPost, repository+"/blobs/uploads/?digest="+digest.String(), "application/octet-stream", body, err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			t.Fatal(err)
		}
		content, err := l.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(content)
		blob(digest, body, err)
	}
	digest, err := image.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.RawConfigFile()
	blob(digest, config, err)
	kind, err := image.MediaType()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.RawManifest()
	send(http.MethodPut, repository+"/manifests/1", string(kind), manifest, err)
}

func (r *testRegistry) image() string { return r.host + "/box:1" }

// secret is an image pull secret for the registry, as kubectl create secret
// docker-registry makes it.
func (r *testRegistry) secret(t *testing.T, secretName, password string) *v1.Secret {
	t.Helper()
	auth := base64.StdEncoding.EncodeToString([]byte("user:" + password))
	raw, err := json.Marshal(map[string]any{"auths": map[string]any{r.host: map[string]string{"auth": auth}}})
	if err != nil {
		t.Fatal(err)
	}
	return &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: secretName, UID: types.UID("uid-" + secretName)},
		Type:       v1.SecretTypeDockerConfigJson,
		Data:       map[string][]byte{v1.DockerConfigJsonKey: raw},
	}
}

// secretMap answers as the API server would.
type secretMap map[string]*v1.Secret

func (m secretMap) GetSecret(namespace, name string) (*v1.Secret, error) {
	if s, ok := m[name]; ok && s.Namespace == namespace {
		return s, nil
	}
	return nil, apierrors.NewNotFound(v1.Resource("secrets"), name)
}
