package cri_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"whylet.dev/whylet/node/cri"
)

func simplePod() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u"},
		Spec: v1.PodSpec{
			SecurityContext: &v1.PodSecurityContext{},
			Containers: []v1.Container{{Name: "main", Image: "box:1", Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m"), v1.ResourceMemory: resource.MustParse("1Gi")},
				Limits:   v1.ResourceList{v1.ResourceMemory: resource.MustParse("2Gi"), "hugepages-2Mi": resource.MustParse("4Mi")},
			}}},
		},
	}
}

// TestResourcesByMachine covers what the machine that runs the differential test
// may not be: v1 and v2, with and without swap accounting and huge pages.
func TestResourcesByMachine(t *testing.T) {
	pod := simplePod()
	for name, test := range map[string]struct {
		machine cri.Machine
		unified map[string]string
		swap    int64
		huge    []string
	}{
		"v1":               {machine: cri.Machine{}},
		"v1, swap counted": {machine: cri.Machine{SwapAccounting: true}, swap: 2 << 30},
		"v2":               {machine: cri.Machine{CgroupV2: true}, unified: map[string]string{"memory.oom.group": "1", "memory.min": "0", "memory.low": "0"}},
		"v2, swap counted": {
			machine: cri.Machine{CgroupV2: true, SwapAccounting: true},
			unified: map[string]string{"memory.oom.group": "1", "memory.min": "0", "memory.low": "0", "memory.swap.max": "0"},
		},
		"huge pages": {machine: cri.Machine{HugePageSizes: []string{"2MB", "1GB"}}, huge: []string{"2MB=4194304", "1GB=0"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.machine.MemoryCapacity = 8 << 30
			r := cri.ContainerResources(pod, &pod.Spec.Containers[0], test.machine)
			if r.CpuShares != 512 || r.CpuPeriod != 100000 || r.CpuQuota != 0 || r.MemoryLimitInBytes != 2<<30 || r.OomScoreAdj != 875 {
				t.Errorf("%+v", r)
			}
			if !mapsEqual(r.Unified, test.unified) || r.MemorySwapLimitInBytes != test.swap {
				t.Errorf("unified %v, swap %d", r.Unified, r.MemorySwapLimitInBytes)
			}
			var huge []string
			for _, h := range r.HugepageLimits {
				huge = append(huge, h.PageSize+"="+itoa(int(h.Limit)))
			}
			if !slices.Equal(huge, test.huge) {
				t.Errorf("huge pages %v", huge)
			}
		})
	}
}

func mapsEqual(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func TestStopSignal(t *testing.T) {
	for name, want := range map[string]runtimeapi.Signal{
		"SIGUSR1": runtimeapi.Signal_SIGNAL_SIGUSR1, "SIGRTMIN+3": runtimeapi.Signal_SIGNAL_SIGRTMINPLUS3, "SIGRTMAX-14": runtimeapi.Signal_SIGNAL_SIGRTMAXMINUS14,
	} {
		pod := simplePod()
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{StopSignal: ptr(v1.Signal(name))}
		c, err := cri.ContainerConfig(cri.ContainerInput{Pod: pod, Container: &pod.Spec.Containers[0]})
		if err != nil || c.StopSignal != want {
			t.Errorf("%s: %v, %v", name, c.GetStopSignal(), err)
		}
	}
	pod := simplePod()
	pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{StopSignal: ptr(v1.Signal("SIGWHAT"))}
	if _, err := cri.ContainerConfig(cri.ContainerInput{Pod: pod, Container: &pod.Spec.Containers[0]}); err == nil || !strings.Contains(err.Error(), "SIGWHAT") {
		t.Errorf("%v", err)
	}
}

func TestSandboxSeccomp(t *testing.T) {
	for file, want := range map[string]*runtimeapi.SecurityProfile{
		"":          {ProfileType: runtimeapi.SecurityProfile_RuntimeDefault},
		"/own.json": {ProfileType: runtimeapi.SecurityProfile_Localhost, LocalhostRef: "/own.json"},
	} {
		c, err := cri.SandboxConfig(cri.SandboxInput{Pod: simplePod(), Seccomp: file})
		if err != nil || !proto.Equal(c.Linux.SecurityContext.Seccomp, want) {
			t.Errorf("with %q: %v, %v", file, c, err)
		}
	}
}

func TestEphemeralContainerSharesProcesses(t *testing.T) {
	pod := simplePod()
	pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{
		TargetContainerName: "main", EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debug", Image: "box:1"},
	}}
	c, target := cri.FindContainer(pod, "debug")
	if c == nil || c.Name != "debug" || target != "main" {
		t.Fatalf("%v, %q", c, target)
	}
	config, err := cri.ContainerConfig(cri.ContainerInput{Pod: pod, Container: c, TargetID: "containerd://abc"})
	if err != nil {
		t.Fatal(err)
	}
	if o := config.Linux.SecurityContext.NamespaceOptions; o.Pid != runtimeapi.NamespaceMode_TARGET || o.TargetId != "abc" {
		t.Errorf("%v", o)
	}
	pod.Spec.ShareProcessNamespace = ptr(true)
	if config, err = cri.ContainerConfig(cri.ContainerInput{Pod: pod, Container: c, TargetID: "containerd://abc"}); err != nil {
		t.Fatal(err)
	}
	if o := config.Linux.SecurityContext.NamespaceOptions; o.Pid != runtimeapi.NamespaceMode_POD {
		t.Errorf("%v", o)
	}
	if c, _ := cri.FindContainer(pod, "nobody"); c != nil {
		t.Errorf("found %v", c)
	}
}

