package cluster

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// Storage is what the API server knows of volumes in a pod's namespace; a part is nil
// where nobody looked, or might not.
type Storage struct {
	Claims  []v1.PersistentVolumeClaim
	Classes []storagev1.StorageClass
	Volumes []v1.PersistentVolume
}

// ClaimNames are the volume claims that a pod needs; those of ephemeral volumes are
// named after the pod and the volume (ephemeral.VolumeClaimName of
// k8s.io/component-helpers).
func ClaimNames(pod *v1.Pod) []string {
	var names []string
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, pod.Name+"-"+v.Name)
		}
	}
	return names
}

// unbound words what keeps each of a pod's claims from having a volume; empty where
// that is not known.
func (s Storage) unbound(pod *v1.Pod) string {
	if s.Claims == nil {
		return ""
	}
	var all []string
	for _, name := range ClaimNames(pod) {
		i := slices.IndexFunc(s.Claims, func(c v1.PersistentVolumeClaim) bool { return c.Name == name })
		if i < 0 {
			all = append(all, fmt.Sprintf("there is no claim %q", name))
		} else if words := s.waits(&s.Claims[i]); words != "" {
			all = append(all, fmt.Sprintf("claim %q %s", name, words))
		}
	}
	return strings.Join(all, "; ")
}

// waits words what a claim that is not bound waits for. The controller that binds
// claims looks for a volume of the same class first, whether there is such a class
// or not, and asks the class's provisioner then (pv_controller.go,
// syncUnboundClaim).
func (s Storage) waits(claim *v1.PersistentVolumeClaim) string {
	class := claim.Spec.StorageClassName
	switch {
	case claim.Status.Phase == v1.ClaimBound:
		return ""
	case claim.Status.Phase == v1.ClaimLost:
		return fmt.Sprintf("has lost its volume %q, which does not exist any more", claim.Spec.VolumeName)
	case claim.Spec.VolumeName != "":
		return fmt.Sprintf("asks for the volume %q and is not bound to it", claim.Spec.VolumeName)
	case class != nil && *class == "":
		return "asks for a volume without a StorageClass, so nothing makes one for it, and " + s.nothingFits(claim)
	case s.Classes == nil:
		return "is not bound"
	case class == nil:
		if slices.ContainsFunc(s.Classes, isDefault) {
			return "names no StorageClass, and has not got the default one yet"
		}
		return "names no StorageClass, and the cluster has no default one, so nothing makes a volume for it"
	}
	i := slices.IndexFunc(s.Classes, func(c storagev1.StorageClass) bool { return c.Name == *class })
	switch {
	case i < 0:
		if misfit := s.misfit(claim); misfit != "" {
			return fmt.Sprintf("is not bound: %s. There is no StorageClass %q that could make a volume for it", misfit, *class)
		}
		return fmt.Sprintf("asks for the StorageClass %q, which does not exist, so nothing makes a volume for it", *class)
	case s.Classes[i].Provisioner == noProvisioner:
		return fmt.Sprintf("asks for the StorageClass %q, whose volumes are made by hand, and %s", *class, s.nothingFits(claim))
	}
	return fmt.Sprintf("waits for %s, the provisioner of its StorageClass %q", s.Classes[i].Provisioner, *class)
}

// steps say what to do about the first of a pod's claims that keeps it from a node.
func (s Storage) steps(pod *v1.Pod) []answer.Fix {
	if s.Claims == nil {
		return []answer.Fix{{Text: "create the claim that is missing, or a volume that fits it", Risk: answer.Safe}}
	}
	var others []string
	for _, c := range s.Claims {
		others = append(others, c.Name)
	}
	for _, name := range ClaimNames(pod) {
		if i := slices.Index(others, name); i >= 0 {
			if s.waits(&s.Claims[i]) == "" {
				continue
			}
			return s.volumeSteps(&s.Claims[i])
		}
		steps := []answer.Fix{{Text: fmt.Sprintf("create claim %s", name), Risk: answer.Safe}}
		if near := prose.Nearest(name, others); near != "" {
			steps = append([]answer.Fix{kubectl.EditTemplate(pod.Namespace, pod, fmt.Sprintf("use claim %s, which exists, instead of %s, if that is meant", near, name))}, steps...)
		}
		return steps
	}
	return nil
}

// seeClaims shows claims, volumes and what makes them.
func seeClaims(namespace string) answer.Fix {
	return kubectl.Inspect("see which claims, volumes and StorageClasses there are", kubectl.Command(namespace, "get pvc,pv,storageclass"))
}

// volumeSteps say how a claim that exists gets a volume.
func (s Storage) volumeSteps(claim *v1.PersistentVolumeClaim) []answer.Fix {
	class := claim.Spec.StorageClassName
	step := func(risk answer.Risk, format string, args ...any) []answer.Fix {
		return []answer.Fix{{Text: fmt.Sprintf(format, args...), Risk: risk}}
	}
	if s.Classes == nil || class == nil || *class == "" {
		return step(answer.Safe, "create a PersistentVolume that fits claim %s", claim.Name)
	}
	var others []string
	for _, c := range s.Classes {
		others = append(others, c.Name)
		if c.Name == *class && c.Provisioner != noProvisioner {
			return []answer.Fix{kubectl.Inspect("see what its provisioner said last", kubectl.Command(claim.Namespace, "describe pvc %s", claim.Name)), {Text: fmt.Sprintf("if the provisioner %s does not run: start it; if it cannot make such a volume: correct what it names, or create the claim anew with another StorageClass", c.Provisioner), Risk: answer.Safe}}
		}
	}
	switch near := prose.Nearest(*class, others); {
	case slices.Contains(others, *class):
		return step(answer.Safe, "create a PersistentVolume of class %s that fits claim %s", *class, claim.Name)
	case s.misfit(claim) != "":
		return step(answer.Safe, "create a PersistentVolume of class %s that fits claim %s, or make the claim anew with what a volume that is there has", *class, claim.Name)
	case near != "":
		return step(answer.Destructive, "recreate claim %s with StorageClass %s, which exists, instead of %s: a claim's class cannot be changed", claim.Name, near, *class)
	}
	return step(answer.Safe, "create StorageClass %s, or make claim %s anew with one that exists", *class, claim.Name)
}

// noProvisioner stands in classes whose volumes nobody makes
// (volume.NotSupportedProvisioner of component-helpers).
const noProvisioner = "kubernetes.io/no-provisioner"

func isDefault(c storagev1.StorageClass) bool {
	return c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true"
}
