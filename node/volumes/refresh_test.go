package volumes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

func refuse(action clienttesting.Action) (bool, runtime.Object, error) {
	return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "c", errors.New("no relationship found"))
}

// apiAccess is the volume that the API server adds to every pod.
func apiAccess() v1.Volume {
	return v1.Volume{Name: "api", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
		DefaultMode: ptr(int32(0o644)),
		Sources: []v1.VolumeProjection{
			{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr(int64(3607))}},
			{ConfigMap: &v1.ConfigMapProjection{
				LocalObjectReference: v1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []v1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
				{Path: "labels", FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.labels"}},
			}}},
		},
	}}}
}

func rootCA(version, pem string) *v1.ConfigMap {
	return configMap("kube-root-ca.crt", version, map[string]string{"ca.crt": pem})
}

func TestProjectedTokenIsWrittenAndRotated(t *testing.T) {
	n := newNode(t, rootCA("1", "pem"))
	pod := podWith(apiAccess())
	pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: ptr(int64(7))}
	n.setUp(pod)
	for file, want := range map[string]string{
		"token": "token-1", "ca.crt": "pem", "namespace": "default", "labels": `app="web"`,
	} {
		if got := n.read(pod, "api", file); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
	info, err := os.Stat(filepath.Join(n.path(pod, "api"), "token"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o640 {
		t.Errorf("token has mode %v, want 0640 with an fsGroup", info.Mode())
	}

	// While the token is fresh a sync asks for no other; one that is near its end
	// is replaced in the running pod.
	n.Update(pod)
	n.setUp(pod)
	if got := n.tokens.Load(); got != 1 {
		t.Errorf("%d tokens were asked for, want 1", got)
	}
	n.tearDown(pod.UID)

	n.life.Store(1) // expires before it could be refreshed in time: asked for at every sync
	pod = podWith(apiAccess())
	n.setUp(pod)
	before := n.read(pod, "api", "token")
	n.Update(pod)
	eventually(t, "another token", func() bool { return n.read(pod, "api", "token") != before })
	n.tearDown(pod.UID)
}

func TestChangesReachARunningPod(t *testing.T) {
	n := newNode(t, configMap("c", "1", map[string]string{"k": "old"}), rootCA("1", "pem"))
	pod := podWith(fromConfigMap("conf", "c"), apiAccess())
	n.setUp(pod)
	if got := n.read(pod, "conf", "k"); got != "old" {
		t.Fatalf("got %q", got)
	}
	eventually(t, "two watches", func() bool { return n.watches("configmaps") == 2 })
	n.update(configMap("c", "2", map[string]string{"k": "new", "more": "x"}))
	eventually(t, "the new value", func() bool { return n.read(pod, "conf", "k") == "new" })
	eventually(t, "the new file", func() bool { // its name appears after the contents changed
		b, err := os.ReadFile(filepath.Join(n.path(pod, "conf"), "more"))
		return err == nil && string(b) == "x"
	})

	labelled := pod.DeepCopy()
	labelled.Labels["app"] = "api"
	n.Update(labelled)
	eventually(t, "the new label", func() bool { return n.read(pod, "api", "labels") == `app="api"` })

	// An object that goes is a failure that is told, and the contents stay.
	if err := n.client.CoreV1().ConfigMaps("default").Delete(context.Background(), "c", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a failure", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.failed) > 0
	})
	n.mu.Lock()
	wantError(t, n.failed[0], `MountVolume.SetUp failed for volume "conf" : configmap "c" not found`)
	n.mu.Unlock()
	if got := n.read(pod, "conf", "k"); got != "new" {
		t.Errorf("the contents went with the object: %q", got)
	}
	n.tearDown(pod.UID)
}

func TestMissingObjectThatAppears(t *testing.T) {
	n := newNode(t)
	pod := podWith(fromConfigMap("conf", "late"))
	if err := n.SetUp(t.Context(), pod); err == nil {
		t.Fatal("no error")
	}
	eventually(t, "a watch", func() bool { return n.watches("configmaps") == 1 })
	if _, err := n.client.CoreV1().ConfigMaps("default").Create(context.Background(),
		configMap("late", "1", map[string]string{"k": "v"}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the object", func() bool { _, err := n.GetConfigMap("default", "late"); return err == nil })
	n.setUp(pod)
	if got := n.read(pod, "conf", "k"); got != "v" {
		t.Errorf("got %q", got)
	}
	n.tearDown(pod.UID)
}

func TestWatchesEndWithTheirPods(t *testing.T) {
	n := newNode(t, configMap("c", "1", map[string]string{"k": "v"}))
	a, b := podWith(fromConfigMap("conf", "c")), podWith(fromConfigMap("conf", "c"))
	n.setUp(a)
	n.setUp(b)
	n.tearDown(a.UID)
	if _, err := n.GetConfigMap("default", "c"); err != nil {
		t.Error("still needed by the other pod:", err)
	}
	n.tearDown(b.UID)
	_, err := n.GetConfigMap("default", "c")
	wantError(t, err, `object "default"/"c" not registered`)
}

func TestGettersServeEnvironmentAndPullSecrets(t *testing.T) {
	n := newNode(t, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pull"}, Data: map[string][]byte{"k": []byte("v")}})
	pod := podWith()
	pod.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "pull"}}
	pod.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "none"}}}}
	n.setUp(pod)
	s, err := n.GetSecret("default", "pull")
	if err != nil || string(s.Data["k"]) != "v" {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := n.GetSecret("default", "none"); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want not found", err)
	}
	n.tearDown(pod.UID)
}

func TestImmutableObjectsAreNotWatched(t *testing.T) {
	cm := configMap("c", "1", map[string]string{"k": "v"})
	cm.Immutable = ptr(true)
	n := newNode(t, cm)
	pod := podWith(fromConfigMap("conf", "c"))
	n.setUp(pod)
	n.setUp(pod)
	if got := n.read(pod, "conf", "k"); got != "v" {
		t.Errorf("got %q", got)
	}
	if got := n.watches("configmaps"); got != 0 {
		t.Errorf("%d watches on an immutable object", got)
	}
	n.tearDown(pod.UID)
}
