package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// claim makes a claim of the default StorageClass and a pod that uses it.
func (e *endToEnd) claim(t *testing.T, name, size string) {
	t.Helper()
	_, err := e.admin.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.admin.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "busybox:1", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}}},
			Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// unclaim removes what claim made.
func (e *endToEnd) unclaim(t *testing.T, name string) {
	t.Helper()
	now := int64(0)
	err := errors.Join(
		e.admin.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}),
		e.admin.CoreV1().PersistentVolumeClaims("default").Delete(t.Context(), name, metav1.DeleteOptions{}),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// warned waits for an event about an object whose message has all the words.
func (e *endToEnd) warned(t *testing.T, object string, words ...string) {
	t.Helper()
	eventually(t, "event about "+object, func(ctx context.Context) error {
		events, err := e.admin.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + object})
		if err != nil {
			return err
		}
		var heard []string
		for _, event := range events.Items {
			heard = append(heard, event.Reason+": "+event.Message)
			all := true
			for _, word := range words {
				all = all && strings.Contains(event.Message, word)
			}
			if all {
				return nil
			}
		}
		return fmt.Errorf("none has %q; heard: %q", words, heard)
	})
}

func (e *endToEnd) storage(t *testing.T) {
	e.claim(t, "data", "1Mi")
	var path, volume string
	eventually(t, "a volume for the claim", func(ctx context.Context) error {
		claim, err := e.admin.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data", metav1.GetOptions{})
		if err != nil || claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("claim is %s: %w", claim.Status.Phase, err)
		}
		volume = claim.Spec.VolumeName
		pv, err := e.admin.CoreV1().PersistentVolumes().Get(ctx, volume, metav1.GetOptions{})
		if err != nil {
			return err
		}
		path = pv.Spec.Local.Path
		return nil
	})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("directory of the volume: %v, %v", info, err)
	}
	e.unclaim(t, "data")
	eventually(t, "the volume's end", func(ctx context.Context) error {
		if _, err := e.admin.CoreV1().PersistentVolumes().Get(ctx, volume, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("volume %s is still there: %v", volume, err)
		}
		return nil
	})
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("directory of the deleted volume: %v", err)
	}

	e.claim(t, "huge", "1Ei")
	e.warned(t, "huge", "claim default/huge asks for 1Ei", "free some of it, or ask for less")
	e.unclaim(t, "huge")

	// killAndRestart looks whether this survives.
	_, err := e.admin.StorageV1().StorageClasses().Patch(t.Context(), storageClass, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+defaultClass+`":"false"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
