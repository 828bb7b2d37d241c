package volumes

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

func TestNextAgentTakesPodsOverAndOrphansDown(t *testing.T) {
	n := newNode(t, rootCA("1", "pem"))
	kept := podWith(emptyDir("disk", "", ""), emptyDir("mem", v1.StorageMediumMemory, ""), apiAccess())
	lost := podWith(emptyDir("disk", "", ""), emptyDir("mem", v1.StorageMediumMemory, ""), apiAccess())
	for _, pod := range []*v1.Pod{kept, lost} {
		n.setUp(pod)
		if err := os.WriteFile(n.path(pod, "mem")+"/f", []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := len(mountsBelow(t, n.dir))

	n.restart()
	orphans, err := n.Orphans(sets.New(kept.UID))
	if err != nil || len(orphans) != 1 || orphans[0] != lost.UID {
		t.Fatalf("orphans %v %v, want %s", orphans, err, lost.UID)
	}
	n.setUp(kept)
	if got := len(mountsBelow(t, n.dir)); got != before {
		t.Errorf("%d mounts after taking over, %d before", got, before)
	}
	if got := n.read(kept, "mem", "f"); got != "kept" {
		t.Errorf("the memory volume was made anew: %q", got)
	}
	n.tearDown(lost.UID)
	if orphans, err = n.Orphans(nil); err != nil || len(orphans) != 0 {
		t.Errorf("orphans %v %v, want none: the other pod is set up", orphans, err)
	}
	n.tearDown(kept.UID)
	n.tearDown(kept.UID) // again is no error
}

// A volume type that this version does not know, and a mount that a container
// left behind, are unmounted; what is mounted there is not touched.
func TestTearDownOfWhatNobodyKnows(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(data+"/precious", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n := newNode(t)
	pod := podWith(emptyDir("d", "", ""))
	n.setUp(pod)
	unknown := filepath.Join(n.podDir(pod.UID), "volumes", "example.com~odd", "v")
	left := filepath.Join(n.path(pod, "d"), "left")
	for _, dir := range []string{unknown, left} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	if err := newMounter().Mount(data, unknown, "", []string{"bind"}); err != nil {
		t.Fatal(err)
	}
	n.tearDown(pod.UID)
	if _, err := os.Stat(data + "/precious"); err != nil {
		t.Error(err)
	}
}

// What a plugin left behind in volumes/ may be somebody's data: the directory
// and the error stay.
func TestTearDownKeepsUnknownFiles(t *testing.T) {
	n := newNode(t)
	pod := podWith(emptyDir("d", "", ""))
	n.setUp(pod)
	file := filepath.Join(n.podDir(pod.UID), "volumes", "example.com~odd", "v", "f")
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.TearDown(t.Context(), pod.UID); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	n.tearDown(pod.UID) // the second attempt succeeds
}

func TestTearDownStaysInItsDirectory(t *testing.T) {
	n := newNode(t)
	for _, uid := range []types.UID{"", ".", "..", "../../etc", "a/b"} {
		if err := n.TearDown(t.Context(), uid); err == nil {
			t.Errorf("%q was taken for a UID", uid)
		}
	}
}

// A local volume that is a block device is mounted once for all its pods, and
// unmounted with the last of them.
func TestLocalBlockDeviceIsShared(t *testing.T) {
	image := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 8<<20); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	device := strings.TrimSpace(string(out))
	if err != nil {
		t.Skipf("no loop device to be had here: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })

	n := newNode(t, bound("dev"), &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-dev"},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: device}},
			ClaimRef:               &v1.ObjectReference{UID: "claim-dev"},
		},
	})
	a, b := podWith(claim("dev")), podWith(claim("dev"))
	n.setUp(a)
	n.setUp(b)
	if err := os.WriteFile(n.path(a, "dev")+"/f", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := n.read(b, "dev", "f"); got != "x" {
		t.Errorf("got %q", got)
	}
	n.tearDown(a.UID)
	if got := n.read(b, "dev", "f"); got != "x" {
		t.Errorf("the other pod lost it: %q", got)
	}
	n.restart()
	n.tearDown(b.UID)
	if left := mountsBelow(t, n.dir); len(left) > 0 {
		t.Errorf("still mounted: %v", left)
	}
}

func TestMounterFollowsNoLinkWhenUnmounting(t *testing.T) {
	dir := t.TempDir()
	m := newMounter()
	if err := m.Mount("tmpfs", mkdir(t, dir, "a"), "tmpfs", []string{"size=65536"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir+"/a", 0) })
	if err := os.Symlink(dir+"/a", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := m.Unmount(dir + "/link"); err != nil {
		t.Error("a link is not a mount, which is no error:", err)
	}
	if got := mountsBelow(t, dir); len(got) != 1 {
		t.Errorf("mounts %v, want the tmpfs", got)
	}
	if err := m.Unmount(dir + "/none"); err == nil {
		t.Error("no error for what does not exist")
	}
}

// Nothing of it calls a program of the machine.
func TestMounterCallsNoProgram(t *testing.T) {
	t.Setenv("PATH", "")
	dir := t.TempDir()
	m := newMounter()
	source, target, memory := mkdir(t, dir, "source"), mkdir(t, dir, "target"), mkdir(t, dir, "memory")
	unmount := func() {
		for _, d := range []string{target, memory} {
			if err := m.Unmount(d); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(unmount)
	if err := m.Mount("tmpfs", memory, "tmpfs", []string{"size=65536", "noexec", "nosuid"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		source  string
		options []string
		err     error
	}{
		{source, []string{"bind"}, nil},
		{source, []string{"bind", "ro"}, unix.EROFS},
		{memory, []string{"bind", "rw"}, nil},
		{memory, []string{"bind", "ro"}, unix.EROFS},
	} {
		if err := m.MountSensitive(c.source, target, "", c.options, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(target, "file"), nil, 0o600); !errors.Is(err, c.err) {
			t.Errorf("%v: writing gives %v, want %v", c.options, err, c.err)
		}
		var now unix.Statfs_t
		if err := unix.Statfs(target, &now); err != nil {
			t.Fatal(err)
		}
		if noexec := now.Flags&unix.ST_NOEXEC != 0; noexec != (c.source == memory) {
			t.Errorf("%v of %s: no programs may be run: %v", c.options, c.source, noexec)
		}
		if err := m.Unmount(target); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(source, "file"), nil, 0o600); err != nil {
		t.Error("what is mounted read-only elsewhere is so here:", err)
	}
	if err := m.Mount(filepath.Join(dir, "none"), target, "", []string{"bind", "ro"}); err == nil {
		t.Error("no error for a source that does not exist")
	}
}

func mkdir(t *testing.T, elems ...string) string {
	t.Helper()
	dir := filepath.Join(elems...)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	return dir
}
