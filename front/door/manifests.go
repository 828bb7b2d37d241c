package door

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

var (
	//go:embed manifests.yaml
	kinds []byte
	//go:embed admission.yaml
	admissions []byte
)

// Manifests are what a cluster has to know so that a front can be asked, as YAML: kinds, roles, and
// what questions may bring along.
var Manifests = slices.Concat(kinds, []byte("---\n"), admissions)

// Objects are the [Manifests], one by one.
func Objects() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(Manifests), 4096); ; {
		o := &unstructured.Unstructured{}
		err := d.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the manifests: %w", err)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// Apply tells a cluster the [Manifests], in the words of a field manager.
func Apply(ctx context.Context, api dynamic.Interface, manager string) error {
	objects, err := Objects()
	if err != nil {
		return err
	}
	for _, o := range objects {
		kind := o.GroupVersionKind()
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		body, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		force := true
		_, err = api.Resource(resource).Patch(ctx, o.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager, Force: &force})
		if apierrors.IsNotFound(err) && kind.Group == admissionregistration.GroupName {
			continue // before Kubernetes 1.30 there are no such policies
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("telling the cluster of %s %s: %w", kind.Kind, o.GetName(), err)
		}
	}
	return nil
}
