package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// The default StorageClass, of the name that most charts and tutorials expect.
const (
	storageClass       = "standard"
	storageProvisioner = "whylet.dev/local"
	defaultClass       = "storageclass.kubernetes.io/is-default-class"
)

// newStorage is the controller that makes a directory for each claim of the
// StorageClass. It must be made before anything else of this process uses client-go:
// NewProvisionController adds to the scheme that all clients read without a lock.
func newStorage(ctx context.Context, c Config, p paths, client kubernetes.Interface) *controller.ProvisionController {
	local := &localStorage{node: c.NodeName, dir: p.storage}
	return controller.NewProvisionController(ctx, client, storageProvisioner, local,
		controller.LeaderElection(false),
		controller.RetryIntervalMax(30*time.Second),
		// How long room may be waited for is for the user to say.
		controller.FailedProvisionThreshold(0), controller.FailedDeleteThreshold(0),
	)
}

// createStorageClass makes the class where there is none. One that is there stays
// as it is: whoever made another class the default wants that after a restart too.
func createStorageClass(ctx context.Context, client kubernetes.Interface) error {
	reclaim, binding, expand := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingWaitForFirstConsumer, false
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: storageClass, Annotations: map[string]string{defaultClass: "true"},
			Labels: map[string]string{"app.kubernetes.io/managed-by": fieldManager},
		},
		Provisioner: storageProvisioner, ReclaimPolicy: &reclaim, VolumeBindingMode: &binding, AllowVolumeExpansion: &expand,
	}
	var last error
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, last = client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{FieldManager: fieldManager})
		return last == nil || apierrors.IsAlreadyExists(last), nil
	})
	if err != nil {
		return fmt.Errorf("create StorageClass %s: %w", storageClass, last)
	}
	return nil
}

// localStorage keeps each volume in a directory below dir, all on one disk: a volume's
// size is not enforced.
type localStorage struct{ node, dir string }

var _, _ = controller.Qualifier(&localStorage{}), controller.DeletionGuard(&localStorage{})

// ShouldProvision leaves alone what the scheduler gave to another node.
func (l *localStorage) ShouldProvision(_ context.Context, claim *corev1.PersistentVolumeClaim) bool {
	node := claim.Annotations[storagehelpers.AnnSelectedNode]
	return node == "" || node == l.node
}

// Provision makes the directory and the volume for it, if the disk has the room
// that the claim asks for.
func (l *localStorage) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	size := o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]
	var disk unix.Statfs_t
	if err := errors.Join(os.MkdirAll(l.dir, 0o711), unix.Statfs(l.dir, &disk)); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("look how full the disk of %s is: %w", l.dir, err)
	}
	// What users without privileges can still write.
	free := int64(disk.Bavail) * disk.Bsize
	if size.CmpInt64(free) > 0 {
		return nil, controller.ProvisioningFinished, fmt.Errorf("claim %s/%s asks for %s, and the disk of %s has %s free; free some of it, or ask for less",
			o.PVC.Namespace, o.PVC.Name, size.String(), l.dir, resource.NewQuantity(free>>20<<20, resource.BinarySI))
	}
	path := filepath.Join(l.dir, o.PVName)
	// Whoever the pod's processes run as must be able to write, also without fsGroup.
	if err := errors.Join(os.MkdirAll(path, 0o777), os.Chmod(path, 0o777)); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("make the directory of volume %s: %w", o.PVName, err)
	}
	return l.volume(o, path, size), controller.ProvisioningFinished, nil
}

// volume is of type local and not hostPath, so that fsGroup and backups work, and
// so that the scheduler knows where it is.
func (l *localStorage) volume(o controller.ProvisionOptions, path string, size resource.Quantity) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: size},
			AccessModes:                   o.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{l.node}}},
			}}}},
		},
	}
}

// ShouldDelete tells this node's volumes from those of others.
func (l *localStorage) ShouldDelete(_ context.Context, v *corev1.PersistentVolume) bool {
	return v.Spec.Local != nil && filepath.Dir(v.Spec.Local.Path) == l.dir
}

// Delete removes a volume's directory. It is renamed first, so that half of it never
// passes for all of it.
func (l *localStorage) Delete(_ context.Context, v *corev1.PersistentVolume) error {
	doomed := filepath.Join(l.dir, ".deleted-"+v.Name)
	err := os.Rename(v.Spec.Local.Path, doomed)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.RemoveAll(doomed)
	}
	if err != nil {
		return fmt.Errorf("delete volume %s: %w", v.Name, err)
	}
	return nil
}
