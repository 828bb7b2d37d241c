package pods

import (
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// Pod is what is known of a pod at one moment. It is never changed afterwards, so
// it can be kept and passed on; its maps and objects are not to be written to. The
// names in its JSON are those of checkpoints (fact.Checkpoint, Node).
type Pod struct {
	Key fact.Pod `json:"-"`
	// Status is the pod's status as this machine last knew it; empty until somebody
	// said so.
	Status v1.PodStatus `json:"-"`

	Object  *v1.Pod           `json:"object"`
	Source  fact.ConfigSource `json:"source"`
	Sandbox Sandbox           `json:"sandbox"`
	// Containers by name: the newest run of each.
	Containers map[string]Container `json:"containers"`
}

// Sandbox is the pod's sandbox as the runtime knows it.
type Sandbox struct {
	ID      string   `json:"id,omitempty"`
	Attempt uint32   `json:"attempt,omitempty"`
	IPs     []string `json:"ips,omitempty"`
	HostIPs []string `json:"hostIPs,omitempty"`
}

// Container is the newest run of one container.
type Container struct {
	// ID has the runtime's scheme.
	ID      string `json:"id"`
	Attempt int32  `json:"attempt"`
	// PID is the main process on the host, 0 where it is not known. It is kept when
	// the run has ended.
	PID     int  `json:"pid,omitempty"`
	Running bool `json:"running,omitempty"`
	// Previous is the id of the run before it.
	Previous string `json:"previous,omitempty"`
	// Kill is the decision that asked for its end, which its exit names.
	Kill      fact.ID         `json:"kill,omitempty"`
	KilledFor fact.KillReason `json:"killedFor,omitempty"`
}

// Spec finds a container of any kind by its name.
func (p Pod) Spec(name string) (*v1.Container, bool) {
	if p.Object == nil {
		return nil, false
	}
	s := &p.Object.Spec
	for _, containers := range [][]v1.Container{s.Containers, s.InitContainers} {
		for i := range containers {
			if containers[i].Name == name {
				return &containers[i], true
			}
		}
	}
	for i := range s.EphemeralContainers {
		if s.EphemeralContainers[i].Name == name {
			c := v1.Container(s.EphemeralContainers[i].EphemeralContainerCommon)
			return &c, true
		}
	}
	return nil, false
}

// Running says whether any container runs.
func (p Pod) Running() bool {
	for _, c := range p.Containers {
		if c.Running {
			return true
		}
	}
	return false
}

// Finished says whether all containers have ended for good.
func (p Pod) Finished() bool {
	return p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
}

// NetworkPID is a process in the pod's network namespace, 0 when there is none of
// its own.
func (p Pod) NetworkPID() int {
	if p.Object == nil || p.Object.Spec.HostNetwork {
		return 0
	}
	for _, c := range p.Containers {
		if c.Running && c.PID != 0 {
			return c.PID
		}
	}
	return 0
}

// WithStatus is the pod's object with the status that is known here.
func (p Pod) WithStatus() *v1.Pod {
	return &v1.Pod{TypeMeta: p.Object.TypeMeta, ObjectMeta: p.Object.ObjectMeta, Spec: p.Object.Spec, Status: p.Status}
}
