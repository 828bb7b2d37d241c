package volumes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

// mountsOf asks for the mounts of the pod's first container.
func (n *node) mountsOf(pod *v1.Pod, o MountOptions) ([]*runtimeapi.Mount, error) {
	mounts, done, err := n.Mounts(pod, &pod.Spec.Containers[0], o)
	done()
	return mounts, err
}

func TestMountsOfAContainer(t *testing.T) {
	n := newNode(t, configMap("c", "1", map[string]string{"k": "v"}))
	pod := podWith(emptyDir("d", "", ""), fromConfigMap("conf", "c"))
	pod.Spec.HostAliases = []v1.HostAlias{{IP: "10.0.0.9", Hostnames: []string{"a", "b"}}}
	vm := pod.Spec.Containers[0].VolumeMounts
	vm[0].MountPath = "relative"
	vm[0].MountPropagation = ptr(v1.MountPropagationHostToContainer)
	n.setUp(pod)

	mounts, err := n.mountsOf(pod, MountOptions{PodIPs: []string{"10.1.2.3", "fd00::3"}, HostName: "p", HostDomain: "sub.default.svc.cluster.local"})
	if err != nil {
		t.Fatal(err)
	}
	want := []*runtimeapi.Mount{
		{ContainerPath: "/relative", HostPath: n.path(pod, "d"), Propagation: runtimeapi.MountPropagation_PROPAGATION_HOST_TO_CONTAINER},
		{ContainerPath: "/conf", HostPath: n.path(pod, "conf"), Readonly: true},
		{ContainerPath: "/etc/hosts", HostPath: n.podDir(pod.UID) + "/etc-hosts"},
		{ContainerPath: "/dev/termination-log", HostPath: n.podDir(pod.UID) + "/containers/c/0"},
	}
	if len(mounts) != len(want) {
		t.Fatalf("got %v", mounts)
	}
	for i := range want {
		if mounts[i].String() != want[i].String() {
			t.Errorf("got  %v\nwant %v", mounts[i], want[i])
		}
	}
	hosts, err := os.ReadFile(mounts[2].HostPath)
	if err != nil {
		t.Fatal(err)
	}
	wantHosts := "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
		"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n" +
		"10.1.2.3\tp.sub.default.svc.cluster.local\tp\nfd00::3\tp.sub.default.svc.cluster.local\tp\n" +
		"\n# Entries added by HostAliases.\n10.0.0.9\ta\tb\n"
	if string(hosts) != wantHosts {
		t.Errorf("hosts file:\n%s", hosts)
	}
	for path, mode := range map[string]os.FileMode{mounts[2].HostPath: 0o644, mounts[3].HostPath: 0o666} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	n.tearDown(pod.UID)
}

func TestHostsFileIsLeftOutOrTheNodes(t *testing.T) {
	n := newNode(t)
	pod := podWith()
	n.setUp(pod)
	if mounts, err := n.mountsOf(pod, MountOptions{}); err != nil || len(mounts) != 1 {
		t.Errorf("without an address: %v %v", mounts, err)
	}
	pod.Spec.HostNetwork = true
	mounts, err := n.mountsOf(pod, MountOptions{})
	if err != nil || len(mounts) != 2 {
		t.Fatalf("on the host's network: %v %v", mounts, err)
	}
	node, _ := os.ReadFile("/etc/hosts")
	got, _ := os.ReadFile(mounts[0].HostPath)
	if string(got) != "# Kubernetes-managed hosts file (host network).\n"+string(node) {
		t.Errorf("got %s", got)
	}
	n.tearDown(pod.UID)

	own := podWith(emptyDir("d", "", ""))
	own.Spec.Containers[0].VolumeMounts[0].MountPath = "/etc/hosts"
	n.setUp(own)
	mounts, err = n.mountsOf(own, MountOptions{PodIPs: []string{"10.0.0.1"}})
	if err != nil || len(mounts) != 2 || mounts[0].HostPath != n.path(own, "d") {
		t.Errorf("with a mount of its own: %v %v", mounts, err)
	}
	n.tearDown(own.UID)
}

