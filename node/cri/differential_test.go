package cri_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"pgregory.net/rapid"

	"whylet.dev/whylet/node/cri"
	_ "whylet.dev/whylet/test/fixedseed"
)

// TestSameAsKubelet draws pods with every field that the builders read, and
// compares what kubelet v1.37 tells the runtime with what we would.
func TestSameAsKubelet(t *testing.T) {
	root := t.TempDir()
	k := newKubelet(t, root)
	machine := cri.DetectMachine(testMemory)
	machine.HugePageSizes = cgroups.HugePageSizes() // kubelet names them also where none can be limited
	rapid.Check(t, func(rt *rapid.T) {
		pod := drawPod(rt)
		user := drawUser(rt)
		k.images.user = user
		k.answers = drawAnswers(rt)

		sandbox, containers, failed := k.sync(pod)
		ours, err := cri.SandboxConfig(cri.SandboxInput{
			Pod: pod, PodLogsDir: logsDir(root), CgroupParent: k.answers.cgroup, ClusterDomain: k.answers.domain,
			DNS: k.answers.dns, ExtraGroups: k.answers.groups, Users: k.answers.users, Machine: machine,
		})
		if err != nil {
			if failed == nil {
				rt.Fatalf("we refuse the sandbox and kubelet does not: %v", err)
			}
			return
		}
		same(rt, "sandbox", normalSandbox(sandbox), normalSandbox(ours))

		var built []*runtimeapi.ContainerConfig
		var refused error
		for i := range pod.Spec.Containers {
			c, err := cri.ContainerConfig(cri.ContainerInput{
				Pod: pod, Container: &pod.Spec.Containers[i], ImageRef: "sha256:" + pod.Spec.Containers[i].Image,
				ImageUser: user, Env: k.answers.env, Mounts: criMounts(k.answers.mounts), Users: k.answers.users,
				ExtraGroups: k.answers.groups, SeccompRoot: root + "/seccomp", Machine: machine,
			})
			if err != nil {
				refused = firstError(refused, err)
				continue
			}
			built = append(built, c)
		}
		// One of kubelet's errors ends with a full stop.
		if fmt.Sprint(refused) != strings.TrimSuffix(fmt.Sprint(failed), ".") {
			rt.Fatalf("we say %v, kubelet says %v", refused, failed)
		}
		if len(built) != len(containers) {
			rt.Fatalf("we make %d containers, kubelet %d", len(built), len(containers))
		}
		for i := range built {
			same(rt, "container "+built[i].Metadata.Name, normalContainer(containers[i]), normalContainer(built[i]))
		}
	})
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// oldAppArmor is the deprecated form of the AppArmor profile, which kubelet still
// adds for runtimes from before CRI v1.
var oldAppArmor = protocmp.IgnoreFields(&runtimeapi.LinuxContainerSecurityContext{}, "apparmor_profile")

func same(rt *rapid.T, what string, theirs, ours proto.Message) {
	rt.Helper()
	if diff := cmp.Diff(theirs, ours, protocmp.Transform(), oldAppArmor); diff != "" {
		rt.Fatalf("%s: kubelet's (-) and ours (+) differ:\n%s", what, diff)
	}
}

// normalSandbox evens out what means the same on the wire: an empty map and none.
func normalSandbox(c *runtimeapi.PodSandboxConfig) *runtimeapi.PodSandboxConfig {
	c = proto.CloneOf(c)
	sortHugePages(c.Linux.Resources)
	return c
}

func normalContainer(c *runtimeapi.ContainerConfig) *runtimeapi.ContainerConfig {
	c = proto.CloneOf(c)
	sortHugePages(c.Linux.Resources)
	return c
}

func sortHugePages(r *runtimeapi.LinuxContainerResources) {
	slices.SortFunc(r.GetHugepageLimits(), func(a, b *runtimeapi.HugepageLimit) int {
		if a.PageSize < b.PageSize {
			return -1
		}
		return 1
	})
}

func criMounts(in []kubecontainer.Mount) []*runtimeapi.Mount {
	var out []*runtimeapi.Mount
	for _, m := range in {
		out = append(out, &runtimeapi.Mount{
			HostPath: m.HostPath, ContainerPath: m.ContainerPath, Readonly: m.ReadOnly, Propagation: m.Propagation,
		})
	}
	return out
}

func drawAnswers(rt *rapid.T) answers {
	a := answers{
		cgroup: "/kubepods/burstable/pod" + rapid.StringMatching(`[a-f0-9]{4}`).Draw(rt, "cgroup"),
		domain: "cluster.local",
		dns:    &runtimeapi.DNSConfig{Servers: []string{"10.96.0.10"}, Options: []string{"ndots:5"}},
		groups: rapid.SliceOfN(rapid.Int64Range(1, 9999), 0, 2).Draw(rt, "extra groups"),
		users:  &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_NODE},
	}
	for i := range rapid.IntRange(0, 3).Draw(rt, "env") {
		a.env = append(a.env, kubecontainer.EnvVar{Name: fmt.Sprintf("V%d", i), Value: rapid.StringN(0, 4, -1).Draw(rt, "value")})
	}
	for i := range rapid.IntRange(0, 2).Draw(rt, "mounts") {
		a.mounts = append(a.mounts, kubecontainer.Mount{
			HostPath: fmt.Sprintf("/host/%d", i), ContainerPath: fmt.Sprintf("/in/%d", i), ReadOnly: rapid.Bool().Draw(rt, "ro"),
		})
	}
	return a
}

