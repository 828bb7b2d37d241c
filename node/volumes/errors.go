package volumes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kubernetes/pkg/kubelet/events"
)

// Stage is the stage of a pod's set-up that this package stands for, as
// fact.SetUpFailed names it.
const Stage = "volumes"

// Error says why a pod cannot have a volume. Reason and Message are what
// kubelet gives the event that it would send.
type Error struct {
	// Volume is the name in pod.spec.volumes; empty when several are concerned.
	Volume  string
	Reason  string
	Message string
	Err     error
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives the plugin's or the API server's own error.
func (e *Error) Unwrap() error { return e.Err }

// Failures are all failures of one attempt, sorted by volume: kubelet sends one
// event for each. errors.As finds the first *Error in it.
type Failures []*Error

func (f Failures) Error() string {
	words := make([]string, len(f))
	for i, e := range f {
		words[i] = e.Message
	}
	return strings.Join(words, "; ")
}

// Unwrap gives the single failures.
func (f Failures) Unwrap() []error {
	errs := make([]error, len(f))
	for i, e := range f {
		errs[i] = e
	}
	return errs
}

// mountError words a failure as kubelet's operation generator does
// (pkg/volume/util/operationexecutor, GenerateError). specName is the volume's
// name, or that of the persistent volume behind a claim.
func mountError(name, specName, step string, err error) *Error {
	return &Error{
		Volume:  name,
		Reason:  events.FailedMountVolume,
		Message: fmt.Sprintf("%s for volume %q : %v", step, specName, err),
		Err:     err,
	}
}

// unprocessed is the failure to find out what volume is meant: the claim is not
// bound, or no plugin knows the volume.
type unprocessed struct {
	volume string
	err    error
}

// processError words those as kubelet's WaitForAttachAndMount and SyncPod do, in
// one event for the pod.
func processError(failed []unprocessed, unmounted []string) *Error {
	slices.SortFunc(failed, func(a, b unprocessed) int { return strings.Compare(a.volume, b.volume) })
	names := make([]string, len(failed))
	words := make([]string, len(failed))
	errs := make([]error, len(failed))
	for i, f := range failed {
		names[i], words[i], errs[i] = f.volume, f.err.Error(), f.err
	}
	slices.Sort(unmounted)
	e := &Error{
		Reason: events.FailedMountVolume,
		Message: fmt.Sprintf("Unable to attach or mount volumes: unmounted volumes=%v, unattached volumes=[], failed to process volumes=%v: %s",
			unmounted, names, strings.Join(words, "; ")),
		Err: errors.Join(errs...),
	}
	if len(failed) == 1 {
		e.Volume = failed[0].volume
	}
	return e
}

// failures puts the failures of an attempt in order; nil when there are none.
func failures(mount []*Error, process []unprocessed, unmounted []string) error {
	slices.SortFunc(mount, func(a, b *Error) int { return strings.Compare(a.Volume, b.Volume) })
	all := Failures(mount)
	if len(process) > 0 {
		all = append(all, processError(process, unmounted))
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
