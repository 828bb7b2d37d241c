package volumes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestEmptyDirs(t *testing.T) {
	n := newNode(t)
	pod := podWith(emptyDir("disk", "", ""), emptyDir("mem", v1.StorageMediumMemory, "2Mi"))
	pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: ptr(int64(4711))}
	n.setUp(pod)

	for _, name := range []string{"disk", "mem"} {
		info, err := os.Stat(n.path(pod, name))
		if err != nil {
			t.Fatal(err)
		}
		if gid := info.Sys().(*syscall.Stat_t).Gid; gid != 4711 {
			t.Errorf("%s belongs to group %d, want the fsGroup", name, gid)
		}
		if info.Mode()&os.ModeSetgid == 0 || info.Mode().Perm() != 0o777 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(n.path(pod, "mem"), &fs); err != nil {
		t.Fatal(err)
	}
	if size := int64(fs.Blocks) * fs.Bsize; fs.Type != unix.TMPFS_MAGIC || size != 2<<20 {
		t.Errorf("memory volume: type %x, %d bytes, want a tmpfs of 2Mi", fs.Type, size)
	}

	// A second set-up changes nothing: what the pod wrote stays.
	file := filepath.Join(n.path(pod, "disk"), "f")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.setUp(pod)
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	n.tearDown(pod.UID)
}

func TestUnusedVolumesAreLeftAlone(t *testing.T) {
	n := newNode(t)
	pod := podWith(fromConfigMap("conf", "missing"))
	pod.Spec.Containers[0].VolumeMounts = nil
	n.setUp(pod)
	n.tearDown(pod.UID)
}

func TestFailuresSpeakAsKubelet(t *testing.T) {
	dir := t.TempDir()
	n := newNode(t,
		&v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pending"}},
	)
	pod := podWith(
		fromConfigMap("conf", "nope"),
		v1.Volume{Name: "sec", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "gone", DefaultMode: ptr(int32(0o600))}}},
		v1.Volume{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: dir + "/x", Type: ptr(v1.HostPathFile)}}},
		v1.Volume{Name: "claim", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "pending"}}},
		v1.Volume{Name: "nfs", VolumeSource: v1.VolumeSource{NFS: &v1.NFSVolumeSource{Server: "s", Path: "/"}}},
		emptyDir("good", "", ""),
	)
	err := n.SetUp(t.Context(), pod)
	var all Failures
	if !errors.As(err, &all) {
		t.Fatalf("got %T %v", err, err)
	}
	want := []string{
		`MountVolume.SetUp failed for volume "conf" : configmap "nope" not found`,
		`MountVolume.SetUp failed for volume "host" : hostPath type check failed, ` + dir + `/x is not a file, unable to determine its type: path "` + dir + `/x" does not exist`,
		`MountVolume.SetUp failed for volume "sec" : secret "gone" not found`,
		`Unable to attach or mount volumes: unmounted volumes=[claim conf host nfs sec], unattached volumes=[], failed to process volumes=[claim nfs]: ` +
			`error processing PVC default/pending: PVC is not bound; failed to get Plugin from volumeSpec for volume "nfs" err=no volume plugin matched`,
	}
	if len(all) != len(want) {
		t.Fatalf("got %d failures: %v", len(all), err)
	}
	for i, e := range all {
		if e.Message != want[i] || e.Reason != "FailedMount" {
			t.Errorf("got  %s %s\nwant %s", e.Reason, e.Message, want[i])
		}
	}
	if !apierrors.IsNotFound(all[0]) {
		t.Error("the API server's error is lost")
	}
	if _, err := os.Stat(n.path(pod, "good")); err != nil {
		t.Error("a volume that did not fail is not ready:", err)
	}
	n.tearDown(pod.UID)
}

func TestUnansweredObjectIsReported(t *testing.T) {
	n := newNode(t)
	n.client.PrependReactor("list", "configmaps", refuse)
	pod := podWith(fromConfigMap("conf", "c"))
	err := n.SetUp(t.Context(), pod)
	want := `MountVolume.SetUp failed for volume "conf" : failed to sync configmap cache: configmaps "c" is forbidden: no relationship found`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	n.tearDown(pod.UID)
}

