package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/kubelet/cm"

	"whylet.dev/whylet/evidence/cgroupfs"
)

// podPrefix begins the name of a pod's cgroup.
const podPrefix = "pod"

// pod is what is known of a pod's cgroup.
type pod struct {
	name   cm.CgroupName
	limits *cm.ResourceConfig // as last set
	// request is the CPU request in thousandths, if the pod is in the burstable
	// class; else 0.
	request int64
}

// Ensure makes the pod's cgroup with its limits, and gives its path: the parent
// that the runtime is told. A cgroup that exists, of an earlier agent, gets the
// limits it should have; one that is as it should be is left alone.
func (m *Manager) Ensure(p *v1.Pod) (parent string, err error) {
	name, err := m.nameOf(p)
	if err != nil {
		return "", err
	}
	limits := m.podLimits(p)
	parent = m.kube.Name(name)
	m.mu.Lock()
	known, ok := m.pods[p.UID]
	done := ok && reflect.DeepEqual(known.limits, limits)
	m.mu.Unlock()
	if done && m.layout.At(parent).Exists() {
		return parent, nil
	}
	if err := m.set(name, limits); err != nil {
		return "", err
	}
	return parent, m.remember(p, name, limits)
}

// Update sets the limits that the pod has now: after a resize in place, when the
// containers that were to shrink have done so.
func (m *Manager) Update(p *v1.Pod) error {
	_, err := m.Ensure(p)
	return err
}

// MemoryLimit is the limit that the pod's cgroup shall have, in bytes; -1 is none.
func (m *Manager) MemoryLimit(p *v1.Pod) int64 { return *m.podLimits(p).Memory }

// Widen sets each limit to the larger of what it was and what it shall be:
// before a resize in place, so that containers can grow. Update follows it.
func (m *Manager) Widen(p *v1.Pod) error {
	m.mu.Lock()
	known, ok := m.pods[p.UID]
	m.mu.Unlock()
	if !ok {
		return m.Update(p)
	}
	limits := widest(known.limits, m.podLimits(p))
	if err := m.set(known.name, limits); err != nil {
		return err
	}
	return m.remember(p, known.name, limits)
}

// remember notes what a pod's cgroup is set to, and what its class then needs.
func (m *Manager) remember(p *v1.Pod, name cm.CgroupName, limits *cm.ResourceConfig) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry := &pod{name: name, limits: limits}
	if v1qos.GetPodQOS(p) == v1.PodQOSBurstable {
		entry.request = cpuRequest(p)
	}
	m.pods[p.UID] = entry
	return m.share()
}

// share sets the shares of the burstable class to the sum of its pods' requests,
// so that the classes share the CPU as their pods asked. m.mu is held.
func (m *Manager) share() error {
	if m.unenforced != nil {
		m.enforce(m.unenforced)
	}
	var sum int64
	for _, p := range m.pods {
		sum += p.request
	}
	shares := cm.MilliCPUToShares(sum)
	if shares == m.shares {
		return nil
	}
	if err := m.set(m.burstable, unboundedHugePages(&cm.ResourceConfig{CPUShares: &shares})); err != nil {
		return err
	}
	m.shares = shares
	return nil
}

// Remove ends a pod's cgroup: it kills what is left in it, waits until that is
// gone (at most emptied, and no longer than ctx), and removes the cgroup in every hierarchy. One that
// does not exist is no error.
func (m *Manager) Remove(ctx context.Context, uid types.UID) error {
	names, err := m.find(uid)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, m.remove(ctx, name))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cgroup of pod %s: %w", uid, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pods, uid)
	return m.share()
}

// find gives the pod's cgroup where it is known, and wherever one lies. There
// is one, unless an agent died between a change of class and its effect.
func (m *Manager) find(uid types.UID) ([]cm.CgroupName, error) {
	if err := validUID(uid); err != nil {
		return nil, err
	}
	var found []cm.CgroupName
	for _, class := range m.classes() {
		name := cm.NewCgroupName(class, podPrefix+string(uid))
		for _, root := range m.layout.Roots() {
			if _, err := os.Stat(filepath.Join(root, m.kube.Name(name))); err == nil {
				found = append(found, name)
				break
			}
		}
	}
	return found, nil
}

// Path gives the directories of a container's cgroup; id is the runtime's, with
// or without scheme. Without an id it is the pod's. It is false when there is no
// such cgroup.
func (m *Manager) Path(uid types.UID, id string) (cgroupfs.Group, bool) {
	group, ok := m.podGroup(uid)
	if !ok || id == "" {
		return group, ok
	}
	bare := containerID(id)
	// containerd names the cgroup by the id alone, CRI-O with a prefix.
	for _, name := range []string{bare, "crio-" + bare} {
		if c := group.Child(name); c.Exists() {
			return c, true
		}
	}
	return cgroupfs.Group{}, false
}

func (m *Manager) podGroup(uid types.UID) (cgroupfs.Group, bool) {
	m.mu.Lock()
	known, ok := m.pods[uid]
	m.mu.Unlock()
	if ok {
		group := m.layout.At(m.kube.Name(known.name))
		return group, group.Exists()
	}
	names, err := m.find(uid)
	if err != nil || len(names) == 0 {
		return cgroupfs.Group{}, false
	}
	return m.layout.At(m.kube.Name(names[0])), true
}

// Orphans lists the pods that have a cgroup, but are neither live nor known to
// this agent: Remove is for them.
func (m *Manager) Orphans(live sets.Set[types.UID]) ([]types.UID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	orphans := sets.New[types.UID]()
	for _, class := range m.classes() {
		for _, root := range m.layout.Roots() {
			entries, err := os.ReadDir(filepath.Join(root, m.kube.Name(class)))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("cgroups of pods: %w", err)
			}
			for _, e := range entries {
				uid, ok := strings.CutPrefix(e.Name(), podPrefix)
				if !ok || !e.IsDir() || live.Has(types.UID(uid)) || m.pods[types.UID(uid)] != nil {
					continue
				}
				orphans.Insert(types.UID(uid))
			}
		}
	}
	return sets.List(orphans), nil
}

// classes are the cgroups that have pods in them.
func (m *Manager) classes() []cm.CgroupName {
	return []cm.CgroupName{m.root, m.burstable, m.besteffort}
}

// nameOf is where the pod's cgroup belongs.
func (m *Manager) nameOf(p *v1.Pod) (cm.CgroupName, error) {
	if err := validUID(p.UID); err != nil {
		return nil, err
	}
	class := m.root
	switch v1qos.GetPodQOS(p) {
	case v1.PodQOSBurstable:
		class = m.burstable
	case v1.PodQOSBestEffort:
		class = m.besteffort
	}
	return cm.NewCgroupName(class, podPrefix+string(p.UID)), nil
}

// validUID keeps out what would lead elsewhere, or what the borrowed naming
// panics on.
func validUID(uid types.UID) error {
	if uid == "" || strings.ContainsAny(string(uid), "/_") || strings.Contains(string(uid), "..") {
		return fmt.Errorf("%q is no pod UID", uid)
	}
	return nil
}

// containerID strips the runtime's scheme: containerd://….
func containerID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}
