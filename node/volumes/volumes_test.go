package volumes

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/mount-utils"
)

// node is a manager with real directories and mounts, and a fake API server.
type node struct {
	*Manager
	t      testing.TB
	dir    string
	client *fake.Clientset

	mu      sync.Mutex
	failed  []error
	watched []string
	tokens  atomic.Int64
	// nodeUnknown makes the node's object unknown.
	nodeUnknown atomic.Bool
	// life is the life of the tokens that are handed out.
	life atomic.Int64
}

func newNode(t testing.TB, objects ...runtime.Object) *node {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	n := &node{t: t, dir: t.TempDir(), client: fake.NewClientset(objects...)}
	n.life.Store(3600)
	n.client.PrependReactor("create", "serviceaccounts", n.token)
	n.client.PrependWatchReactor("*", n.watch)
	t.Cleanup(func() { unmountBelow(t, n.dir) })
	n.start()
	t.Cleanup(func() { n.Close() })
	return n
}

// start starts a manager on the node's directory, as an agent that comes up.
func (n *node) start() {
	n.t.Helper()
	m, err := New(Config{
		DataDir: n.dir, NodeName: "n1", Client: n.client, Log: slog.New(slog.DiscardHandler),
		Node: func() (*v1.Node, error) {
			if n.nodeUnknown.Load() {
				return nil, errors.New("node n1 is not registered yet")
			}
			return &v1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{v1.LabelHostname: "n1"}},
				Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")}},
			}, nil
		},
		Failed: func(_ *v1.Pod, err error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.failed = append(n.failed, err)
		},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.Manager = m
}

func (n *node) restart() {
	n.t.Helper()
	n.Close()
	n.start()
}

// token answers a TokenRequest with token-1, token-2…
func (n *node) token(action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "token" {
		return false, nil, nil
	}
	tr := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenRequest).DeepCopy()
	life := time.Duration(n.life.Load()) * time.Second
	tr.Status = authenticationv1.TokenRequestStatus{
		Token:               "token-" + string(rune('0'+n.tokens.Add(1))),
		ExpirationTimestamp: metav1.NewTime(time.Now().Add(life)),
	}
	return true, tr, nil
}

func (n *node) setUp(pod *v1.Pod) {
	n.t.Helper()
	if err := n.SetUp(n.t.Context(), pod); err != nil {
		n.t.Fatalf("SetUp: %v", err)
	}
}

func (n *node) tearDown(uid types.UID) {
	n.t.Helper()
	if err := n.TearDown(n.t.Context(), uid); err != nil {
		n.t.Fatalf("TearDown: %v", err)
	}
	if _, err := os.Stat(n.podDir(uid)); !errors.Is(err, os.ErrNotExist) {
		n.t.Errorf("the pod's directory is still there: %v", err)
	}
	if left := mountsBelow(n.t, n.podDir(uid)); len(left) > 0 {
		n.t.Errorf("still mounted: %v", left)
	}
}

// path is where the volume of a pod lies.
func (n *node) path(pod *v1.Pod, name string) string {
	n.t.Helper()
	p, ok := n.lookup(pod.UID)
	if !ok {
		n.t.Fatalf("pod %s was not set up", pod.Name)
	}
	v, ok := p.volume(name)
	if !ok {
		n.t.Fatalf("volume %s is not mounted", name)
	}
	return v.mounter.GetPath()
}

func (n *node) read(pod *v1.Pod, name, file string) string {
	n.t.Helper()
	b, err := os.ReadFile(filepath.Join(n.path(pod, name), file))
	if err != nil {
		n.t.Fatal(err)
	}
	return string(b)
}

func mountsBelow(t testing.TB, dir string) []string {
	t.Helper()
	points, err := mount.ListProcMounts("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	var below []string
	for _, p := range points {
		if strings.HasPrefix(p.Path, dir+"/") {
			below = append(below, p.Path)
		}
	}
	return below
}

func unmountBelow(t testing.TB, dir string) {
	t.Helper()
	for range 3 { // mounts can lie over one another
		for _, path := range mountsBelow(t, dir) {
			_ = mounter{}.Unmount(path)
		}
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// podWith makes a pod whose container c mounts every volume at /NAME.
func podWith(vols ...v1.Volume) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "p", UID: types.UID("uid-" + unique()),
			Labels: map[string]string{"app": "web"},
		},
		Spec: v1.PodSpec{
			ServiceAccountName: "default",
			Volumes:            vols,
			Containers:         []v1.Container{{Name: "c", TerminationMessagePath: "/dev/termination-log"}},
		},
	}
	for _, v := range vols {
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts,
			v1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
	return pod
}

var serial atomic.Int64

func unique() string { return strconv.FormatInt(serial.Add(1), 10) }

func ptr[T any](v T) *T { return &v }

func configMap(name, version string, data map[string]string) *v1.ConfigMap {
	return &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version},
		Data:       data,
	}
}

func fromConfigMap(volume, name string) v1.Volume {
	return v1.Volume{Name: volume, VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{
		LocalObjectReference: v1.LocalObjectReference{Name: name}, DefaultMode: ptr(int32(0o644)),
	}}}
}

func emptyDir(name string, medium v1.StorageMedium, limit string) v1.Volume {
	dir := &v1.EmptyDirVolumeSource{Medium: medium}
	if limit != "" {
		dir.SizeLimit = ptr(resource.MustParse(limit))
	}
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{EmptyDir: dir}}
}

// watch serves a watch, and counts it once it is there: an object that changes
// before would go unnoticed, as the fake API server has no resource versions.
func (n *node) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	w, err := n.client.Tracker().Watch(action.GetResource(), action.GetNamespace())
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watched = append(n.watched, action.GetResource().Resource)
	return true, w, err
}

// watches counts the watches that were begun on a kind of object.
func (n *node) watches(resourceName string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for _, r := range n.watched {
		if r == resourceName {
			count++
		}
	}
	return count
}

func (n *node) update(cm *v1.ConfigMap) {
	n.t.Helper()
	if _, err := n.client.CoreV1().ConfigMaps(cm.Namespace).Update(context.Background(), cm, metav1.UpdateOptions{}); err != nil {
		n.t.Fatal(err)
	}
}
