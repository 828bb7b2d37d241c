package front

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a bound token's review says beside the user (k8s.io/apiserver,
// pkg/authentication/serviceaccount); the node since Kubernetes 1.30.
const (
	extraNode = "authentication.kubernetes.io/node-name"
	extraPod  = "authentication.kubernetes.io/pod-name"
	extraUID  = "authentication.kubernetes.io/pod-uid"
)

// nodeUser and nodeGroup are how the API server knows a node (k8s.io/apiserver,
// pkg/authentication/user).
const nodeUser, nodeGroup = "system:node:", "system:nodes"

// whoIs is the node that a stream may speak of: that of the token or of the certificate which
// it shows. itself says that it is the node, and not an agent beside it.
func (h *Hub) whoIs(ctx context.Context) (node string, itself bool, err error) {
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.PeerCertificates) > 0 {
			node, err = h.nodeItself(ctx, info.State.PeerCertificates)
			return node, true, err
		}
	}
	node, err = h.nodeOf(ctx, bearer(ctx))
	return node, false, err
}

// nodeItself is the node whose certificate was shown: the one by which the API server knows
// its kubelet, which for a node of Whylet's own is itself.
func (h *Hub) nodeItself(ctx context.Context, shown []*x509.Certificate) (string, error) {
	if h.o.Authorities == nil {
		return "", errors.New("nodes are not known by certificates here")
	}
	roots, err := h.o.Authorities(ctx)
	if err != nil {
		return "", fmt.Errorf("finding who vouches for nodes: %w", err)
	}
	between := x509.NewCertPool()
	for _, c := range shown[1:] {
		between.AddCert(c)
	}
	leaf := shown[0]
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		return "", fmt.Errorf("the certificate is not the API server's: %w", err)
	}
	name, ok := strings.CutPrefix(leaf.Subject.CommonName, nodeUser)
	if !ok || !slices.Contains(leaf.Subject.Organization, nodeGroup) {
		return "", fmt.Errorf("%s is no node", leaf.Subject.CommonName)
	}
	if _, err := h.o.API.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil { // there is no other way to shut one out
		return "", fmt.Errorf("finding the node: %w", err)
	}
	return name, nil
}

// nodeOf is the node that an agent's token is bound to: it may speak of that one's pods.
func (h *Hub) nodeOf(ctx context.Context, token string) (string, error) {
	user, err := h.reviews.Of(ctx, token)
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