func drawUser(rt *rapid.T) cri.ImageUser {
	switch rapid.IntRange(0, 2).Draw(rt, "image user") {
	case 0:
		return cri.ImageUser{}
	case 1:
		return cri.ImageUser{Name: "nobody"}
	}
	uid := rapid.SampledFrom([]int64{0, 1, 1000, 1 << 40}).Draw(rt, "image uid")
	return cri.ImageUser{UID: &uid}
}

func drawPod(rt *rapid.T) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "p" + rapid.StringMatching(`[a-z0-9]{0,70}`).Draw(rt, "name"),
			UID:         types.UID(rapid.StringMatching(`[a-f0-9]{8}-[a-f0-9]{4}`).Draw(rt, "uid")),
			Labels:      drawMap(rt, "labels"),
			Annotations: drawMap(rt, "annotations"),
		},
		Spec: v1.PodSpec{
			RestartPolicy:                 v1.RestartPolicyAlways,
			HostNetwork:                   rapid.Bool().Draw(rt, "hostNetwork"),
			HostPID:                       rapid.Bool().Draw(rt, "hostPID"),
			HostIPC:                       rapid.Bool().Draw(rt, "hostIPC"),
			ShareProcessNamespace:         maybe(rt, "shareProcessNamespace", rapid.Bool()),
			SetHostnameAsFQDN:             maybe(rt, "setHostnameAsFQDN", rapid.Bool()),
			Hostname:                      rapid.SampledFrom([]string{"", "web"}).Draw(rt, "hostname"),
			Subdomain:                     rapid.SampledFrom([]string{"", "sub"}).Draw(rt, "subdomain"),
			TerminationGracePeriodSeconds: maybe(rt, "grace", rapid.Int64Range(0, 60)),
			SecurityContext:               drawPodSecurity(rt),
			Overhead:                      drawResources(rt, "overhead", v1.ResourceCPU, v1.ResourceMemory),
		},
	}
	if rapid.Bool().Draw(rt, "pod resources") {
		pod.Spec.Resources = &v1.ResourceRequirements{
			Requests: drawResources(rt, "pod requests", v1.ResourceCPU, v1.ResourceMemory),
			Limits:   drawResources(rt, "pod limits", v1.ResourceCPU, v1.ResourceMemory, "hugepages-2Mi"),
		}
	}
	for i := range rapid.IntRange(1, 3).Draw(rt, "containers") {
		pod.Spec.Containers = append(pod.Spec.Containers, drawContainer(rt, fmt.Sprintf("c%d", i)))
	}
	return pod
}

