package front

import (
	"context"
	"errors"
	"fmt"
	"slices"

	authv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/front/link"
)

// What a bound token's review says beside the user (k8s.io/apiserver,
// pkg/authentication/serviceaccount); the node since Kubernetes 1.30.
const (
	extraNode = "authentication.kubernetes.io/node-name"
	extraPod  = "authentication.kubernetes.io/pod-name"
	extraUID  = "authentication.kubernetes.io/pod-uid"
)

// Review has the API server say whose token it is; one that is not meant for a front is
// refused.
func Review(ctx context.Context, api kubernetes.Interface, token string) (authv1.UserInfo, error) {
	if token == "" || len(token) > mostToken {
		return authv1.UserInfo{}, errors.New("a bearer token is missing")
	}
	r, err := api.AuthenticationV1().TokenReviews().Create(ctx, &authv1.TokenReview{
		Spec: authv1.TokenReviewSpec{Token: token, Audiences: []string{link.Audience}},
	}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return authv1.UserInfo{}, fmt.Errorf("having the token reviewed: %w", err)
	case !r.Status.Authenticated:
		return authv1.UserInfo{}, errors.New("the token is not valid")
	case !slices.Contains(r.Status.Audiences, link.Audience):
		return authv1.UserInfo{}, errors.New("the token is not for " + link.Audience)
	}
	return r.Status.User, nil
}

const mostToken = 16 << 10

// nodeOf is the node that an agent's token is bound to: it may speak of that one's pods.
func (h *Hub) nodeOf(ctx context.Context, token string) (string, error) {
	user, err := Review(ctx, h.o.API, token)
	if err != nil {
		return "", err
	}
	if user.Username != h.o.Agent {
		return "", fmt.Errorf("%s is no agent", user.Username)
	}
	one := func(key string) string {
		if v := user.Extra[key]; len(v) == 1 {
			return v[0]
		}
		return ""
	}
	if node := one(extraNode); node != "" {
		return node, nil
	}
	name := one(extraPod)
	if name == "" {
		return "", errors.New("the token is bound to no pod")
	}
	pod, err := h.o.API.CoreV1().Pods(h.o.AgentNamespace()).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("finding the agent's node: %w", err)
	}
	if string(pod.UID) != one(extraUID) || pod.Spec.NodeName == "" {
		return "", errors.New("the token is of a pod that is gone")
	}
	return pod.Spec.NodeName, nil
}
