package images

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
)

// Image is an image that is on the node and that the pod may use.
type Image struct {
	// Ref is what containers are created from: the image's id on the node.
	Ref string
	// User is whom the image wants to run as.
	User cri.ImageUser
	// Bytes is its size on disk.
	Bytes int64
}

// Ensure makes one attempt to have a container's image, as its pull policy says,
// and tells on the way what happens: ImagePulling when a pull is about to begin
// (it may wait its turn then), ImageReady in the end. The error is a [*Failure]
// and has been told to nobody.
func (m *Manager) Ensure(ctx context.Context, pod *v1.Pod, c *v1.Container, say func(fact.Observed)) (Image, error) {
	return m.ensure(ctx, pod, c.Image, Policy(c), say)
}

// EnsureVolume does the same for an image that is mounted as a volume.
func (m *Manager) EnsureVolume(ctx context.Context, pod *v1.Pod, v *v1.ImageVolumeSource, say func(fact.Observed)) (Image, error) {
	return m.ensure(ctx, pod, v.Reference, policy(v.Reference, v.PullPolicy), say)
}

func (m *Manager) ensure(ctx context.Context, pod *v1.Pod, image string, policy v1.PullPolicy, say func(fact.Observed)) (Image, error) {
	ctx = klog.NewContext(ctx, logr.Discard()) // all that is logged is returned, too
	name, err := withTag(image)
	if err != nil {
		return Image{}, &Failure{
			Image: image, Reason: ReasonName,
			Message: fmt.Sprintf("Failed to apply default image tag %q: %v", image, err), Err: err,
		}
	}
	a := attempt{
		m: m, pod: pod, image: image, policy: policy, say: say,
		spec:   &runtimeapi.ImageSpec{Image: name, Annotations: pod.Annotations},
		lookup: m.credentials(name, pod),
	}
	if found, err := a.present(ctx); err != nil || found != nil {
		return a.ready(found, err, fact.ImageReady{Present: true})
	}
	if a.policy == v1.PullNever {
		return Image{}, neverPull(image)
	}
	return a.pull(ctx)
}

// attempt is one call of Ensure.
type attempt struct {
	m      *Manager
	pod    *v1.Pod
	image  string // as the pod has it
	policy v1.PullPolicy
	spec   *runtimeapi.ImageSpec
	lookup func() (keys, error)
	say    func(fact.Observed)
}

// ready ends an attempt, and tells so if it has an image.
func (a attempt) ready(i *runtimeapi.Image, err error, ready fact.ImageReady) (Image, error) {
	if err != nil {
		return Image{}, pullError(a.image, err)
	}
	ready.Image, ready.Bytes = a.image, int64(i.Size)
	a.say(ready)
	return imageOf(i), nil
}

// present gives the image if it is there and the pod may use it without asking
// the registry. To a pod that may not, it does not exist.
func (a attempt) present(ctx context.Context) (*runtimeapi.Image, error) {
	if a.policy == v1.PullAlways {
		return nil, nil
	}
	image, err := a.inspect(ctx)
	if err != nil {
		return nil, &Failure{
			Image: a.image, Reason: ReasonInspect,
			Message: fmt.Sprintf("Failed to inspect image %q: %v", a.image, err), Err: err,
		}
	}
	if image == nil {
		return nil, nil
	}
	ok, err := a.m.mayUse(ctx, a.image, image.Id, a.lookup)
	if err != nil || !ok {
		return nil, err
	}
	return image, nil
}

// pull waits its turn and pulls. If somebody else pulled the same image
// meanwhile, there is nothing left to do.
func (a attempt) pull(ctx context.Context) (Image, error) {
	a.say(fact.ImagePulling{Image: a.image})
	done, waited, err := a.m.slot(ctx)
	if err != nil {
		return Image{}, pullError(a.image, err)
	}
	defer done()
	if waited > time.Millisecond {
		if found, err := a.present(ctx); err != nil || found != nil {
			return a.ready(found, err, fact.ImageReady{Waited: waited})
		}
	}
	began := time.Now()
	image, err := a.pullNow(ctx)
	took := time.Since(began)
	if err != nil && a.policy == v1.PullAlways {
		f := pullError(a.image, err)
		here, missed := a.inspect(ctx)
		f.OnNode, err = missed == nil && here != nil, f
	}
	return a.ready(image, err, fact.ImageReady{Took: took, Waited: waited + took})
}

// pullNow pulls and writes down with whose secret it worked. The intent is
// written first, so that a crash in between leaves no image that anybody may use.
func (a attempt) pullNow(ctx context.Context) (*runtimeapi.Image, error) {
	keys, err := a.lookup()
	if err != nil {
		return nil, err
	}
	if err := a.m.access.RecordPullIntent(logr.Discard(), a.image); err != nil {
		return nil, fmt.Errorf("failed to record image pull intent for container image %q: %w", a.image, err)
	}
	ref, used, err := tryEach(keys.found, func(auth *runtimeapi.AuthConfig) (string, error) {
		return a.m.service.PullImage(ctx, a.spec, auth, nil)
	})
	if err != nil {
		a.m.access.RecordImagePullFailed(ctx, a.image)
		if pullError(a.image, err).Reason == ReasonPull {
			a.m.tellMissing(a.pod, keys.missing)
		}
		return nil, err
	}
	a.m.access.RecordImagePulled(ctx, a.image, ref, accessOf(used))
	image, err := a.inspect(ctx)
	if err == nil && image == nil {
		err = fmt.Errorf("image %q was pulled, and removed again by somebody else", a.image)
	}
	return image, err
}

// inspect asks the runtime once for all that is needed of an image; nil when it
// is not there.
func (a attempt) inspect(ctx context.Context) (*runtimeapi.Image, error) {
	r, err := a.m.service.ImageStatus(ctx, a.spec, false)
	return r.GetImage(), err
}

func imageOf(i *runtimeapi.Image) Image {
	user := cri.ImageUser{Name: i.Username}
	if i.Uid != nil {
		user = cri.ImageUser{UID: &i.Uid.Value}
	}
	return Image{Ref: i.Id, User: user, Bytes: int64(i.Size)}
}
