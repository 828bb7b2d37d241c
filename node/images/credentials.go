package images

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubernetes/pkg/credentialprovider"
	"k8s.io/kubernetes/pkg/credentialprovider/secrets"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/images/pullmanager"
	"k8s.io/kubernetes/pkg/util/parsers"
)

// credential is a way to authenticate, and whose it is.
type credential = credentialprovider.TrackedAuthConfig

// nodeKeyring holds the credentials that every pod of the node may use, from
// config.json in dir or in Docker's usual places. They are read again every five
// minutes.
func nodeKeyring(dir string) credentialprovider.DockerKeyring {
	credentialprovider.SetPreferredDockercfgPath(dir)
	return credentialprovider.NewDefaultDockerKeyring()
}

// keys are the credentials that fit an image, and the names of the pod's pull secrets
// that could not be read.
type keys struct {
	found   []credential
	missing []string
}

// credentials looks up what fits the image: the pod's pull secrets before the
// node's own. They are looked up once, and only when first asked for.
func (m *Manager) credentials(image string, pod *v1.Pod) func() (keys, error) {
	return sync.OnceValues(func() (keys, error) {
		repository, _, _, err := parsers.ParseImageName(image)
		if err != nil {
			return keys{}, err
		}
		own, missing := m.pullSecrets(pod)
		keyring, err := secrets.MakeDockerKeyring(own, m.node)
		if err != nil {
			return keys{}, err
		}
		found, _ := keyring.Lookup(repository)
		return keys{found, missing}, nil
	})
}

// pullSecrets reads the pod's imagePullSecrets. Those that cannot be read are left
// out: the pull may work without them.
func (m *Manager) pullSecrets(pod *v1.Pod) (all []v1.Secret, missing []string) {
	for _, ref := range pod.Spec.ImagePullSecrets {
		if ref.Name == "" || m.options.Secrets == nil {
			continue
		}
		s, err := m.options.Secrets.GetSecret(pod.Namespace, ref.Name)
		if err != nil {
			m.options.Log.Warn("image pull secret not readable", "pod", pod.Namespace+"/"+pod.Name, "secret", ref.Name, "error", err)
			missing = append(missing, ref.Name)
			continue
		}
		all = append(all, *s)
	}
	return all, missing
}

// tellMissing posts kubelet's event about pull secrets that could not be read, after a
// pull that failed.
func (m *Manager) tellMissing(pod *v1.Pod, missing []string) {
	if len(missing) > 0 && m.options.Recorder != nil {
		m.options.Recorder.Eventf(pod, v1.EventTypeWarning, "FailedToRetrieveImagePullSecret",
			"Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", strings.Join(missing, ", "))
	}
}

// authOf is the credential in the runtime's form.
func authOf(c credential) *runtimeapi.AuthConfig {
	return &runtimeapi.AuthConfig{
		Username: c.Username, Password: c.Password, Auth: c.Auth,
		ServerAddress: c.ServerAddress, IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken,
	}
}

// newAccess remembers below dir with whose secret an image was pulled, so that
// another pod gets what is already on the node only if it could pull it itself
// (KEP-2535, on by default since 1.35). Images that were loaded into the runtime
// by hand are everybody's.
func newAccess(ctx context.Context, dir string, service internalapi.ImageManagerService) (*pullmanager.PullManager, error) {
	policy, err := pullmanager.NewImagePullCredentialVerificationPolicy(kubeletconfig.NeverVerifyPreloadedImages, nil)
	if err != nil {
		return nil, err
	}
	files, err := pullmanager.NewFSPullRecordsAccessor(logr.Discard(), dir)
	if err != nil {
		return nil, err
	}
	// kubelet's sizes for 110 pods.
	cached := pullmanager.NewCachedPullRecordsAccessor(logr.Discard(), files, 220, 550, 1)
	return pullmanager.NewImagePullManager(ctx, cached, policy, present{service: service}, 1)
}

// present answers the only question that the access records ask of a runtime:
// whether an image is there, after a restart in the middle of a pull.
type present struct {
	kubecontainer.ImageService
	service internalapi.ImageManagerService
}

func (p present) GetImageRef(ctx context.Context, image kubecontainer.ImageSpec) (string, error) {
	r, err := p.service.ImageStatus(ctx, &runtimeapi.ImageSpec{Image: image.Image}, false)
	return r.GetImage().GetId(), err
}

// mayUse tells whether a pod with these credentials may use an image that is on
// the node.
func (m *Manager) mayUse(ctx context.Context, image, ref string, lookup func() (keys, error)) (bool, error) {
	must, err := m.access.MustAttemptImagePull(ctx, image, ref,
		func() ([]kubeletconfig.ImagePullSecret, *kubeletconfig.ImagePullServiceAccount, error) {
			keys, err := lookup()
			if err != nil {
				return nil, nil, err
			}
			var own []kubeletconfig.ImagePullSecret
			for _, c := range keys.found {
				if s := secretOf(c); s != nil {
					own = append(own, *s)
				}
			}
			return own, nil, nil
		})
	return !must && err == nil, err
}

// secretOf names the pod's secret that a credential came from; nil for the node's own.
func secretOf(c credential) *kubeletconfig.ImagePullSecret {
	if c.Source == nil || c.Source.Secret == nil {
		return nil
	}
	s := c.Source.Secret
	return &kubeletconfig.ImagePullSecret{UID: s.UID, Namespace: s.Namespace, Name: s.Name, CredentialHash: c.AuthConfigHash}
}

// accessOf is what is remembered of a pull: with whose secret it worked, or that
// any pod of the node can do the same.
func accessOf(used *credential) *kubeletconfig.ImagePullCredentials {
	if used != nil {
		if s := secretOf(*used); s != nil {
			return &kubeletconfig.ImagePullCredentials{KubernetesSecrets: []kubeletconfig.ImagePullSecret{*s}}
		}
	}
	return &kubeletconfig.ImagePullCredentials{NodePodsAccessible: true}
}

// tryEach pulls with one credential after the other until one works, without any
// where there are none. It gives the one that worked; errors are joined.
func tryEach(all []credential, pull func(*runtimeapi.AuthConfig) (string, error)) (ref string, used *credential, err error) {
	if len(all) == 0 {
		ref, err = pull(nil)
		return ref, nil, err
	}
	var errs []error
	for _, c := range all {
		ref, err := pull(authOf(c))
		if err == nil {
			return ref, &c, nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 1 {
		return "", nil, errs[0]
	}
	return "", nil, errors.Join(errs...)
}