func TestUserNamespaces(t *testing.T) {
	pod := simplePod()
	pod.Spec.HostUsers = ptr(false)
	if _, err := cri.SandboxConfig(cri.SandboxInput{Pod: pod}); err == nil || !strings.Contains(err.Error(), "hostUsers") {
		t.Errorf("a pod that wants users of its own ran as the host's: %v", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "u"), 0o700); err != nil {
		t.Fatal(err)
	}
	can := cri.Health{Handlers: []cri.Handler{{Name: "", UserNamespaces: true}}}
	users := newUsers(t, dir, can)
	first, err := users.For(pod, "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := newUsers(t, dir, can).For(pod, "")
	if err != nil || first.Uids[0].HostId != again.Uids[0].HostId || first.Uids[0].HostId == 0 {
		t.Errorf("a restarted agent gives %v after %v, %v", again, first, err)
	}
	mount := &runtimeapi.Mount{HostPath: "/a", ContainerPath: "/b"}
	config, err := cri.ContainerConfig(cri.ContainerInput{Pod: pod, Container: &pod.Spec.Containers[0], Users: first, Mounts: []*runtimeapi.Mount{mount}})
	if err != nil {
		t.Fatal(err)
	}
	if len(config.Mounts[0].UidMappings) != 1 || len(mount.UidMappings) != 0 {
		t.Errorf("mounts %v, given %v", config.Mounts, mount)
	}
	if sandbox, err := cri.SandboxConfig(cri.SandboxInput{Pod: pod, Users: first}); err != nil ||
		sandbox.Linux.SecurityContext.NamespaceOptions.UsernsOptions.Mode != runtimeapi.NamespaceMode_POD {
		t.Errorf("%v, %v", sandbox, err)
	}
	users.Release(pod.UID)
	if _, err := newUsers(t, t.TempDir(), cri.Health{}).For(pod, "gvisor"); err == nil || !strings.Contains(err.Error(), "gvisor") {
		t.Errorf("a runtime that cannot: %v", err)
	}
}

func newUsers(t *testing.T, dir string, h cri.Health) *cri.Users {
	t.Helper()
	u, err := cri.NewUsers(dir, 110, func() (cri.Health, error) { return h, nil })
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestHostname(t *testing.T) {
	long := strings.Repeat("a", 62) + "-" + "bbbb"
	for name, test := range map[string]struct {
		change         func(*v1.Pod)
		hostname, fqdn string
		kernel         string
		err            string
	}{
		"name":       {change: func(*v1.Pod) {}, hostname: "web", kernel: "web"},
		"hostname":   {change: func(p *v1.Pod) { p.Spec.Hostname = "h" }, hostname: "h", kernel: "h"},
		"subdomain":  {change: func(p *v1.Pod) { p.Spec.Subdomain = "s" }, hostname: "web", fqdn: "s.ns.svc.cluster.local", kernel: "web"},
		"as FQDN":    {change: func(p *v1.Pod) { p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = "s", ptr(true) }, hostname: "web", fqdn: "s.ns.svc.cluster.local", kernel: "web.s.ns.svc.cluster.local"},
		"too long":   {change: func(p *v1.Pod) { p.Name = long }, hostname: strings.Repeat("a", 62), kernel: strings.Repeat("a", 62)},
		"override":   {change: func(p *v1.Pod) { p.Spec.HostnameOverride = ptr("a.b.c") }, hostname: "a.b.c", kernel: "a.b.c"},
		"invalid":    {change: func(p *v1.Pod) { p.Spec.Hostname = "A B" }, err: `pod Hostname "A B" is not a valid DNS label`},
		"subdomain!": {change: func(p *v1.Pod) { p.Spec.Subdomain = "a.b" }, err: `pod Subdomain "a.b" is not a valid DNS label`},
		"override!":  {change: func(p *v1.Pod) { p.Spec.HostnameOverride = ptr("_") }, err: `pod HostnameOverride "_" is not a valid DNS subdomain`},
		"FQDN too long": {
			change: func(p *v1.Pod) {
				p.Name, p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = strings.Repeat("a", 60), "s", ptr(true)
			},
			hostname: strings.Repeat("a", 60), fqdn: "s.ns.svc.cluster.local", err: "is too long (64 characters is the max",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := simplePod()
			test.change(pod)
			hostname, domain, err := cri.Hostname(pod, "cluster.local")
			if err == nil && (hostname != test.hostname || domain != test.fqdn) {
				t.Errorf("%q, %q", hostname, domain)
			}
			config, err := cri.SandboxConfig(cri.SandboxInput{Pod: pod, ClusterDomain: "cluster.local"})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			if err != nil || config.Hostname != test.kernel {
				t.Errorf("%q, %v", config.GetHostname(), err)
			}
		})
	}
}

func TestDNS(t *testing.T) {
	host := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(host, []byte("nameserver 9.9.9.9\nsearch corp.example\noptions timeout:3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := cri.DNS{Servers: []net.IP{net.ParseIP("10.96.0.10")}, Domain: "cluster.local", ResolvConf: host}
	for name, test := range map[string]struct {
		change func(*v1.Pod)
		want   string
		warn   string
	}{
		"ClusterFirst":                 {change: func(p *v1.Pod) { p.Spec.DNSPolicy = v1.DNSClusterFirst }, want: "10.96.0.10 | ns.svc.cluster.local svc.cluster.local cluster.local corp.example | ndots:5"},
		"ClusterFirst on host network": {change: func(p *v1.Pod) { p.Spec.DNSPolicy, p.Spec.HostNetwork = v1.DNSClusterFirst, true }, want: "9.9.9.9 | corp.example | timeout:3"},
		"ClusterFirstWithHostNet":      {change: func(p *v1.Pod) { p.Spec.DNSPolicy, p.Spec.HostNetwork = v1.DNSClusterFirstWithHostNet, true }, want: "10.96.0.10 | ns.svc.cluster.local svc.cluster.local cluster.local corp.example | ndots:5"},
		"Default":                      {change: func(p *v1.Pod) { p.Spec.DNSPolicy = v1.DNSDefault }, want: "9.9.9.9 | corp.example | timeout:3"},
		"None": {change: func(p *v1.Pod) {
			p.Spec.DNSPolicy, p.Spec.DNSConfig = v1.DNSNone, &v1.PodDNSConfig{Nameservers: []string{"1.1.1.1"}}
		}, want: "1.1.1.1 |  | "},
		"dnsConfig": {change: func(p *v1.Pod) {
			p.Spec.DNSPolicy, p.Spec.DNSConfig = v1.DNSDefault, &v1.PodDNSConfig{Searches: []string{"x"}, Options: []v1.PodDNSConfigOption{{Name: "ndots", Value: ptr("2")}}}
		}, want: "9.9.9.9 | corp.example x | ndots:2 timeout:3"},
		"too many servers are cut, told": {change: func(p *v1.Pod) {
			p.Spec.DNSPolicy, p.Spec.DNSConfig = v1.DNSNone, &v1.PodDNSConfig{Nameservers: []string{"1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"}}
		}, want: "1.1.1.1 1.1.1.2 1.1.1.3 |  | ", warn: "Nameserver limits were exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := simplePod()
			test.change(pod)
			c, warnings, err := d.For(pod)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(c.Servers, " ") + " | " + strings.Join(c.Searches, " ") + " | " + strings.Join(c.Options, " ")
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if (test.warn != "") != (len(warnings) == 1) || test.warn != "" && (!strings.Contains(warnings[0].Message, test.warn) || warnings[0].Reason != "DNSConfigForming") {
				t.Errorf("warnings %v", warnings)
			}
		})
	}
	d.Servers = nil
	pod := simplePod()
	pod.Spec.DNSPolicy = v1.DNSClusterFirst
	if c, warnings, err := d.For(pod); err != nil || c.Servers[0] != "9.9.9.9" || len(warnings) != 1 || warnings[0].Reason != "MissingClusterDNS" {
		t.Errorf("without a cluster's DNS: %v, %v, %v", c, warnings, err)
	}
	d.ResolvConf = t.TempDir()
	if _, _, err := d.For(pod); err == nil || !strings.Contains(err.Error(), "pod ns/web") {
		t.Errorf("a file that cannot be read: %v", err)
	}
	d.Servers, d.ResolvConf = []net.IP{net.ParseIP("10.96.0.10")}, "/none"
	if c, _, err := d.For(pod); err != nil || !slices.Equal(c.Servers, []string{"10.96.0.10"}) {
		t.Errorf("on a machine without the file: %v, %v", c, err)
	}
}

func TestVolumeMounts(t *testing.T) {
	c := &v1.Container{VolumeMounts: []v1.VolumeMount{
		{Name: "rw", MountPath: "/a"},
		{Name: "ro", MountPath: "/b", ReadOnly: true},
		{Name: "rro", MountPath: "/c", ReadOnly: true, RecursiveReadOnly: ptr(v1.RecursiveReadOnlyIfPossible)},
	}}
	for can, want := range map[bool]v1.RecursiveReadOnlyMode{true: v1.RecursiveReadOnlyEnabled, false: v1.RecursiveReadOnlyDisabled} {
		got := cri.VolumeMounts(c, can)
		if got[0].RecursiveReadOnly != nil || *got[1].RecursiveReadOnly != v1.RecursiveReadOnlyDisabled || *got[2].RecursiveReadOnly != want {
			t.Errorf("%v: %+v", can, got)
		}
	}
}
