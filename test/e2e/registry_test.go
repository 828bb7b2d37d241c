package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	imagev1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	v1 "k8s.io/api/core/v1"
)

// privateRegistry serves busybox as team/box:1 on the loopback of the node's
// network namespace, to whoever knows the password, and says no in words of its
// own. It returns its host and port.
func privateRegistry(t *testing.T, n *node) string {
	t.Helper()
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	image, err := tarball.ImageFromPath(bin("images/busybox.tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	// An image of its own: one that was pulled with a secret is not given to pods
	// without it, under whatever name, and everybody uses busybox.
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config.Config.Labels = map[string]string{"owner": "team"}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	fill(t, store, "/v2/team/box", image)
	listener := n.listen(t, "127.0.0.1:0")
	guarded := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "open-sesame" {
			w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"ask the team for a password"}]}`)
			return
		}
		store.ServeHTTP(w, r)
	})}
	go func() { _ = guarded.Serve(listener) }()
	t.Cleanup(func() { _ = guarded.Close() })
	return listener.Addr().String()
}

// fill puts an image into a registry, as tag 1 of the repository at path.
func fill(t *testing.T, store http.Handler, path string, image imagev1.Image) {
	t.Helper()
	put := func(method, url string, kind types.MediaType, body []byte, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(method, url, bytes.NewReader(body))
		r.Header.Set("Content-Type", string(kind))
		answer := httptest.NewRecorder()
		if store.ServeHTTP(answer, r); answer.Code != http.StatusCreated {
			t.Fatalf("%s %s: %d %s", method, url, answer.Code, answer.Body)
		}
	}
	blob := func(raw []byte, err error) {
		t.Helper()
		put(http.MethodPost, fmt.Sprintf("%s/blobs/uploads/?digest=sha256:%x", path, sha256.Sum256(raw)), types.OCILayer, raw, err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, layer := range layers {
		content, err := layer.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		blob(io.ReadAll(content))
	}
	blob(image.RawConfigFile())
	kind, err := image.MediaType()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := image.RawManifest()
	put(http.MethodPut, path+"/manifests/1", kind, raw, err)
}

// An image comes from a private registry with the pull secret of the pod, and
// without it the registry's answer is in the status and the events.
func TestPrivateRegistry(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	host := privateRegistry(t, shared)
	auth := base64.StdEncoding.EncodeToString([]byte("user:open-sesame"))
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: registry}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths":{"%[1]s":{"auth":"%[2]s"}}}'}
---
apiVersion: v1
kind: Pod
metadata: {name: without}
spec:
  containers: [{name: c, image: "%[1]s/team/box:1", command: [sleep, infinity]}]
---
apiVersion: v1
kind: Pod
metadata: {name: absent}
spec:
  imagePullSecrets: [{name: registry}]
  containers: [{name: c, image: "%[1]s/team/nothing:1", command: [sleep, infinity]}]
---
apiVersion: v1
kind: Pod
metadata: {name: with}
spec:
  terminationGracePeriodSeconds: 1
  imagePullSecrets: [{name: registry}]
  containers: [{name: c, image: "%[1]s/team/box:1", imagePullPolicy: Always, command: [sleep, infinity]}]
`, host, auth))
	pod := s.waitReady("with")
	if id := status(pod, "c").ImageID; !strings.HasPrefix(id, host+"/team/box@sha256:") {
		t.Errorf("the image is %q", id)
	}
	s.events("with", "Successfully pulled image", "Image size: ")
	for name, words := range map[string]string{"without": "no basic auth credentials", "absent": "not found"} {
		s.waitPod(name, 60*time.Second, "in image back-off", func(p *v1.Pod) bool {
			w := status(p, "c").State.Waiting
			return w != nil && w.Reason == "ImagePullBackOff" && strings.Contains(w.Message, words)
		})
		s.events(name, "Error: ErrImagePull", words)
	}
}
