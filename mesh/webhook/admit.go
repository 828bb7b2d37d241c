package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	admission "k8s.io/api/admission/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/mesh"
)

// The paths say what already speaks for a pod: its namespace, or only itself.
const (
	NamespacePath = "/mutate/namespace"
	PodPath       = "/mutate/pod"
)

// maxReview bounds a review: the API server's own limit on requests is 3 MiB,
// and a review may have an object twice.
const maxReview = 8 << 20

// Admit answers admission reviews. Injection is asked for at each, because the
// authority's certificates change.
type Admit struct {
	Injection func() mesh.Injection
	Log       *slog.Logger
}

// Register adds the handler's paths.
func (a *Admit) Register(mux *http.ServeMux) {
	mux.Handle("POST "+NamespacePath, a.handler(map[string]string{mesh.InjectKey: mesh.Enabled}))
	mux.Handle("POST "+PodPath, a.handler(nil))
}

func (a *Admit) handler(namespace map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var review admission.AdmissionReview
		if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
			http.Error(w, "the body is not an AdmissionReview with a request", http.StatusBadRequest)
			return
		}
		answer := admission.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: admission.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
			Response: a.review(review.Request, namespace),
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			a.Log.Warn("an admission review could not be answered", "error", err)
		}
	})
}

// review always admits; what it cannot do becomes a warning.
func (a *Admit) review(req *admission.AdmissionRequest, namespace map[string]string) *admission.AdmissionResponse {
	answer := &admission.AdmissionResponse{UID: req.UID, Allowed: true}
	if req.Operation != admission.Create || req.Resource.Group != "" || req.Resource.Resource != "pods" || req.SubResource != "" {
		return answer
	}
	patch, err := a.patch(req, namespace)
	if err != nil {
		if !errors.Is(err, mesh.ErrNotInjectable) {
			a.Log.Error("a pod was admitted without the mesh", "namespace", req.Namespace, "pod", req.Name, "error", err)
		}
		answer.Warnings = []string{fmt.Sprintf("whylet mesh: the pod was admitted as it is: %v", err)}
		return answer
	}
	if patch != nil {
		answer.Patch, answer.PatchType = patch, new(admission.PatchTypeJSONPatch)
	}
	return answer
}

func (a *Admit) patch(req *admission.AdmissionRequest, namespace map[string]string) ([]byte, error) {
	var pod v1.Pod
	if err := json.Unmarshal(req.Object.Raw, &pod); err != nil {
		return nil, fmt.Errorf("decode the pod: %w", err)
	}
	if pod.Namespace == "" {
		pod.Namespace = req.Namespace
	}
	if !mesh.Wants(namespace, &pod) {
		return nil, nil
	}
	injected, err := mesh.Inject(&pod, a.Injection())
	if err != nil {
		return nil, err
	}
	ops := diff(&pod, injected)
	if len(ops) == 0 {
		return nil, nil
	}
	return json.Marshal(ops)
}
