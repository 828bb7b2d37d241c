package cri

import v1 "k8s.io/api/core/v1"

// VolumeMounts are the container's volume mounts as its status shows them
// (KEP-3857). The runtime does not know volumes by name, so they come from the
// spec; recursive says whether it can make mounts recursively read-only.
func VolumeMounts(c *v1.Container, recursive bool) []v1.VolumeMountStatus {
	var all []v1.VolumeMountStatus
	for _, m := range c.VolumeMounts {
		s := v1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			mode := v1.RecursiveReadOnlyDisabled
			if r := m.RecursiveReadOnly; r != nil && *r != v1.RecursiveReadOnlyDisabled && recursive {
				mode = v1.RecursiveReadOnlyEnabled
			}
			s.RecursiveReadOnly = &mode
		}
		all = append(all, s)
	}
	return all
}
