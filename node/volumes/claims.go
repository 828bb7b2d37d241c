package volumes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/util"
)

// errBlock: raw devices would need kubelet's block volume machinery (loop
// devices, symlinks per pod), which no volume type offered here calls for.
var errBlock = errors.New("volumeMode Block is not offered by this node; use a claim with volumeMode Filesystem")

// source is what a volume of a pod turns out to be.
type source struct {
	spec *volume.Spec
	gid  string // v1's pv.beta.kubernetes.io/gid annotation
	// recalled is set when an earlier set-up of the pod found it out.
	recalled bool
}

// resolve finds the volume meant: itself, or what its claim is bound to. The
// rules and the words are those of kubelet's desired state populator
// (createVolumeSpec).
func (m *Manager) resolve(ctx context.Context, pod *v1.Pod, v *v1.Volume) (source, error) {
	claim := claimOf(pod, v)
	if claim == nil {
		return source{spec: volume.NewSpecFromVolume(v.DeepCopy())}, nil
	}
	pv, recalled := m.recall(pod.UID, v.Name)
	if !recalled {
		var err error
		if pv, err = m.boundTo(ctx, pod, v, claim.ClaimName); err != nil {
			return source{}, fmt.Errorf("error processing PVC %s/%s: %w", pod.Namespace, claim.ClaimName, err)
		}
	}
	if pv.Spec.VolumeMode != nil && *pv.Spec.VolumeMode == v1.PersistentVolumeBlock {
		return source{}, fmt.Errorf("error processing PVC %s/%s: %w", pod.Namespace, claim.ClaimName, errBlock)
	}
	return source{
		spec:     volume.NewSpecFromPersistentVolume(pv, claim.ReadOnly),
		gid:      pv.Annotations[util.VolumeGidAnnotationKey],
		recalled: recalled,
	}, nil
}

// claimOf gives the claim that a volume names, or the one that was made for it
// (generic ephemeral volumes); nil for a volume that is none.
func claimOf(pod *v1.Pod, v *v1.Volume) *v1.PersistentVolumeClaimVolumeSource {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim
	case v.Ephemeral != nil:
		return &v1.PersistentVolumeClaimVolumeSource{ClaimName: ephemeral.VolumeClaimName(pod, v)}
	}
	return nil
}

func (m *Manager) boundTo(ctx context.Context, pod *v1.Pod, v *v1.Volume, claimName string) (*v1.PersistentVolume, error) {
	pvc, err := m.cfg.Client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(ctx, claimName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to fetch PVC from API server: %w", err)
	}
	if err := usable(pvc); err != nil {
		return nil, err
	}
	if v.Ephemeral != nil {
		if err := ephemeral.VolumeIsForPod(pod, pvc); err != nil {
			return nil, err
		}
	}
	pv, err := m.cfg.Client.CoreV1().PersistentVolumes().Get(ctx, pvc.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to fetch PV %s from API server: %w", pvc.Spec.VolumeName, err)
	}
	return pv, belongs(pv, pvc.UID)
}

// usable tells whether a pod may start with the claim.
func usable(pvc *v1.PersistentVolumeClaim) error {
	switch {
	case pvc.DeletionTimestamp != nil && !slices.Contains(pvc.Finalizers, util.PVCProtectionFinalizer):
		// With the finalizer the claim stays until its pods are gone: a running pod
		// must be able to be taken over after a restart of the agent.
		return errors.New("PVC is being deleted")
	case pvc.Status.Phase != v1.ClaimBound:
		return errors.New("PVC is not bound")
	case pvc.Spec.VolumeName == "":
		return errors.New("PVC has empty pvc.Spec.VolumeName")
	}
	return nil
}

// belongs tells whether the volume agrees that it is bound to the claim.
func belongs(pv *v1.PersistentVolume, claim types.UID) error {
	switch {
	case pv.Spec.ClaimRef == nil:
		return fmt.Errorf("found PV object %s but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim", pv.Name)
	case pv.Spec.ClaimRef.UID != claim:
		return fmt.Errorf("found PV object %s but its pv.Spec.ClaimRef.UID %s does not point to claim.UID %s",
			pv.Name, pv.Spec.ClaimRef.UID, claim)
	}
	return nil
}