func TestTerminationMessageFilesOfRuns(t *testing.T) {
	n := newNode(t)
	pod := podWith()
	n.setUp(pod)
	for attempt := range int32(4) {
		mounts, err := n.mountsOf(pod, MountOptions{Attempt: attempt})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(mounts[0].HostPath, []byte("died"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(filepath.Join(n.podDir(pod.UID), "containers", "c"))
	if err != nil || len(left) != 2 || left[0].Name() != "2" || left[1].Name() != "3" {
		t.Errorf("want the files of the last two runs, got %v %v", left, err)
	}
	n.tearDown(pod.UID)
}

func TestSubPaths(t *testing.T) {
	data := t.TempDir()
	n := newNode(t)
	pod := podWith(emptyDir("d", "", ""), v1.Volume{Name: "h", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: data}}})
	vm := pod.Spec.Containers[0].VolumeMounts
	vm[0].SubPath = "a/b"
	vm[1].SubPathExpr = "logs/$(POD)"
	n.setUp(pod)
	mounts, err := n.mountsOf(pod, MountOptions{Env: []kubecontainer.EnvVar{{Name: "POD", Value: "p-0"}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, real := range []string{n.path(pod, "d") + "/a/b", data + "/logs/p-0"} {
		if !strings.HasPrefix(mounts[i].HostPath, n.podDir(pod.UID)+"/volume-subpaths/") {
			t.Errorf("the subPath is not bound to a safe place: %s", mounts[i].HostPath)
		}
		if err := os.WriteFile(real+"/f", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(mounts[i].HostPath + "/f"); err != nil {
			t.Error(err)
		}
	}
	n.restart() // the next agent finds mounts it did not make
	n.tearDown(pod.UID)
	if _, err := os.Stat(data + "/logs/p-0/f"); err != nil {
		t.Error("data behind the subPath is lost:", err)
	}
}

func TestSubPathCannotLeadOut(t *testing.T) {
	outside := t.TempDir()
	n := newNode(t)
	pod := podWith(emptyDir("d", "", ""))
	vm := &pod.Spec.Containers[0].VolumeMounts[0]
	n.setUp(pod)
	if err := os.Symlink(outside, filepath.Join(n.path(pod, "d"), "link")); err != nil {
		t.Fatal(err)
	}
	for sub, want := range map[string]string{
		"/abs":      "error SubPath `/abs` must not be an absolute path",
		"../up":     "unable to provision SubPath `../up`: must not contain '..'",
		"link":      `failed to prepare subPath for volumeMount "d" of container "c"`,
		"link/deep": `failed to create subPath directory for volumeMount "d" of container "c"`,
	} {
		vm.SubPath = sub
		_, err := n.mountsOf(pod, MountOptions{})
		wantError(t, err, want)
	}
	vm.SubPath, vm.SubPathExpr = "", "$(NONE)"
	_, err := n.mountsOf(pod, MountOptions{})
	if err == nil || !strings.Contains(err.Error(), "NONE") {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("made outside of the volume: %v", left)
	}
	n.tearDown(pod.UID)
}

func TestMountOfAnUnknownVolume(t *testing.T) {
	n := newNode(t)
	_, err := n.mountsOf(podWith(emptyDir("d", "", "")), MountOptions{})
	wantError(t, err, `cannot find volume "d" to mount into container "c"`)
}

func TestImageVolumes(t *testing.T) {
	n := newNode(t)
	pod := podWith(v1.Volume{Name: "i", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "img:1"}}})
	pod.Spec.Containers[0].VolumeMounts[0].SubPath = "etc"
	n.setUp(pod)
	spec := &runtimeapi.ImageSpec{Image: "sha256:1"}
	mounts, err := n.mountsOf(pod, MountOptions{Images: map[string]*runtimeapi.ImageSpec{"i": spec}})
	if err != nil || mounts[0].Image != spec || mounts[0].ImageSubPath != "etc" || mounts[0].HostPath != "" || !mounts[0].Readonly {
		t.Errorf("got %v %v", mounts, err)
	}
	n.tearDown(pod.UID)
}

func TestRecursiveReadOnly(t *testing.T) {
	mode := func(m v1.RecursiveReadOnlyMode) *v1.RecursiveReadOnlyMode { return &m }
	for _, c := range []struct {
		name      string
		mount     v1.VolumeMount
		supported bool
		want      bool
		err       string
	}{
		{"unset", v1.VolumeMount{}, true, false, ""},
		{"disabled", v1.VolumeMount{RecursiveReadOnly: mode(v1.RecursiveReadOnlyDisabled)}, true, false, ""},
		{"if possible, not", v1.VolumeMount{ReadOnly: true, RecursiveReadOnly: mode(v1.RecursiveReadOnlyIfPossible)}, false, false, ""},
		{"if possible, is", v1.VolumeMount{ReadOnly: true, RecursiveReadOnly: mode(v1.RecursiveReadOnlyIfPossible)}, true, true, ""},
		{"enabled", v1.VolumeMount{ReadOnly: true, RecursiveReadOnly: mode(v1.RecursiveReadOnlyEnabled)}, true, true, ""},
		{
			"enabled, not possible",
			v1.VolumeMount{Name: "v", ReadOnly: true, RecursiveReadOnly: mode(v1.RecursiveReadOnlyEnabled)},
			false, false,
			`volume "v" requested recursive read-only mode, but it is not supported by the runtime`,
		},
		{
			"writable",
			v1.VolumeMount{Name: "v", RecursiveReadOnly: mode(v1.RecursiveReadOnlyEnabled)},
			true, false,
			`volume "v" requested recursive read-only mode, but it is not read-only`,
		},
		{
			"propagated",
			v1.VolumeMount{Name: "v", ReadOnly: true, MountPropagation: ptr(v1.MountPropagationBidirectional), RecursiveReadOnly: mode(v1.RecursiveReadOnlyEnabled)},
			true, false,
			`volume "v" requested recursive read-only mode, but it is not compatible with propagation "Bidirectional"`,
		},
		{"nonsense", v1.VolumeMount{ReadOnly: true, RecursiveReadOnly: mode("x")}, true, false, `unknown recursive read-only mode "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := recursive(&c.mount, c.supported)
			wantError(t, err, c.err)
			if got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// Every address of the pod and every alias is found in the hosts file by the
// rules of hosts(5): address first, then names, comments aside.
func TestHostsFileIsReadable(t *testing.T) {
	name := rapid.StringMatching(`[a-z][a-z0-9-]{0,10}`)
	rapid.Check(t, func(t *rapid.T) {
		ips := rapid.SliceOfDistinct(rapid.StringMatching(`10\.[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}`), rapid.ID[string]).Draw(t, "ips")
		host, domain := name.Draw(t, "host"), rapid.SampledFrom([]string{"", "sub.ns.svc.cluster.local"}).Draw(t, "domain")
		aliases := rapid.SliceOf(rapid.Custom(func(t *rapid.T) v1.HostAlias {
			return v1.HostAlias{IP: "192.0.2.1", Hostnames: rapid.SliceOfN(name, 1, 3).Draw(t, "names")}
		})).Draw(t, "aliases")
		entries := map[string]bool{}
		for line := range strings.Lines(string(podHosts(ips, host, domain, aliases))) {
			line, _, _ = strings.Cut(line, "#")
			fields := strings.Fields(line)
			for _, f := range fields[min(1, len(fields)):] {
				entries[fields[0]+" "+f] = true
			}
		}
		for _, ip := range ips {
			if !entries[ip+" "+host] || (domain != "" && !entries[fmt.Sprintf("%s %s.%s", ip, host, domain)]) {
				t.Fatalf("%s is missing", ip)
			}
		}
		for _, a := range aliases {
			for _, h := range a.Hostnames {
				if !entries[a.IP+" "+h] {
					t.Fatalf("alias %s is missing", h)
				}
			}
		}
	})
}
