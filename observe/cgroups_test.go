package observe

import (
	"strings"
	"testing"
)

// A container's cgroup is found whichever driver, hierarchy and runtime made it, also where its
// main process is in one below.
func TestCgroupOfAContainer(t *testing.T) {
	id := strings.Repeat("0a1b2c3d", 8)
	const pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f1e_2d3c.slice/"
	for name, c := range map[string]struct{ all, want string }{
		"systemd, v2, containerd": {"0::" + pod + "cri-containerd-" + id + ".scope\n", pod + "cri-containerd-" + id + ".scope"},
		"systemd, v2, CRI-O":      {"0::" + pod + "crio-" + id + ".scope/container\n", pod + "crio-" + id + ".scope"},
		"systemd, v1": {
			"12:pids:" + pod + "cri-containerd-" + id + ".scope\n4:memory:" + pod + "cri-containerd-" + id + ".scope\n1:name=systemd:/init.scope\n0::/\n",
			pod + "cri-containerd-" + id + ".scope",
		},
		"below kind's own slice":   {"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod0f1e.slice/cri-containerd-" + id + ".scope\n", "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod0f1e.slice/cri-containerd-" + id + ".scope"},
		"cgroupfs":                 {"0::/kubepods/burstable/pod0f1e-2d3c/" + id + "\n", "/kubepods/burstable/pod0f1e-2d3c/" + id},
		"systemd in the container": {"0::" + pod + "cri-containerd-" + id + ".scope/system.slice/nginx.service\n", pod + "cri-containerd-" + id + ".scope"},
		"another container":        {"0::" + pod + "cri-containerd-" + strings.Repeat("f", 64) + ".scope\n", ""},
		"no container":             {"0::/system.slice/kubelet.service\n", ""},
	} {
		if got := cgroupIn(c.all, id); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
