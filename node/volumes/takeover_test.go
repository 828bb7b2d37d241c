package volumes

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

var errDown = errors.New("connection refused")

// An agent that comes back before its API server does takes the pods over with
// what it finds: containers can start again, and the contents follow later.
func TestTakingOverWithoutAPIServer(t *testing.T) {
	data := t.TempDir()
	n := newNode(t, rootCA("1", "pem"), bound("local"), &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-local", Annotations: map[string]string{"pv.beta.kubernetes.io/gid": "5"}},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: data}},
			ClaimRef:               &v1.ObjectReference{UID: "claim-local"},
		},
	})
	pod := podWith(apiAccess(), claim("local"), emptyDir("mem", v1.StorageMediumMemory, ""))
	n.setUp(pod)

	down := true
	n.client.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		return down, nil, errDown
	})
	n.nodeUnknown.Store(true)
	n.restart()
	if err := n.SetUp(t.Context(), pod); !errors.Is(err, errDown) {
		t.Errorf("the failure is not told: %v", err)
	}
	mounts, err := n.mountsOf(pod, MountOptions{})
	if err != nil || len(mounts) != 4 {
		t.Fatalf("a container could not start again: %v %v", mounts, err)
	}
	if got := n.ExtraGroups(pod); len(got) != 1 || got[0] != 5 {
		t.Errorf("extra groups %v", got)
	}
	if got := n.read(pod, "api", "token"); got != "token-1" {
		t.Errorf("the contents did not stay: %q", got)
	}

	n.mu.Lock()
	down = false
	n.mu.Unlock()
	n.nodeUnknown.Store(false)
	eventually(t, "a token of this agent", func() bool { return n.read(pod, "api", "token") == "token-2" })
	n.tearDown(pod.UID)
}

func TestRecordOfClaims(t *testing.T) {
	n := newNode(t)
	pod := podWith(emptyDir("d", "", ""))
	n.setUp(pod)
	if _, ok := n.recall(pod.UID, "d"); ok {
		t.Error("recalled what was never recorded")
	}
	p := n.of(pod.UID)
	for _, name := range []string{"a", "b"} {
		n.record(p, pod.UID, name, &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}})
	}
	for _, name := range []string{"a", "b"} {
		if pv, ok := n.recall(pod.UID, name); !ok || pv.Name != "pv-"+name {
			t.Errorf("%s: got %v %v", name, pv, ok)
		}
	}
	if err := os.WriteFile(filepath.Join(n.podDir(pod.UID), claimsFile), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := n.recall(pod.UID, "a"); ok {
		t.Error("recalled from a torn file")
	}
	n.tearDown(pod.UID)
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(`{"a":{"metadata":{"name":"pv"},"spec":{"local":{"path":"/x"}}},"b":null}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if all, err := decodeRecord(text, "f"); err != nil && all != nil {
			t.Error("an error, and a record")
		}
	})
}
