package e2e

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/test/runtimes"
)

// privateRegistry serves busybox as team/box:1 on the loopback of the node's
// network namespace, to whoever knows the password, and says no in words of its
// own. It returns its host and port.
func privateRegistry(t *testing.T, n *node) string {
	t.Helper()
	store := runtimes.NewMirror()
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
	if err := store.Put("/v2/team/box", image); err != nil {
		t.Fatal(err)
	}
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