func TestLocalAndHostPathClaims(t *testing.T) {
	data := t.TempDir()
	local := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-local", Annotations: map[string]string{"pv.beta.kubernetes.io/gid": "1234"}},
		Spec: v1.PersistentVolumeSpec{
			AccessModes:            []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod},
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: data}},
			ClaimRef:               &v1.ObjectReference{UID: "claim-local"},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}},
			}}}},
		},
	}
	hostPath := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-host"},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: data + "/made", Type: ptr(v1.HostPathDirectoryOrCreate)}},
			ClaimRef:               &v1.ObjectReference{UID: "claim-host"},
		},
	}
	elsewhere := local.DeepCopy()
	elsewhere.Name, elsewhere.Spec.ClaimRef.UID = "pv-far", "claim-far"
	elsewhere.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values = []string{"n2"}
	n := newNode(t, local, hostPath, elsewhere, bound("local"), bound("host"), bound("far"))

	pod := podWith(claim("local"), claim("host"))
	pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: ptr(int64(99))}
	n.setUp(pod)
	if err := os.WriteFile(filepath.Join(n.path(pod, "local"), "f"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := n.ExtraGroups(pod); len(got) != 1 || got[0] != 1234 {
		t.Errorf("extra groups %v, want the volume's 1234", got)
	}
	if info, err := os.Stat(data); err != nil || info.Sys().(*syscall.Stat_t).Gid != 99 {
		t.Errorf("the local volume did not get the fsGroup: %v %v", info, err)
	}

	second := podWith(claim("local"))
	wantError(t, n.SetUp(t.Context(), second),
		`MountVolume.SetUp failed for volume "pv-local" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`)
	third := podWith(claim("far"))
	wantError(t, n.SetUp(t.Context(), third),
		`MountVolume.NodeAffinity check failed for volume "pv-far" : no matching NodeSelectorTerms`)

	// Another agent, which knows nothing of the pods, takes them down: the data stays.
	n.restart()
	for _, uid := range []types.UID{pod.UID, second.UID, third.UID} {
		n.tearDown(uid)
	}
	if b, err := os.ReadFile(filepath.Join(data, "f")); err != nil || string(b) != "kept" {
		t.Errorf("the volume's data is lost: %q %v", b, err)
	}
}

func TestClaimRules(t *testing.T) {
	now := metav1.NewTime(time.Unix(0, 0))
	ok := bound("x")
	deleting := ok.DeepCopy()
	deleting.DeletionTimestamp = &now
	protected := deleting.DeepCopy()
	protected.Finalizers = []string{"kubernetes.io/pvc-protection"}
	unnamed := ok.DeepCopy()
	unnamed.Spec.VolumeName = ""
	for _, c := range []struct {
		name string
		pvc  *v1.PersistentVolumeClaim
		want string
	}{
		{"bound", ok, ""},
		{"deleted", deleting, "PVC is being deleted"},
		{"deleted but protected", protected, ""},
		{"unbound", &v1.PersistentVolumeClaim{}, "PVC is not bound"},
		{"no volume", unnamed, "PVC has empty pvc.Spec.VolumeName"},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, usable(c.pvc), c.want) })
	}
}

func TestBlockClaimIsRefused(t *testing.T) {
	block := v1.PersistentVolumeBlock
	n := newNode(t, bound("raw"), &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-raw"},
		Spec:       v1.PersistentVolumeSpec{VolumeMode: &block, ClaimRef: &v1.ObjectReference{UID: "claim-raw"}},
	})
	pod := podWith(claim("raw"))
	if err := n.SetUp(t.Context(), pod); !errors.Is(err, errBlock) {
		t.Errorf("got %v", err)
	}
	n.tearDown(pod.UID)
}

func TestSetUpOfATornDownPod(t *testing.T) {
	n := newNode(t)
	pod := podWith(emptyDir("d", "", ""))
	n.setUp(pod)
	p := n.of(pod.UID)
	n.tearDown(pod.UID)
	if n.register(p, pod) {
		t.Error("a pod that was torn down came back")
	}
	n.setUp(pod) // the same UID again (a static pod) is a new beginning
	n.tearDown(pod.UID)
}

func bound(name string) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("claim-" + name)},
		Spec: v1.PersistentVolumeClaimSpec{
			VolumeName: "pv-" + name,
			Resources:  v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Mi")}},
		},
		Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound},
	}
}

func claim(name string) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{
		PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestSetUpEndsWithItsContext(t *testing.T) {
	n := newNode(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pod := podWith(claim("x"))
	if err := n.SetUp(ctx, pod); err == nil {
		t.Error("no error")
	}
	n.tearDown(pod.UID)
}
