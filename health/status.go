package health

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// status is what kubelet_pods.go, generateAPIPodStatus, makes of the same
// facts, normalized as the status manager does.
func (p *pod) status() v1.PodStatus {
	if p.Object == nil {
		return v1.PodStatus{}
	}
	s := v1.PodStatus{
		ObservedGeneration: p.Object.Generation,
		QOSClass:           p.Object.Status.QOSClass,
		Phase:              p.Phase, Reason: p.Reason, Message: p.Message,
	}
	if s.QOSClass == "" {
		s.QOSClass = qos(&p.Object.Spec)
	}
	if !p.settled() {
		s.Phase = v1.PodPending
		return s
	}
	if at := apiTime(p.StartTime); !at.IsZero() {
		s.StartTime = &at
	}
	p.addresses(&s)
	p.podResources(&s)
	for i := range p.Foreign {
		if !ownCondition(p.Foreign[i].Type) && findCondition(p.Conditions, p.Foreign[i].Type) == nil {
			s.Conditions = append(s.Conditions, p.Foreign[i])
		}
	}
	for _, c := range p.Conditions {
		if c.Type == v1.PodReadyToStartContainers && c.Status == v1.ConditionFalse {
			c.Reason, c.Message = sandboxNotReady, p.whyNoSandbox()
		}
		s.Conditions = append(s.Conditions, c)
	}
	p.containerStatuses(&s)
	return s
}

// sandboxNotReady is the reason of PodReadyToStartContainers since Kubernetes 1.37. It and
// the message are no part of the decision, which is the same as in earlier journals.
const sandboxNotReady = "PodSandboxNotReady"

// whyNoSandbox has kubelet's words (types/constants.go).
func (p *pod) whyNoSandbox() string {
	if p.Sandbox.ID == "" && p.Sandbox.Attempt == 0 {
		return "no pod sandbox exists"
	}
	return "pod sandbox is not ready"
}

func (p *pod) addresses(s *v1.PodStatus) {
	for _, ip := range p.Sandbox.HostIPs {
		s.HostIPs = append(s.HostIPs, v1.HostIP{IP: ip})
	}
	for _, ip := range p.Sandbox.IPs {
		s.PodIPs = append(s.PodIPs, v1.PodIP{IP: ip})
	}
	if len(s.HostIPs) > 0 {
		s.HostIP = s.HostIPs[0].IP
	}
	if len(s.PodIPs) > 0 {
		s.PodIP = s.PodIPs[0].IP
	}
}

// podResources are what the pod as a whole is given, and has (kubelet_pods.go,
// convertToAPIPodLevelResourcesStatus).
func (p *pod) podResources(s *v1.PodStatus) {
	allocated := p.withResources(p.allocated, p.ownAllocated())
	inForce := allocated
	if p.Resize != nil {
		inForce = p.withResources(p.givenTo, p.Own)
	}
	s.AllocatedResources = resourcehelper.PodRequests(allocated, resourcehelper.PodResourcesOptions{})
	s.Resources = &v1.ResourceRequirements{
		Requests: resourcehelper.PodRequests(inForce, resourcehelper.PodResourcesOptions{}),
		Limits:   resourcehelper.PodLimits(inForce, resourcehelper.PodResourcesOptions{}),
	}
	if spec := p.Object.Spec.Resources; spec != nil {
		s.Resources.Claims = spec.Claims
	}
}

// withResources is the pod with other resources of its containers, and as a whole.
func (p *pod) withResources(of func(*container) v1.ResourceRequirements, own v1.ResourceRequirements) *v1.Pod {
	pod := *p.Object
	pod.Spec.Containers = slices.Clone(pod.Spec.Containers)
	pod.Spec.InitContainers = slices.Clone(pod.Spec.InitContainers)
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if c := p.find(list[i].Name); c != nil {
				list[i].Resources = of(c)
			}
		}
	}
	if pod.Spec.Resources != nil {
		pod.Spec.Resources = &own
	}
	return &pod
}

// containerStatuses fills in the three lists: init containers in the order of
// the spec, the others by name.
func (p *pod) containerStatuses(s *v1.PodStatus) {
	for i := range p.Containers {
		c := &p.Containers[i]
		status := p.containerStatus(c)
		switch c.Role {
		case initial, sidecar:
			s.InitContainerStatuses = append(s.InitContainerStatuses, status)
		case ephemeral:
			s.EphemeralContainerStatuses = append(s.EphemeralContainerStatuses, status)
		default:
			s.ContainerStatuses = append(s.ContainerStatuses, status)
		}
	}
	byName := func(a, b v1.ContainerStatus) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(s.ContainerStatuses, byName)
	slices.SortFunc(s.EphemeralContainerStatuses, byName)
}

