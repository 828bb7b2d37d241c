package cgroup

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet/cm"

	"whylet.dev/whylet/evidence/cgroupfs"
)

// Config is what a node's cgroups depend on.
type Config struct {
	// Root is the cgroup under which kubepods is made: "/", or "/whylet-…".
	Root string
	// Allocatable is what all pods together may have: memory in bytes is a limit,
	// CPU gives shares against the rest of the machine, "pid" (optional) is a
	// limit. It is enforced on kubepods.
	Allocatable v1.ResourceList
	// PodPIDs bounds the processes and threads of each pod; 0: no bound.
	PodPIDs int64
	// QuotaPeriod is the period of CPU quotas; 0: 100 ms.
	QuotaPeriod time.Duration
	Log         *slog.Logger
}

// podsName is the cgroup of all pods, as kubelet calls it.
const podsName = "kubepods"

// PIDs is kubelet's name for processes in a resource list
// (pkg/kubelet/stats/pidlimit).
const PIDs v1.ResourceName = "pid"

// Manager has the cgroups of the node's pods. Its methods may be called
// concurrently.
type Manager struct {
	cfg    Config
	layout cgroupfs.Layout
	mover  mover
	kube   cm.CgroupManager
	// root, burstable and besteffort are the parents of pods, by class.
	root, burstable, besteffort cm.CgroupName

	mu   sync.Mutex
	pods map[types.UID]*pod
	// shares is what the burstable class is set to; 0: not known.
	shares uint64
	// unenforced is what could not be enforced on all pods yet; nil: all is.
	unenforced v1.ResourceList
}

// New makes the node's cgroups, or takes over those of an earlier agent, and
// enforces what is allocatable. The pods in them stay as they are.
func New(cfg Config) (*Manager, error) {
	layout, err := cgroupfs.DetectLayout()
	if err != nil {
		return nil, err
	}
	subsystems, err := cm.GetCgroupSubsystems()
	if err != nil {
		return nil, fmt.Errorf("cgroup controllers: %w", err)
	}
	if cfg.QuotaPeriod == 0 {
		cfg.QuotaPeriod = cm.QuotaPeriod * time.Microsecond
	}
	parent := cm.ParseCgroupfsToCgroupName(cfg.Root)
	root := cm.NewCgroupName(parent, podsName)
	m := &Manager{
		cfg: cfg, layout: layout, root: root,
		kube:       cm.NewCgroupManager(logr.Discard(), subsystems, "cgroupfs"),
		burstable:  cm.NewCgroupName(root, strings.ToLower(string(v1.PodQOSBurstable))),
		besteffort: cm.NewCgroupName(root, strings.ToLower(string(v1.PodQOSBestEffort))),
		pods:       map[types.UID]*pod{},
		mover:      mover{procs: func() (string, error) { return ownProcs(layout) }},
	}
	least := uint64(cm.MinShares)
	for _, c := range []struct {
		name   cm.CgroupName
		limits *cm.ResourceConfig
	}{
		{parent, unboundedHugePages(&cm.ResourceConfig{})},
		{root, unboundedHugePages(&cm.ResourceConfig{})},
		{m.burstable, unboundedHugePages(&cm.ResourceConfig{})},
		{m.besteffort, unboundedHugePages(&cm.ResourceConfig{CPUShares: &least})},
	} {
		if len(c.name) == 0 {
			continue // the machine's own root
		}
		if err := m.set(c.name, c.limits); err != nil {
			return nil, err
		}
	}
	m.Enforce(cfg.Allocatable)
	return m, nil
}

// Enforce sets what all pods together may have. On version 1 that cannot be done
// while they use more memory than that (a node that came back smaller); then it
// is logged, and tried again whenever a pod comes or goes.
func (m *Manager) Enforce(allocatable v1.ResourceList) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.enforce(allocatable)
}

// enforce is Enforce with m.mu held.
func (m *Manager) enforce(allocatable v1.ResourceList) {
	m.unenforced = nil
	if err := m.set(m.root, nodeLimits(allocatable)); err != nil {
		m.unenforced = allocatable
		m.cfg.Log.Warn("what is allocatable to pods is not enforced yet; it will be when they use less", "error", err)
	}
}

// set makes a cgroup where it is missing, and sets its limits. The borrowed
// Create would swallow a limit that cannot be set; Update does not.
func (m *Manager) set(name cm.CgroupName, limits *cm.ResourceConfig) error {
	path := m.kube.Name(name)
	if !m.kube.Exists(name) {
		if err := m.kube.Create(logr.Discard(), &cm.CgroupConfig{Name: name, ResourceParameters: nil}); err != nil {
			return fmt.Errorf("cgroup %s could not be made: %w", path, err)
		}
	}
	if err := m.kube.Update(logr.Discard(), &cm.CgroupConfig{Name: name, ResourceParameters: limits}); err != nil {
		return fmt.Errorf("limits of cgroup %s could not be set: %w", path, err)
	}
	return nil
}

// Node is the cgroup of all pods.
func (m *Manager) Node() cgroupfs.Group { return m.layout.At(m.kube.Name(m.root)) }

// Layout says where the machine's cgroups are.
func (m *Manager) Layout() cgroupfs.Layout { return m.layout }
