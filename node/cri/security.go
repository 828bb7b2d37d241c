package cri

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubernetes/pkg/kubelet/util/format"
	"k8s.io/kubernetes/pkg/security/apparmor"
	"k8s.io/kubernetes/pkg/securitycontext"

	"whylet.dev/whylet/sense/containers"
)

// ImageUser is the user that an image wants its command run as. At most one of
// the two is set; neither means root.
type ImageUser struct {
	UID  *int64
	Name string
}

// uid is the image's numeric user, nil where it only has a name for it.
func (u ImageUser) uid() *int64 {
	if u.UID == nil && u.Name == "" {
		return new(int64)
	}
	return u.UID
}

// containerSecurity builds the security context of a container from the pod's
// and its own, the container's fields winning.
func containerSecurity(in ContainerInput) (*runtimeapi.LinuxContainerSecurityContext, error) {
	if err := checkNonRoot(in.Pod, in.Container, in.ImageUser); err != nil {
		return nil, err
	}
	effective := securitycontext.DetermineEffectiveSecurityContext(in.Pod, in.Container)
	s := &runtimeapi.LinuxContainerSecurityContext{
		Capabilities:     capabilities(effective.Capabilities),
		SelinuxOptions:   selinuxOptions(effective.SELinuxOptions),
		RunAsUser:        int64Value(effective.RunAsUser),
		RunAsGroup:       int64Value(effective.RunAsGroup),
		Privileged:       isTrue(effective.Privileged),
		ReadonlyRootfs:   isTrue(effective.ReadOnlyRootFilesystem),
		NoNewPrivs:       securitycontext.AddNoNewPrivileges(effective),
		NamespaceOptions: namespaces(in.Pod, in.Users),
		MaskedPaths:      securitycontext.ConvertToRuntimeMaskedPaths(effective.ProcMount),
		ReadonlyPaths:    securitycontext.ConvertToRuntimeReadonlyPaths(effective.ProcMount),
	}
	if s.RunAsUser == nil {
		s.RunAsUser = int64Value(in.ImageUser.uid())
		s.RunAsUsername = in.ImageUser.Name
	}
	if in.TargetID != "" && s.NamespaceOptions.Pid == runtimeapi.NamespaceMode_CONTAINER {
		s.NamespaceOptions.Pid = runtimeapi.NamespaceMode_TARGET
		s.NamespaceOptions.TargetId = containers.Bare(in.TargetID)
	}
	if err := addGroups(s, in); err != nil {
		return nil, err
	}
	if err := addProfiles(s, in); err != nil {
		return nil, err
	}
	return s, nil
}

func addGroups(s *runtimeapi.LinuxContainerSecurityContext, in ContainerInput) error {
	if psc := in.Pod.Spec.SecurityContext; psc != nil {
		if psc.FSGroup != nil {
			s.SupplementalGroups = append(s.SupplementalGroups, *psc.FSGroup)
		}
		s.SupplementalGroups = append(s.SupplementalGroups, psc.SupplementalGroups...)
		policy, err := groupsPolicy(psc)
		if err != nil {
			return err
		}
		s.SupplementalGroupsPolicy = policy
	}
	s.SupplementalGroups = append(s.SupplementalGroups, in.ExtraGroups...)
	return nil
}

func addProfiles(s *runtimeapi.LinuxContainerSecurityContext, in ContainerInput) error {
	var err error
	if s.Seccomp, err = seccomp(in); err != nil {
		return err
	}
	s.Apparmor, err = appArmor(in.Pod, in.Container)
	return err
}

// seccomp takes the container's profile, else the pod's.
func seccomp(in ContainerInput) (*runtimeapi.SecurityProfile, error) {
	var p *v1.SeccompProfile
	if psc := in.Pod.Spec.SecurityContext; psc != nil {
		p = psc.SeccompProfile
	}
	if sc := in.Container.SecurityContext; sc != nil && sc.SeccompProfile != nil {
		p = sc.SeccompProfile
	}
	switch {
	case p != nil && p.Type == v1.SeccompProfileTypeRuntimeDefault:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault}, nil
	case p != nil && p.Type == v1.SeccompProfileTypeLocalhost:
		if p.LocalhostProfile == nil || *p.LocalhostProfile == "" {
			return nil, errors.New("localhostProfile must be set if seccompProfile type is Localhost")
		}
		return &runtimeapi.SecurityProfile{
			ProfileType:  runtimeapi.SecurityProfile_Localhost,
			LocalhostRef: filepath.Join(in.SeccompRoot, *p.LocalhostProfile),
		}, nil
	}
	return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}, nil
}

// appArmor gives the profile in the form that runtimes read since CRI v1.
func appArmor(pod *v1.Pod, c *v1.Container) (*runtimeapi.SecurityProfile, error) {
	p := apparmor.GetProfile(pod, c)
	if p == nil {
		return nil, nil
	}
	switch p.Type {
	case v1.AppArmorProfileTypeRuntimeDefault:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault}, nil
	case v1.AppArmorProfileTypeUnconfined:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}, nil
	case v1.AppArmorProfileTypeLocalhost:
		if p.LocalhostProfile == nil {
			return nil, errors.New("missing localhost apparmor profile name")
		}
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Localhost, LocalhostRef: *p.LocalhostProfile}, nil
	}
	return nil, fmt.Errorf("unknown apparmor profile type: %q", p.Type)
}

// checkNonRoot refuses to run as root what must not. Only numbers can be judged:
// what a name means is written in the image's /etc/passwd. The wording is
// kubelet's (pkg/kubelet/kuberuntime/security_context_others.go).
func checkNonRoot(pod *v1.Pod, c *v1.Container, image ImageUser) error {
	effective := securitycontext.DetermineEffectiveSecurityContext(pod, c)
	if !isTrue(effective.RunAsNonRoot) {
		return nil
	}
	where := fmt.Sprintf("(pod: %q, container: %s)", format.Pod(pod), c.Name)
	if user := effective.RunAsUser; user != nil {
		if *user == 0 {
			return fmt.Errorf("container's runAsUser breaks non-root policy %s", where)
		}
		return nil
	}
	uid := image.uid()
	switch {
	case uid == nil:
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root %s", image.Name, where)
	case *uid == 0:
		return fmt.Errorf("container has runAsNonRoot and image will run as root %s", where)
	}
	if msgs := validation.IsValidUserID(*uid); len(msgs) > 0 {
		return fmt.Errorf("container has runAsNonRoot and image has an invalid user id (%d). (Must be 1-(%d)): %s %s",
			*uid, math.MaxInt32, strings.Join(msgs, "; "), where)
	}
	return nil
}

func capabilities(c *v1.Capabilities) *runtimeapi.Capability {
	if c == nil {
		return nil
	}
	out := &runtimeapi.Capability{}
	for _, name := range c.Add {
		out.AddCapabilities = append(out.AddCapabilities, string(name))
	}
	for _, name := range c.Drop {
		out.DropCapabilities = append(out.DropCapabilities, string(name))
	}
	return out
}

func isTrue(b *bool) bool { return b != nil && *b }
