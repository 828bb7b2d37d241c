package door

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	admission "k8s.io/api/admission/v1"
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
)

const (
	// mostReview bounds what the API server posts: an object of etcd's size, and some.
	mostReview = 3 << 20
	// mostReviews is how many are looked at at the same time; more are let pass.
	mostReviews = 64
	// findWithin bounds how long the API server waits for the pod's node to be found, which
	// cannot be once the pod is gone.
	findWithin = 300 * time.Millisecond
)

// deletions is the validating webhook for deletions and evictions of pods. It lets pass
// whatever it is asked, at once, and tells the pod's agent who asked. The API server shows
// webhooks no credentials: who knows the key in the path is it.
func (h *HTTPS) deletions(w http.ResponseWriter, r *http.Request) {
	key := ""
	if h.Key != nil {
		key = h.Key()
	}
	if key == "" || subtle.ConstantTimeCompare([]byte(key), []byte(r.PathValue("key"))) != 1 {
		http.NotFound(w, r)
		return
	}
	if h.Known != nil {
		h.Known(r.RemoteAddr)
	}
	at := time.Now()
	var review admission.AdmissionReview
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostReview)).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "this is no admission review", http.StatusBadRequest)
		return
	}
	request := review.Request
	asked, node, ok := requestedBy(request)
	if ok && node == "" {
		ctx, cancel := context.WithTimeout(r.Context(), findWithin)
		node = h.Hub.NodeOf(ctx, asked.Pod)
		cancel()
	}
	review.Response, review.Request = &admission.AdmissionResponse{UID: request.UID, Allowed: true}, nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
	if !ok || node == "" {
		return
	}
	select {
	case h.reviews <- struct{}{}:
	default:
		return // the pod's end is explained without
	}
	go func() { // a line that is slow is not the API server's concern
		defer func() { <-h.reviews }()
		h.Hub.Requested(node, asked, at)
	}()
}

// oneUser is whom all controllers of Kubernetes are where they have no service accounts of
// their own: which of them asked, a review does not say.
const oneUser = "system:kube-controller-manager"

// requestedBy is who asked for which pod's end, and that pod's node where the request has
// it. What a node deletes itself only completes what another asked for.
func requestedBy(r *admission.AdmissionRequest) (asked link.Requested, node string, ok bool) {
	user := r.UserInfo.Username
	if r.DryRun != nil && *r.DryRun || strings.HasPrefix(user, "system:node:") || user == oneUser || r.Resource.Group != "" || r.Resource.Resource != "pods" {
		return asked, "", false
	}
	asked = link.Requested{Pod: fact.Pod{Namespace: r.Namespace, Name: r.Name}, User: user}
	switch {
	case r.Operation == admission.Delete && r.SubResource == "":
		var pod v1.Pod
		if json.Unmarshal(r.OldObject.Raw, &pod) == nil {
			asked.Pod.UID, node = pod.UID, pod.Spec.NodeName
		}
		asked.Verb = "delete"
	case r.Operation == admission.Create && r.SubResource == "eviction":
		asked.Verb = "evict"
	}
	for _, s := range []string{asked.Pod.Namespace, asked.Pod.Name, asked.User} {
		if s == "" || len(s) > link.MaxName {
			return asked, "", false
		}
	}
	return asked, node, asked.Verb != "" && (asked.Verb == "evict" || node != "")
}
