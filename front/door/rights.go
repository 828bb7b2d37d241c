package door

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	authn "k8s.io/api/authentication/v1"
	authz "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/front"
	"whylet.dev/whylet/why/question"
)

// rights says who asks by HTTPS, and what they may. Who may create a Question in a namespace
// may ask about it here: one right opens both doors, so that taking it away shuts both.
// Getting pods would be too little, since an answer quotes what containers logged.
type rights struct {
	api     kubernetes.Interface
	reviews front.Reviews

	mu    sync.Mutex
	known map[[sha256.Size]byte]reviewed
}

type reviewed struct {
	user  authn.UserInfo
	until time.Time
}

const (
	// goodFor is how long a token's review is remembered, mostKnown of how many.
	goodFor   = 30 * time.Second
	mostKnown = 1024
)

var (
	errUnknown   = errors.New("who asks is not known: send a bearer token for the audience whylet-front")
	errForbidden = errors.New("you may not ask that: create on questions.why.whylet.dev in the namespace, or on clusterquestions for everything, is missing")
)

// tokenOf is what a request shows. For pages it may be the password of a login, as browsers
// ask for no other; what answers programs takes none, so that no page elsewhere can have a
// browser ask there.
func tokenOf(req *http.Request) (string, bool) {
	if _, password, ok := req.BasicAuth(); ok && isPage(req) {
		return password, true
	}
	return strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
}

func isPage(req *http.Request) bool { return req.Method == http.MethodGet && req.URL.Path == "/page" }

// who is the user of a request's token.
func (r *rights) who(req *http.Request) (authn.UserInfo, error) {
	token, ok := tokenOf(req)
	if !ok {
		return authn.UserInfo{}, errUnknown
	}
	key, now := sha256.Sum256([]byte(token)), time.Now()
	r.mu.Lock()
	found, ok := r.known[key]
	r.mu.Unlock()
	if ok && now.Before(found.until) {
		return found.user, nil
	}
	user, err := r.reviews.Of(req.Context(), token)
	if err != nil {
		return user, errors.Join(errUnknown, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) >= mostKnown {
		r.known = map[[sha256.Size]byte]reviewed{}
	}
	r.known[key] = reviewed{user, now.Add(goodFor)}
	return user, nil
}

// may asks the API server whether a user may ask about a namespace; "" is everything.
func (r *rights) may(ctx context.Context, user authn.UserInfo, namespace string) error {
	a := authz.ResourceAttributes{Group: question.Group, Version: question.Version, Resource: question.Resource, Verb: "create", Namespace: namespace}
	if namespace == "" {
		a.Resource = question.ClusterResource
	}
	return r.review(ctx, user, authz.SubjectAccessReviewSpec{ResourceAttributes: &a})
}

// mayGet asks whether a user may get a path that is of no namespace, such as /metrics.
func (r *rights) mayGet(ctx context.Context, user authn.UserInfo, path string) error {
	return r.review(ctx, user, authz.SubjectAccessReviewSpec{NonResourceAttributes: &authz.NonResourceAttributes{Path: path, Verb: "get"}})
}

func (r *rights) review(ctx context.Context, user authn.UserInfo, spec authz.SubjectAccessReviewSpec) error {
	spec.User, spec.UID, spec.Groups, spec.Extra = user.Username, user.UID, user.Groups, map[string]authz.ExtraValue{}
	for k, v := range user.Extra {
		spec.Extra[k] = authz.ExtraValue(v)
	}
	got, err := r.api.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authz.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if !got.Status.Allowed {
		return errForbidden
	}
	return nil
}
