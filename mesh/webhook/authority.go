package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	authentication "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/mesh/identity"
)

// SecretName is the Secret that keeps the mesh's CA.
const SecretName = "whylet-mesh-ca"

// The Secret's keys.
const (
	bundleKey = "ca.crt"
	keyKey    = "ca.key"
	crossKey  = "cross.crt"
)

// Authority is the mesh's CA, kept in a Secret, so that all replicas of the
// control plane have the same, and the same after a restart.
type Authority struct {
	client    kubernetes.Interface
	namespace string
	log       *slog.Logger
	current   atomic.Pointer[identity.CA]
}

// NewAuthority reads the CA, or makes it if there is none.
func NewAuthority(ctx context.Context, client kubernetes.Interface, namespace string, log *slog.Logger) (*Authority, error) {
	a := &Authority{client: client, namespace: namespace, log: log}
	if err := a.refresh(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// CA gives the CA in use.
func (a *Authority) CA() *identity.CA { return a.current.Load() }

// refresh reads the Secret, and writes the next CA into it when one is due. Of
// several replicas that want to write, the API server lets one; the others read
// what that one wrote.
func (a *Authority) refresh(ctx context.Context) error {
	for {
		err := a.tryRefresh(ctx)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (a *Authority) tryRefresh(ctx context.Context) error {
	secrets := a.client.CoreV1().Secrets(a.namespace)
	secret, err := secrets.Get(ctx, SecretName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		ca, err := identity.NewCA(nil, time.Now())
		if err != nil {
			return err
		}
		secret = &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: SecretName, Namespace: a.namespace}}
		if err := fill(secret, ca); err != nil {
			return err
		}
		if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("keep the mesh's CA in secret %s/%s: %w", a.namespace, SecretName, err)
		}
		a.log.Info("made the mesh's CA", "secret", a.namespace+"/"+SecretName)
		a.current.Store(ca)
		return nil
	case err != nil:
		return fmt.Errorf("read the mesh's CA from secret %s/%s: %w", a.namespace, SecretName, err)
	}
	ca, err := identity.ParseCA(secret.Data[bundleKey], secret.Data[keyKey], secret.Data[crossKey])
	if err != nil {
		return fmt.Errorf("secret %s/%s is damaged; delete it to have a new CA made, and create the pods of the mesh again: %w", a.namespace, SecretName, err)
	}
	if !ca.Due(time.Now()) {
		a.store(ca)
		return nil
	}
	next, err := identity.NewCA(ca, time.Now())
	if err != nil {
		return err
	}
	if err := fill(secret, next); err != nil {
		return err
	}
	if _, err := secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("keep the mesh's next CA in secret %s/%s: %w", a.namespace, SecretName, err)
	}
	a.log.Info("made the mesh's next CA", "secret", a.namespace+"/"+SecretName)
	a.current.Store(next)
	return nil
}

// store changes the CA in use only if it is another one, so that certificates
// that were made by it stay.
func (a *Authority) store(ca *identity.CA) {
	if was := a.current.Load(); was == nil || string(was.Bundle()) != string(ca.Bundle()) {
		a.current.Store(ca)
	}
}

func fill(secret *v1.Secret, ca *identity.CA) error {
	key, err := ca.Key()
	if err != nil {
		return err
	}
	secret.Data = map[string][]byte{bundleKey: ca.Bundle(), keyKey: key, crossKey: ca.Cross()}
	return nil
}

// authenticate asks the API server whose token it is.
func authenticate(client kubernetes.Interface) func(context.Context, string) (namespace, account string, err error) {
	return func(ctx context.Context, token string) (string, string, error) {
		review, err := client.AuthenticationV1().TokenReviews().Create(ctx, &authentication.TokenReview{
			Spec: authentication.TokenReviewSpec{Token: token, Audiences: []string{mesh.Audience}},
		}, metav1.CreateOptions{})
		if err != nil {
			return "", "", fmt.Errorf("review a token: %w", err)
		}
		if !review.Status.Authenticated {
			return "", "", fmt.Errorf("%w: %s", identity.ErrUnauthenticated, review.Status.Error)
		}
		name, ok := strings.CutPrefix(review.Status.User.Username, "system:serviceaccount:")
		namespace, account, found := strings.Cut(name, ":")
		if !ok || !found {
			return "", "", errors.Join(identity.ErrUnauthenticated, fmt.Errorf("%s is not a service account", review.Status.User.Username))
		}
		return namespace, account, nil
	}
}
