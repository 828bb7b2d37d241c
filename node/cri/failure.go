package cri

import (
	"errors"
	"fmt"

	grpcstatus "google.golang.org/grpc/status"
)

// Reasons of a container that does not start, as Kubernetes shows them in a
// waiting state (kubelet: pkg/kubelet/kuberuntime/kuberuntime_container.go).
const (
	ReasonConfig = "CreateContainerConfigError"
	ReasonCreate = "CreateContainerError"
	ReasonStart  = "RunContainerError"
)

// ReasonCalledOff is of a start that a kill overtook, and of no waiting state.
const ReasonCalledOff = "Canceled"

// Reasons of events about sandboxes (kubelet: pkg/kubelet/events).
const (
	ReasonSandbox     = "FailedCreatePodSandBox"
	ReasonKillSandbox = "FailedKillPod"
)

// Failure is an error with the reason that Kubernetes has for it.
type Failure struct {
	Reason string
	Err    error
}

// ConfigFailure gives err the reason of a container that cannot be configured:
// a missing ConfigMap, a root image under runAsNonRoot, and the like. Nil stays nil.
func ConfigFailure(err error) error { return failure(ReasonConfig, err) }

func failure(reason string, err error) error {
	if err == nil {
		return nil
	}
	return &Failure{Reason: reason, Err: err}
}

// Error gives reason and message.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Reason, f.Message()) }

// Message is what a status shows beside the reason: the runtime's own words,
// without the wrapping of the transport.
func (f *Failure) Message() string { return Words(f.Err) }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Words gives an error's text, and of a gRPC status just its description.
func Words(err error) string {
	if err == nil {
		return ""
	}
	var s interface{ GRPCStatus() *grpcstatus.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus().Message()
	}
	return err.Error()
}
