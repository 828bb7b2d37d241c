package cri

import (
	"context"
	"errors"
	"testing"

	criapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

type configured struct {
	criapi.RuntimeService
	linux *runtimeapi.LinuxRuntimeConfiguration
	err   error
}

func (c configured) RuntimeConfig(context.Context) (*runtimeapi.RuntimeConfigResponse, error) {
	if c.err != nil {
		return nil, c.err
	}
	return &runtimeapi.RuntimeConfigResponse{Linux: c.linux}, nil
}

// A runtime that wants systemd's names for cgroups is refused before the first pod
// fails; one that does not say is not.
func TestCgroupDriver(t *testing.T) {
	for name, test := range map[string]struct {
		runtime configured
		want    error
	}{
		"systemd":  {configured{linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_SYSTEMD}}, ErrSystemd},
		"cgroupfs": {configured{linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_CGROUPFS}}, nil},
		"silent":   {configured{}, nil},
		"older":    {configured{err: errors.New("unimplemented")}, nil},
	} {
		c := &Client{runtime: test.runtime}
		if err := c.checkCgroups(t.Context()); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}
