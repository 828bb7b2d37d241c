package cluster

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/why/prose"
)

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