func drawContainer(rt *rapid.T, name string) v1.Container {
	c := v1.Container{
		Name: name, Image: "image:" + name, ImagePullPolicy: v1.PullIfNotPresent,
		Command:    rapid.SliceOfN(rapid.SampledFrom([]string{"sh", "-c", "$(V0)", "$(NONE)", "$$(V0)", "a$(V1)b"}), 0, 3).Draw(rt, "command"),
		Args:       rapid.SliceOfN(rapid.SampledFrom([]string{"x", "$(V2)", "$("}), 0, 3).Draw(rt, "args"),
		WorkingDir: rapid.SampledFrom([]string{"", "/work"}).Draw(rt, "workingDir"),
		Stdin:      rapid.Bool().Draw(rt, "stdin"), StdinOnce: rapid.Bool().Draw(rt, "stdinOnce"), TTY: rapid.Bool().Draw(rt, "tty"),
		TerminationMessagePolicy: rapid.SampledFrom([]v1.TerminationMessagePolicy{v1.TerminationMessageReadFile, v1.TerminationMessageFallbackToLogsOnError}).Draw(rt, "message policy"),
		TerminationMessagePath:   rapid.SampledFrom([]string{"", "/dev/termination-log"}).Draw(rt, "message path"),
		Resources: v1.ResourceRequirements{
			Requests: drawResources(rt, "requests", v1.ResourceCPU, v1.ResourceMemory),
			Limits:   drawResources(rt, "limits", v1.ResourceCPU, v1.ResourceMemory, "hugepages-2Mi", "hugepages-1Gi"),
		},
		SecurityContext: drawSecurity(rt),
	}
	for i := range rapid.IntRange(0, 2).Draw(rt, "ports") {
		c.Ports = append(c.Ports, v1.ContainerPort{
			Name:          rapid.SampledFrom([]string{"", "web"}).Draw(rt, "port name"),
			ContainerPort: int32(8080 + i), HostPort: rapid.SampledFrom([]int32{0, 80}).Draw(rt, "hostPort"),
			HostIP:   rapid.SampledFrom([]string{"", "127.0.0.1", "::1"}).Draw(rt, "hostIP"),
			Protocol: rapid.SampledFrom([]v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP}).Draw(rt, "protocol"),
		})
	}
	if rapid.Bool().Draw(rt, "preStop") {
		c.Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sync"}}}}
	}
	return c
}

func drawPodSecurity(rt *rapid.T) *v1.PodSecurityContext {
	if rapid.IntRange(0, 5).Draw(rt, "no pod security") == 0 {
		return nil
	}
	s := &v1.PodSecurityContext{
		RunAsUser: maybe(rt, "pod user", rapid.Int64Range(0, 3)), RunAsGroup: maybe(rt, "pod group", rapid.Int64Range(0, 3)),
		RunAsNonRoot:       maybe(rt, "pod nonroot", rapid.Bool()),
		FSGroup:            maybe(rt, "fsGroup", rapid.Int64Range(0, 9)),
		SupplementalGroups: rapid.SliceOfN(rapid.Int64Range(1, 9), 0, 2).Draw(rt, "groups"),
		SupplementalGroupsPolicy: maybe(rt, "groups policy", rapid.SampledFrom(
			[]v1.SupplementalGroupsPolicy{v1.SupplementalGroupsPolicyMerge, v1.SupplementalGroupsPolicyStrict})),
		SeccompProfile:  drawSeccomp(rt),
		AppArmorProfile: drawAppArmor(rt),
		SELinuxOptions:  drawSELinux(rt),
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"kernel.shm_rmid_forced", "net/ipv4/tcp_syncookies"}), 0, 2, rapid.ID).Draw(rt, "sysctls") {
		s.Sysctls = append(s.Sysctls, v1.Sysctl{Name: name, Value: "1"})
	}
	return s
}

