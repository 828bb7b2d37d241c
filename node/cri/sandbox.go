package cri

import (
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/util/sysctl"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"whylet.dev/whylet/sense/containers"
)

// SandboxInput is all that a sandbox is configured from.
type SandboxInput struct {
	Pod *v1.Pod
	// Attempt counts the pod's sandboxes from 0.
	Attempt uint32
	// PodLogsDir is the folder of all pods' logs.
	PodLogsDir string
	// CgroupParent is the pod's cgroup as the runtime wants it named.
	CgroupParent  string
	ClusterDomain string
	// DNS is the pod's resolv.conf, from [DNS.For].
	DNS *runtimeapi.DNSConfig
	// Users is the pod's user namespace; nil: the host's.
	Users *runtimeapi.UserNamespace
	// ExtraGroups are groups that the pod's persistent volumes ask for.
	ExtraGroups []int64
	// Seccomp is the file of the profile for the sandbox's own process, as the runtime
	// finds it; empty: the runtime's default.
	Seccomp string
	Machine Machine
}

// SandboxConfig builds the configuration of a pod's sandbox. Errors are about
// the pod's spec and say which field.
func SandboxConfig(in SandboxInput) (*runtimeapi.PodSandboxConfig, error) {
	pod := in.Pod
	if err := checkUsers(pod, in.Users); err != nil {
		return nil, err
	}
	security, err := sandboxSecurity(in)
	if err != nil {
		return nil, err
	}
	config := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{
			Name: pod.Name, Namespace: pod.Namespace, Uid: string(pod.UID), Attempt: in.Attempt,
		},
		LogDirectory: containers.PodLogDir(in.PodLogsDir, pod),
		DnsConfig:    in.DNS,
		PortMappings: portMappings(pod),
		Labels:       sandboxLabels(pod),
		Annotations:  pod.Annotations,
		Linux: &runtimeapi.LinuxPodSandboxConfig{
			CgroupParent:    in.CgroupParent,
			SecurityContext: security,
			Sysctls:         sysctls(pod),
			Resources:       sandboxResources(pod, in.Machine),
			Overhead:        overhead(pod, in.Machine),
		},
	}
	// On the host's network the hostname is the host's.
	if !pod.Spec.HostNetwork {
		if config.Hostname, err = kernelHostname(pod, in.ClusterDomain); err != nil {
			return nil, err
		}
	}
	return config, nil
}

// checkUsers refuses a pod that wants user namespaces when none was made for it,
// rather than running it as the host's root.
func checkUsers(pod *v1.Pod, users *runtimeapi.UserNamespace) error {
	wants := pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers
	if wants && (users == nil || users.Mode != runtimeapi.NamespaceMode_POD) {
		return errors.New("can't set `spec.hostUsers: false`, runtime does not support user namespaces")
	}
	return nil
}

func sandboxSecurity(in SandboxInput) (*runtimeapi.LinuxSandboxSecurityContext, error) {
	pod := in.Pod
	s := &runtimeapi.LinuxSandboxSecurityContext{
		Privileged: kubecontainer.HasPrivilegedContainer(pod),
		// The sandbox's own process needs nothing, whatever the containers ask for.
		Seccomp: &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault},
	}
	if in.Seccomp != "" {
		s.Seccomp = &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Localhost, LocalhostRef: in.Seccomp}
	}
	// The API server always sets a pod security context; without one kubelet, too,
	// leaves the namespaces to the runtime's default.
	psc := pod.Spec.SecurityContext
	if psc == nil {
		return s, nil
	}
	s.NamespaceOptions = namespaces(pod, in.Users)
	s.RunAsUser = int64Value(psc.RunAsUser)
	s.RunAsGroup = int64Value(psc.RunAsGroup)
	if psc.FSGroup != nil {
		s.SupplementalGroups = append(s.SupplementalGroups, *psc.FSGroup)
	}
	s.SupplementalGroups = append(s.SupplementalGroups, in.ExtraGroups...)
	s.SupplementalGroups = append(s.SupplementalGroups, psc.SupplementalGroups...)
	s.SelinuxOptions = selinuxOptions(psc.SELinuxOptions)
	var err error
	s.SupplementalGroupsPolicy, err = groupsPolicy(psc)
	return s, err
}

// sysctls takes both spellings, kernel.shm_rmid_forced and kernel/shm_rmid_forced.
func sysctls(pod *v1.Pod) map[string]string {
	set := map[string]string{}
	if psc := pod.Spec.SecurityContext; psc != nil {
		for _, s := range psc.Sysctls {
			set[sysctl.NormalizeName(s.Name)] = s.Value
		}
	}
	return set
}

// portMappings lists the ports of the app containers only: kubelet, too, opens
// no host ports for init containers, sidecars included.
func portMappings(pod *v1.Pod) []*runtimeapi.PortMapping {
	var all []*runtimeapi.PortMapping
	for i := range pod.Spec.Containers {
		for _, p := range kubecontainer.MakePortMappings(logr.Discard(), &pod.Spec.Containers[i]) {
			all = append(all, &runtimeapi.PortMapping{
				Protocol:      protocol(p.Protocol),
				ContainerPort: int32(p.ContainerPort),
				HostPort:      int32(p.HostPort),
				HostIp:        p.HostIP,
			})
		}
	}
	return all
}

func protocol(p v1.Protocol) runtimeapi.Protocol {
	switch p {
	case v1.ProtocolUDP:
		return runtimeapi.Protocol_UDP
	case v1.ProtocolSCTP:
		return runtimeapi.Protocol_SCTP
	}
	return runtimeapi.Protocol_TCP
}

func groupsPolicy(psc *v1.PodSecurityContext) (runtimeapi.SupplementalGroupsPolicy, error) {
	if psc.SupplementalGroupsPolicy == nil {
		return runtimeapi.SupplementalGroupsPolicy_Merge, nil
	}
	name := string(*psc.SupplementalGroupsPolicy)
	policy, ok := runtimeapi.SupplementalGroupsPolicy_value[name]
	if !ok {
		return 0, fmt.Errorf("unsupported supplementalGroupsPolicy: %s", name)
	}
	return runtimeapi.SupplementalGroupsPolicy(policy), nil
}

func selinuxOptions(o *v1.SELinuxOptions) *runtimeapi.SELinuxOption {
	if o == nil {
		return nil
	}
	return &runtimeapi.SELinuxOption{User: o.User, Role: o.Role, Type: o.Type, Level: o.Level}
}

func int64Value(v *int64) *runtimeapi.Int64Value {
	if v == nil {
		return nil
	}
	return &runtimeapi.Int64Value{Value: *v}
}
