package health

import (
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// specSeen takes over the pod as the API server or a static file has it.
// Containers keep their past: what can be new in an existing pod is an
// ephemeral container, an image or resources.
func (t *turn) specSeen(b fact.SpecSeen) {
	if b.Object == nil {
		return
	}
	if t.Key.UID == "" {
		t.Key = t.fact.Pod
	}
	before := pod{Object: t.Object}
	t.Object, t.Static, t.SpecFact = b.Object, b.Source == fact.FromFile, t.fact.ID
	spec := &b.Object.Spec
	known := t.Containers
	t.Containers = nil
	for i := range spec.InitContainers {
		r := initial
		if isSidecar(&spec.InitContainers[i]) {
			r = sidecar
		}
		t.include(known, spec.InitContainers[i].Name, r)
	}
	for i := range spec.Containers {
		t.include(known, spec.Containers[i].Name, regular)
	}
	for i := range spec.EphemeralContainers {
		t.include(known, spec.EphemeralContainers[i].Name, ephemeral)
	}
	if before.Object != nil {
		t.forgive(before)
	}
}

// forgive lets containers whose image or resources were changed start without the
// back-off of what they were (kuberuntime/helpers.go, GetBackoffKey, and
// images/image_manager.go, EnsureImageExists).
func (t *turn) forgive(before pod) {
	for i := range t.Containers {
		c := &t.Containers[i]
		was, is := before.spec(c), t.spec(c)
		image := was.Image != is.Image
		if image {
			c.Image = backOff{}
			c.unpause(fact.BackOffImage)
		}
		if image || !sameResources(was.Resources, is.Resources) {
			c.Crash = backOff{}
			c.unpause(fact.BackOffContainer)
		}
	}
}

func (c *container) unpause(what fact.BackOffOf) {
	if c.Pause != nil && c.Pause.What == what {
		c.Pause = nil
	}
}

func (t *turn) include(known []container, name string, r role) {
	c := container{Name: name, Role: r}
	for i := range known {
		if known[i].Name == name {
			c = known[i]
		}
	}
	t.Containers = append(t.Containers, c)
}

// isSidecar follows api/v1/pod/util.go, IsRestartableInitContainer.
func isSidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// spec gives the specification of a container.
func (p *pod) spec(c *container) *v1.Container {
	s := &p.Object.Spec
	switch c.Role {
	case initial, sidecar:
		return byName(s.InitContainers, c.Name)
	case regular:
		return byName(s.Containers, c.Name)
	}
	for i := range s.EphemeralContainers {
		if s.EphemeralContainers[i].Name == c.Name {
			common := v1.Container(s.EphemeralContainers[i].EphemeralContainerCommon)
			return &common
		}
	}
	return &v1.Container{Name: c.Name}
}

func byName(containers []v1.Container, name string) *v1.Container {
	for i := range containers {
		if containers[i].Name == name {
			return &containers[i]
		}
	}
	return &v1.Container{Name: name}
}

// admitted and refused are the node's word on whether the pod may run here. The
// start time is when the node took notice (status/status_manager.go,
// updateStatusInternal).
func (t *turn) admitted(b fact.Admitted) {
	if t.Object == nil || t.Admission != "" {
		return
	}
	t.Admission, t.Admitting = taken, t.fact.ID
	if b.HostIP != "" && len(t.Sandbox.HostIPs) == 0 {
		t.Sandbox.HostIPs = []string{b.HostIP}
	}
	t.beginAt(t.now)
	t.giveUpUnseen()
}

func (t *turn) refused(b fact.Refused) {
	if t.Object == nil || t.Admission != "" {
		return
	}
	t.Admission, t.Admitting = rejected, t.fact.ID
	t.beginAt(t.now)
	// Kubelet puts these words before the reason of the check (kubelet.go, rejectPod).
	t.end(ending{Reason: b.Reason, Message: "Pod was rejected: " + b.Message, Fails: true}, 0)
}