func drawSecurity(rt *rapid.T) *v1.SecurityContext {
	if rapid.Bool().Draw(rt, "no security") {
		return nil
	}
	s := &v1.SecurityContext{
		Privileged: maybe(rt, "privileged", rapid.Bool()), ReadOnlyRootFilesystem: maybe(rt, "read-only root", rapid.Bool()),
		AllowPrivilegeEscalation: maybe(rt, "escalation", rapid.Bool()),
		RunAsUser:                maybe(rt, "user", rapid.Int64Range(0, 3)), RunAsGroup: maybe(rt, "group", rapid.Int64Range(0, 3)),
		RunAsNonRoot:    maybe(rt, "nonroot", rapid.Bool()),
		ProcMount:       maybe(rt, "procMount", rapid.SampledFrom([]v1.ProcMountType{v1.DefaultProcMount, v1.UnmaskedProcMount})),
		SeccompProfile:  drawSeccomp(rt),
		AppArmorProfile: drawAppArmor(rt),
		SELinuxOptions:  drawSELinux(rt),
	}
	if rapid.Bool().Draw(rt, "capabilities") {
		caps := rapid.SliceOfN(rapid.SampledFrom([]v1.Capability{"NET_ADMIN", "ALL", "CHOWN"}), 0, 2)
		s.Capabilities = &v1.Capabilities{Add: caps.Draw(rt, "add"), Drop: caps.Draw(rt, "drop")}
	}
	return s
}

func drawSeccomp(rt *rapid.T) *v1.SeccompProfile {
	profile := func(s string) *string { return &s }
	return maybe(rt, "seccomp", rapid.SampledFrom([]v1.SeccompProfile{
		{Type: v1.SeccompProfileTypeRuntimeDefault},
		{Type: v1.SeccompProfileTypeUnconfined},
		{Type: v1.SeccompProfileTypeLocalhost, LocalhostProfile: profile("deny.json")},
		{Type: v1.SeccompProfileTypeLocalhost},
	}))
}

func drawAppArmor(rt *rapid.T) *v1.AppArmorProfile {
	profile := func(s string) *string { return &s }
	return maybe(rt, "apparmor", rapid.SampledFrom([]v1.AppArmorProfile{
		{Type: v1.AppArmorProfileTypeRuntimeDefault},
		{Type: v1.AppArmorProfileTypeUnconfined},
		{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: profile("mine")},
		{Type: v1.AppArmorProfileTypeLocalhost},
	}))
}

func drawSELinux(rt *rapid.T) *v1.SELinuxOptions {
	return maybe(rt, "selinux", rapid.Just(v1.SELinuxOptions{User: "u", Role: "r", Type: "t", Level: "l"}))
}

func drawResources(rt *rapid.T, label string, names ...v1.ResourceName) v1.ResourceList {
	var list v1.ResourceList
	for _, name := range names {
		if rapid.Bool().Draw(rt, label+" "+string(name)) {
			if list == nil {
				list = v1.ResourceList{}
			}
			list[name] = resource.MustParse(rapid.SampledFrom([]string{"0", "1m", "7m", "250m", "1", "2", "64Mi", "3Gi"}).Draw(rt, "quantity"))
		}
	}
	return list
}

func drawMap(rt *rapid.T, label string) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom([]string{"app", "tier", "example.com/x"}), rapid.SampledFrom([]string{"", "a", "b"}), 0, 2).Draw(rt, label)
}

func maybe[T any](rt *rapid.T, label string, g *rapid.Generator[T]) *T {
	return rapid.Ptr(g, true).Draw(rt, label)
}
