package cri

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// stopSignal is the signal that the container asks to be ended with; none asked
// leaves it to the image and the runtime.
func stopSignal(c *v1.Container) (runtimeapi.Signal, error) {
	if c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT, nil
	}
	name := string(*c.Lifecycle.StopSignal)
	// CRI spells SIGRTMIN+1 as SIGNAL_SIGRTMINPLUS1 and SIGRTMAX-1 as
	// SIGNAL_SIGRTMAXMINUS1.
	spelled := "SIGNAL_" + strings.NewReplacer("+", "PLUS", "-", "MINUS").Replace(name)
	signal, ok := runtimeapi.Signal_value[spelled]
	if !ok {
		return 0, fmt.Errorf("container %s: lifecycle.stopSignal %q is no signal that the runtime knows", c.Name, name)
	}
	return runtimeapi.Signal(signal), nil
}
