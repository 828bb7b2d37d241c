package fact

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Cgroup is what the path of a cgroup says about whose it is.
type Cgroup struct {
	// Pod is the pod's UID; empty for a cgroup of no pod.
	Pod types.UID
	// Container is the runtime's id, without a scheme; empty for the pod's own
	// cgroup and for the sandbox of runtimes that give it none.
	Container string
}

var (
	// A UID may be a static pod's, which is a hash in hex, so only its characters
	// are looked at.
	cgroupfsPod = regexp.MustCompile(`^pod([0-9A-Za-z][0-9A-Za-z-]*)$`)
	// With --cgroup-root=/kubelet, as kind has it, the names begin with "kubelet-".
	systemdPod = regexp.MustCompile(`^(?:[0-9A-Za-z_]+-)*kubepods(?:-(?:burstable|besteffort))?-pod([0-9A-Za-z][0-9A-Za-z_]*)\.slice$`)
	// cri-containerd-ID.scope, crio-ID.scope, docker-ID.scope, libpod-ID.scope
	systemdScope = regexp.MustCompile(`^(?:[a-z]+-)*([0-9A-Za-z][0-9A-Za-z_.]*)\.scope$`)
)

// ParseCgroup finds pod and container in a path as kubelet's cgroup drivers
// make them (pkg/kubelet/cm/cgroup_manager_linux.go), anywhere in a hierarchy:
//
//	…/kubepods/burstable/podUID/CONTAINER                       cgroupfs
//	…/kubepods-burstable-podUID_.slice/cri-containerd-ID.scope  systemd
//
// A container may have made cgroups below its own; they count as its own.
func ParseCgroup(path string) Cgroup {
	var c Cgroup
	below := false // a kubepods cgroup was passed
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case c.Pod != "":
			c.Container = containerID(part)
			return c
		case strings.HasPrefix(part, "kubepods") || strings.Contains(part, "-kubepods"):
			below = true
			if m := systemdPod.FindStringSubmatch(part); m != nil {
				c.Pod = types.UID(strings.ReplaceAll(m[1], "_", "-"))
			}
		case below:
			if m := cgroupfsPod.FindStringSubmatch(part); m != nil {
				c.Pod = types.UID(m[1])
			}
		}
	}
	return c
}

// containerID takes the runtime's id out of the name of a container's cgroup.
func containerID(name string) string {
	if m := systemdScope.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return strings.TrimPrefix(name, "crio-")
}
