package front

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/front/link"
)

// Reviews has the API server say whose a token is. It bounds how many it asks about at the same
// time, and remembers for a moment those that were refused: whoever shows the same junk again
// costs the API server nothing. The zero value, with an API, is ready.
type Reviews struct {
	API kubernetes.Interface

	mu      sync.Mutex
	refused map[[sha256.Size]byte]refusedToken
	places  chan struct{}
}

type refusedToken struct {
	err   error
	until time.Time
}

const (
	// mostToken bounds a token.
	mostToken = 16 << 10
	// refusedFor is how long a refusal is remembered, mostRefusals of how many tokens.
	refusedFor   = 10 * time.Second
	mostRefusals = 1024
	// mostReviews is how many tokens are reviewed at the same time.
	mostReviews = 32
)

// Of gives the user of a token; one that is not meant for a front is refused.
func (r *Reviews) Of(ctx context.Context, token string) (authv1.UserInfo, error) {
	if token == "" || len(token) > mostToken {
		return authv1.UserInfo{}, errors.New("a bearer token is missing")
	}
	key := sha256.Sum256([]byte(token))
	places, err := r.begin(key)
	if err != nil {
		return authv1.UserInfo{}, err
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		return authv1.UserInfo{}, ctx.Err()
	}
	got, err := r.API.AuthenticationV1().TokenReviews().Create(ctx, &authv1.TokenReview{
		Spec: authv1.TokenReviewSpec{Token: token, Audiences: []string{link.Audience}},
	}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return authv1.UserInfo{}, fmt.Errorf("having the token reviewed: %w", err)
	case !got.Status.Authenticated:
		return authv1.UserInfo{}, r.refuse(key, errors.New("the token is not valid"))
	case !slices.Contains(got.Status.Audiences, link.Audience):
		return authv1.UserInfo{}, r.refuse(key, errors.New("the token is not for "+link.Audience))
	}
	return got.Status.User, nil
}

// begin gives the places for reviews, or the error of a token that was refused a moment ago.
func (r *Reviews) begin(key [sha256.Size]byte) (chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.places == nil {
		r.places, r.refused = make(chan struct{}, mostReviews), map[[sha256.Size]byte]refusedToken{}
	}
	if was, ok := r.refused[key]; ok && time.Now().Before(was.until) {
		return nil, was.err
	}
	return r.places, nil
}

// refuse remembers that a token was refused.
func (r *Reviews) refuse(key [sha256.Size]byte, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.refused) >= mostRefusals {
		clear(r.refused)
	}
	r.refused[key] = refusedToken{err, time.Now().Add(refusedFor)}
	return err
}
