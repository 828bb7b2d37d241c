package object

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kubelet's bounds on the images that a node lists
// (nodeStatusMaxImages, nodestatus.MaxNamesPerImageInNodeStatus).
const (
	maxImages        = 50
	maxNamesPerImage = 5
)

// seen is everything that the object is made from.
type seen struct {
	machine Machine
	state   State
	images  []v1.ContainerImage
	now     metav1.Time
}

// labels are those that the node answers for. kubelet's beta spellings are what
// older selectors still use.
func (c Config) labels() map[string]string {
	labels := map[string]string{
		v1.LabelHostname:          c.hostname(),
		v1.LabelOSStable:          runtime.GOOS,
		v1.LabelArchStable:        runtime.GOARCH,
		"beta.kubernetes.io/os":   runtime.GOOS,
		"beta.kubernetes.io/arch": runtime.GOARCH,
	}
	for key, value := range c.Labels {
		labels[key] = value
	}
	return labels
}

// fill writes what is ours into a Node object, new or existing, and gives the
// events of what turned. All else in it is left as it is.
func (c Config) fill(node *v1.Node, s seen) []Event {
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	for key, value := range c.labels() {
		node.Labels[key] = value
	}
	status := &node.Status
	status.Addresses = []v1.NodeAddress{
		{Type: v1.NodeInternalIP, Address: c.IP},
		{Type: v1.NodeHostName, Address: c.hostname()},
	}
	capacity, allocatable := Resources(s.machine, c.Reserve)
	setResources(status, capacity, allocatable)
	status.DeclaredFeatures = slices.Sorted(slices.Values(c.Declares))
	status.DaemonEndpoints.KubeletEndpoint.Port = c.Port
	events := c.setInfo(status, s)
	if s.images != nil {
		status.Images = largest(s.images)
	}
	if s.state.Runtime != "" {
		status.RuntimeHandlers, status.Features = s.state.Handlers, s.state.Features
	}
	return append(events, setConditions(c.Name, status, s.state, s.now)...)
}

// setInfo writes what machine, runtime and node say of themselves. Another boot
// id than before means that the machine was started anew.
func (c Config) setInfo(status *v1.NodeStatus, s seen) []Event {
	before := status.NodeInfo.BootID
	status.NodeInfo = v1.NodeSystemInfo{
		MachineID: s.machine.ID, SystemUUID: s.machine.SystemUUID, BootID: s.machine.BootID,
		KernelVersion: s.machine.Kernel, OSImage: s.machine.OSImage,
		ContainerRuntimeVersion: cmp.Or(s.state.Runtime, status.NodeInfo.ContainerRuntimeVersion),
		KubeletVersion:          KubeletVersion(c.Version),
		OperatingSystem:         runtime.GOOS, Architecture: runtime.GOARCH,
	}
	if s.machine.Swap > 0 {
		status.NodeInfo.Swap = &v1.NodeSwapStatus{Capacity: &s.machine.Swap}
	}
	if before == "" || before == s.machine.BootID {
		return nil
	}
	return []Event{{
		v1.EventTypeWarning, "Rebooted",
		fmt.Sprintf("Node %s has been rebooted, boot id: %s", c.Name, s.machine.BootID),
	}}
}

// largest chooses the images to list, in an order that does not change by itself.
func largest(images []v1.ContainerImage) []v1.ContainerImage {
	sorted := slices.Clone(images)
	slices.SortStableFunc(sorted, func(a, b v1.ContainerImage) int {
		return cmp.Or(cmp.Compare(b.SizeBytes, a.SizeBytes), slices.Compare(a.Names, b.Names))
	})
	sorted = sorted[:min(len(sorted), maxImages)]
	for i := range sorted {
		sorted[i].Names = sorted[i].Names[:min(len(sorted[i].Names), maxNamesPerImage)]
	}
	return sorted
}

// differs tells whether a node says something else than before. That a condition
// still holds (its heartbeat) is nothing else.
func differs(a, b *v1.Node) bool {
	still := func(n *v1.Node) *v1.Node {
		n = n.DeepCopy()
		for i := range n.Status.Conditions {
			n.Status.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
		slices.SortFunc(n.Status.Conditions, func(a, b v1.NodeCondition) int { return cmp.Compare(a.Type, b.Type) })
		return n
	}
	a, b = still(a), still(b)
	return !equality.Semantic.DeepEqual(a.Status, b.Status) || !equality.Semantic.DeepEqual(a.Labels, b.Labels)
}