func (p *pod) containerStatus(c *container) v1.ContainerStatus {
	spec := p.spec(c)
	s := v1.ContainerStatus{
		Name: c.Name, Image: spec.Image, VolumeMounts: c.Run.VolumeMounts,
		Ready: c.Ready, RestartCount: c.Attempt, ContainerID: c.Run.ID, ImageID: c.Run.ImageID,
		User: c.Run.User, StopSignal: c.Run.StopSignal,
	}
	if c.Run.Image != "" {
		s.Image = c.Run.Image
	}
	if c.Role != ephemeral {
		started := c.Started
		s.Started = &started
	}
	if s.VolumeMounts == nil {
		s.VolumeMounts = mountStatuses(spec)
	}
	if c.Run.ID != "" {
		given := p.allocated(c)
		s.AllocatedResources, s.Resources = given.Requests, &given
		if c.Run.Resources != nil && c.Stage == running {
			s.Resources = c.Run.Resources
		}
	}
	s.State, s.LastTerminationState = p.containerState(c)
	return s
}

// inForce is what a container runs with: what it was given, with the amounts that
// the runtime says it set. The runtime knows no request for memory, and of a
// container that asked for nothing it tells the least that the kernel has
// (kubelet_pods.go, convertContainerStatusResources; cm.MinShares, cm.MinMilliCPULimit).
func inForce(given v1.ResourceRequirements, set *v1.ResourceRequirements) *v1.ResourceRequirements {
	if set == nil {
		return nil
	}
	const leastCPULimit, leastCPURequest = 10, 2
	out := given.DeepCopy()
	overlay(out.Limits, set.Limits, v1.ResourceCPU, leastCPULimit)
	overlay(out.Limits, set.Limits, v1.ResourceMemory, 0)
	overlay(out.Requests, set.Requests, v1.ResourceCPU, leastCPURequest)
	return out
}

// overlay puts the amount in force over the one that was given, unless both are
// no more than the least in thousandths.
func overlay(given, set v1.ResourceList, name v1.ResourceName, least int64) {
	now, known := set[name]
	if given == nil || !known {
		return
	}
	if asked := given[name]; now.MilliValue() > least || asked.MilliValue() > least {
		given[name] = now
	}
}

// containerState is what a container does now and how it ended before
// (kubelet_pods.go, convertToAPIContainerStatuses). One that is to be started
// again shows the end of its last run until there is another reason to wait.
func (p *pod) containerState(c *container) (state, last v1.ContainerState) {
	last.Terminated = c.Last
	switch {
	case c.Stage == running:
		state.Running = &v1.ContainerStateRunning{StartedAt: apiTime(c.Run.StartedAt)}
		return state, last
	case c.Run.Ended != nil && (c.Stage == ended && !p.again(c) || c.Wait.Reason == "" && p.mayLeave(c, c.Run.Ended)):
		state.Terminated = c.Run.Ended
		return state, last
	case c.Run.Ended == nil && c.Last != nil && c.Wait.Reason == "" && p.mayLeave(c, c.Last):
		// Its postStart hook runs, or nobody knows yet whether it does.
		state.Terminated = c.Last
		return state, v1.ContainerState{}
	}
	if c.Run.Ended != nil {
		last.Terminated = c.Run.Ended
	}
	shown := c.Wait
	if shown.Reason == "" && c.Pause != nil {
		shown = c.Pause.Shown
	}
	state.Waiting = &v1.ContainerStateWaiting{Reason: shown.Reason, Message: shown.Message}
	if shown.Reason == "" {
		state.Waiting.Reason = "ContainerCreating"
		if len(p.Object.Spec.InitContainers) > 0 {
			state.Waiting.Reason = "PodInitializing"
		}
	}
	return state, last
}

// mayLeave says whether the API server lets a container out of a state that
// shows this end. It goes by policy and exit code and does not know law 4, so
// what will run again in spite of them is never shown as terminated
// (apis/core/validation, ValidateContainerStateTransition).
func (p *pod) mayLeave(c *container, end *v1.ContainerStateTerminated) bool {
	return p.couldRestartAll() || restarts(p.spec(c), p.Object.Spec.RestartPolicy, end.ExitCode)
}

// mountStatuses is what the spec alone says about mounts, until the runtime
// tells which of them are read-only all the way down.
func mountStatuses(spec *v1.Container) []v1.VolumeMountStatus {
	var all []v1.VolumeMountStatus
	for _, m := range spec.VolumeMounts {
		s := v1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			mode := v1.RecursiveReadOnlyDisabled
			s.RecursiveReadOnly = &mode
		}
		all = append(all, s)
	}
	return all
}
