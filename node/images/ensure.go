package images

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"

	"whylet.dev/whylet/node/cri"
)

// Request asks for the image of a container.
type Request struct {
	// Image is the name as the pod has it, Policy from [Policy].
	Image  string
	Policy v1.PullPolicy
	// Secrets are the pod's imagePullSecrets, as far as they could be read.
	Secrets []v1.Secret
	// Annotations are the pod's: a runtime may choose how to pull by them.
	Annotations map[string]string
	// Sandbox is the configuration of the pod's sandbox, for runtimes that pull into it.
	Sandbox *runtimeapi.PodSandboxConfig
	// Pulling is called when a pull is about to begin, before it waits its turn. May be nil.
	Pulling func()
}

// Result is an image that is on the node.
type Result struct {
	// Ref is what containers are created from: the image's id on the node.
	Ref string
	// User is whom the image wants to run as.
	User cri.ImageUser
	// Present is set when nothing had to be pulled.
	Present bool
	// Took is how long the pull took, Waited the same with the time it waited for
	// other pulls.
	Took, Waited time.Duration
	// Bytes is the image's size.
	Bytes int64
}

// Ensure makes one attempt to have an image, as its policy says. It returns a
// [*Failure] when there is none.
func (m *Manager) Ensure(ctx context.Context, r Request) (Result, error) {
	ctx = klog.NewContext(ctx, logr.Discard()) // all that is logged is returned, too
	name, err := withTag(r.Image)
	if err != nil {
		return Result{}, &Failure{Reason: ReasonName, Message: fmt.Sprintf("Failed to apply default image tag %q: %v", r.Image, err), Err: err}
	}
	a := attempt{
		m: m, request: r,
		spec:   &runtimeapi.ImageSpec{Image: name, Annotations: r.Annotations},
		lookup: m.credentials(name, r.Secrets),
	}
	if found, err := a.present(ctx); err != nil || found.Present {
		return found, err
	}
	if r.Policy == v1.PullNever {
		return Result{}, neverPull(r.Image)
	}
	return a.pull(ctx)
}

// attempt is one call of Ensure.
type attempt struct {
	m       *Manager
	request Request
	spec    *runtimeapi.ImageSpec
	lookup  func() ([]credential, error)
}

// present gives the image if it is there and the pod may use it without asking
// the registry. To a pod that may not, it does not exist.
func (a attempt) present(ctx context.Context) (Result, error) {
	if a.request.Policy == v1.PullAlways {
		return Result{}, nil
	}
	image, err := a.inspect(ctx)
	if err != nil {
		return Result{}, &Failure{Reason: ReasonInspect, Message: fmt.Sprintf("Failed to inspect image %q: %v", a.request.Image, err), Err: err}
	}
	if image == nil {
		return Result{}, nil
	}
	ok, err := a.m.mayUse(ctx, a.request.Image, image.Id, a.lookup)
	if err != nil {
		return Result{}, pullError(a.request.Image, err)
	}
	result := resultOf(image)
	result.Present = ok
	return result, nil
}

// pull waits its turn and pulls. If somebody else pulled the same image
// meanwhile, there is nothing left to do.
func (a attempt) pull(ctx context.Context) (Result, error) {
	if a.request.Pulling != nil {
		a.request.Pulling()
	}
	done, waited, err := a.m.slot(ctx)
	if err != nil {
		return Result{}, pullError(a.request.Image, err)
	}
	defer done()
	if waited > time.Millisecond {
		if found, err := a.present(ctx); err != nil || found.Present {
			found.Present, found.Waited = false, waited
			return found, err
		}
	}
	began := time.Now()
	result, err := a.pullNow(ctx)
	if err != nil {
		return Result{}, pullError(a.request.Image, err)
	}
	result.Took = time.Since(began)
	result.Waited = waited + result.Took
	return result, nil
}

// pullNow pulls and writes down with whose secret it worked. The intent is
// written first, so that a crash in between leaves no image that anybody may use.
func (a attempt) pullNow(ctx context.Context) (Result, error) {
	all, err := a.lookup()
	if err != nil {
		return Result{}, err
	}
	image := a.request.Image
	if err := a.m.access.RecordPullIntent(logr.Discard(), image); err != nil {
		return Result{}, fmt.Errorf("Failed to record image pull intent for container image %q: %w", image, err)
	}
	ref, used, err := tryEach(all, func(auth *runtimeapi.AuthConfig) (string, error) {
		return a.m.service.PullImage(ctx, a.spec, auth, a.request.Sandbox)
	})
	if err != nil {
		a.m.access.RecordImagePullFailed(ctx, image)
		return Result{}, err
	}
	a.m.access.RecordImagePulled(ctx, image, ref, accessOf(used))
	found, err := a.inspect(ctx)
	if err != nil {
		return Result{}, err
	}
	if found == nil {
		return Result{}, fmt.Errorf("image %q was pulled, and removed again by somebody else", image)
	}
	result := resultOf(found)
	result.Ref = ref
	return result, nil
}

// inspect asks the runtime once for all that is needed of an image; nil when it
// is not there.
func (a attempt) inspect(ctx context.Context) (*runtimeapi.Image, error) {
	r, err := a.m.service.ImageStatus(ctx, a.spec, false)
	return r.GetImage(), err
}

func resultOf(i *runtimeapi.Image) Result {
	r := Result{Ref: i.Id, Bytes: int64(i.Size), User: cri.ImageUser{Name: i.Username}}
	if i.Uid != nil {
		r.User = cri.ImageUser{UID: &i.Uid.Value}
	}
	return r
}
