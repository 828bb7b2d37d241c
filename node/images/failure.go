package images

import (
	"errors"
	"fmt"
	"strings"

	crierrors "k8s.io/cri-api/pkg/errors"

	"whylet.dev/whylet/fact"
)

// Reasons of a container that waits for its image, as Kubernetes shows them.
const (
	ReasonPull        = "ErrImagePull"
	ReasonNeverPull   = "ErrImageNeverPull"
	ReasonName        = "InvalidImageName"
	ReasonInspect     = "ImageInspectError"
	ReasonUnavailable = "RegistryUnavailable"
	ReasonSignature   = "SignatureValidationFailed"
)

// Failure says why there is no image.
type Failure struct {
	// Image is the name as the pod has it.
	Image string
	// Reason is one of the reasons above.
	Reason string
	// Message is what a status shows beside it: the registry's or runtime's own
	// words, in the form in which kubelet hands them on.
	Message string
	// OnNode is set when the image is on the node all the same: its pull policy is
	// Always.
	OnNode bool
	// Err is the cause, where there is one.
	Err error
}

// Fact gives the failure as a fact.
func (f *Failure) Fact() fact.ImageFailed {
	return fact.ImageFailed{Image: f.Image, Reason: f.Reason, Message: f.Message, OnNode: f.OnNode}
}

// Error gives reason and message.
func (f *Failure) Error() string { return f.Reason + ": " + f.Message }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// pullFailure classes what the runtime said. CRI has no codes for these classes;
// the agreed sign is the name at the beginning of the text (cri-api/pkg/errors).
func pullFailure(image string, err error) *Failure {
	f := &Failure{Image: image, Reason: ReasonPull, Message: err.Error(), Err: err}
	if rest, ok := strings.CutPrefix(err.Error(), crierrors.ErrRegistryUnavailable.Error()); ok {
		f.Reason = ReasonUnavailable
		f.Message = fmt.Sprintf("image pull failed for %s because the registry is unavailable%s", image, rest)
	}
	if rest, ok := strings.CutPrefix(err.Error(), crierrors.ErrSignatureValidationFailed.Error()); ok {
		f.Reason = ReasonSignature
		f.Message = fmt.Sprintf("image pull failed for %s because the signature validation failed%s", image, rest)
	}
	return f
}

func neverPull(image string) *Failure {
	return &Failure{
		Image: image, Reason: ReasonNeverPull,
		Message: fmt.Sprintf("Container image %q is not present with pull policy of Never", image),
	}
}

func pullError(image string, err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return pullFailure(image, err)
}
