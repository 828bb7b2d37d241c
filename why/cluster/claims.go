package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"

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
	others := prose.Each(s.Claims, func(c v1.PersistentVolumeClaim) string { return c.Name })
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
	if len(others) == 0 {
		return step(answer.Safe, "create StorageClass %s: the cluster has none", *class)
	}
	steps := step(answer.Safe, "create StorageClass %s, or recreate claim %s with a StorageClass that exists (%s): a claim's class cannot be changed", *class, claim.Name, prose.Some(others))
	steps[0].Command = kubectl.Command(claim.Namespace, "get pvc %[1]s -o yaml >%[2]s && vi %[2]s && kubectl replace --force -f %[2]s", claim.Name, claim.Name+".yaml")
	return steps
}

// noProvisioner stands in classes whose volumes nobody makes
// (volume.NotSupportedProvisioner of component-helpers).
const noProvisioner = "kubernetes.io/no-provisioner"

func isDefault(c storagev1.StorageClass) bool {
	return c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true"
}

// ClaimAnswer answers about a volume claim that is not bound. ok is false for one that is, and for one whose volume is
// made only with the first pod that uses it.
func ClaimAnswer(claim *v1.PersistentVolumeClaim, s Storage, now time.Time) (a answer.Answer, ok bool) {
	class := claim.Spec.StorageClassName
	awaits := s.Classes != nil && class != nil && slices.ContainsFunc(s.Classes, func(c storagev1.StorageClass) bool {
		return c.Name == *class && c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	})
	words := s.waits(claim)
	if words == "" || awaits && claim.Status.Phase != v1.ClaimLost && claim.Spec.VolumeName == "" {
		return a, false
	}
	since := claim.CreationTimestamp.Time
	f := inferred(answer.VolumeUnbound, "not-scheduled", fmt.Sprintf("Claim %q %s.", claim.Name, words), append(s.volumeSteps(claim), seeClaims(claim.Namespace))...)
	a = single(SubjectOf("PersistentVolumeClaim", claim), now, answer.Pending, "it has had no volume for "+prose.Span(max(now.Sub(since), 0)), f)
	a.Symptoms[0].First = since
	return a, true
}

// misfit says of the PersistentVolumes that a claim could take why none fits: of the nearest, as the controller that
// binds claims compares them (component-helpers, volume.FindMatchingVolume); empty where the volumes are not known or
// there is none of its class.
func (s Storage) misfit(claim *v1.PersistentVolumeClaim) string {
	text, class := "", ptr.Deref(claim.Spec.StorageClassName, "")
	for i := range s.Volumes {
		v := &s.Volumes[i]
		if v.Spec.StorageClassName != class {
			continue
		}
		said, near := misfits(v, claim)
		if said == "" {
			return ""
		}
		if text == "" || near {
			text = fmt.Sprintf("PersistentVolume %s %s", v.Name, said)
		}
	}
	return text
}

// misfits says why a volume of the right class does not fit a claim, and whether it is near: free, and only other
// than asked for.
func misfits(v *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) (said string, near bool) {
	mode := func(m *v1.PersistentVolumeMode) v1.PersistentVolumeMode {
		return ptr.Deref(m, v1.PersistentVolumeFilesystem)
	}
	asked, has := claim.Spec.Resources.Requests[v1.ResourceStorage], v.Spec.Capacity[v1.ResourceStorage]
	missing := slices.DeleteFunc(slices.Clone(claim.Spec.AccessModes), func(m v1.PersistentVolumeAccessMode) bool { return slices.Contains(v.Spec.AccessModes, m) })
	switch by := v.Spec.ClaimRef; {
	case v.Status.Phase == v1.VolumeReleased && by != nil:
		return fmt.Sprintf("is Released: it was of claim %s/%s, and is not given to another before its claimRef is removed", by.Namespace, by.Name), false
	case by != nil && (by.Namespace != claim.Namespace || by.Name != claim.Name):
		return fmt.Sprintf("is of claim %s/%s", by.Namespace, by.Name), false
	case has.Cmp(asked) < 0:
		return fmt.Sprintf("has %s, and the claim asks for %s", has.String(), asked.String()), true
	case len(missing) > 0:
		return fmt.Sprintf("has the access modes %v, and the claim asks for %v", v.Spec.AccessModes, claim.Spec.AccessModes), true
	case mode(v.Spec.VolumeMode) != mode(claim.Spec.VolumeMode):
		return fmt.Sprintf("has volumeMode %s, and the claim asks for %s", mode(v.Spec.VolumeMode), mode(claim.Spec.VolumeMode)), true
	case claim.Spec.Selector != nil:
		return "is free, and the claim's selector may ask for other labels", true
	case v.Status.Phase != v1.VolumeAvailable && v.Status.Phase != "":
		return "is " + string(v.Status.Phase), false
	}
	return "", true
}

// nothingFits words that no volume fits a claim, with why the nearest does not.
func (s Storage) nothingFits(claim *v1.PersistentVolumeClaim) string {
	if misfit := s.misfit(claim); misfit != "" {
		return "no PersistentVolume that is there fits: " + misfit
	}
	if len(s.Volumes) > 0 {
		return fmt.Sprintf("none of the %s that are there is of its class", prose.Plural(len(s.Volumes), "PersistentVolume"))
	}
	return "no PersistentVolume that is there fits"
}
